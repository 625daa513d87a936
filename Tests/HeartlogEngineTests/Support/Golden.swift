import HeartlogCrashModel
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A file of the repository's `fixtures` that a test's output is compared with.
struct Golden {
  let name: String

  static let updates = getenv("HEARTLOG_UPDATE_GOLDENS") != nil

  /// The repository's folder, from the place of this file.
  static let repository = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()

  var path: String { "\(Self.repository)/fixtures/\(name)" }

  func bytes() throws -> [UInt8] {
    let file = try POSIXFileSystem().open(path, .read)
    return try file.bytes(Int(try file.size()), at: 0)
  }

  func lines() throws -> [String] {
    String(decoding: try bytes(), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  func write(_ lines: [String]) throws {
    try write(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  func write(_ bytes: [UInt8]) throws {
    let files = POSIXFileSystem()
    var folder = Self.repository + "/fixtures"
    for part in name.split(separator: "/").dropLast() {
      folder += "/" + part
      if try files.info(folder) == nil { try files.createDirectory(folder) }
    }
    if try files.info(path) != nil { try files.remove(path) }
    try files.open(path, .createNew).write(bytes, at: 0)
  }
}

/// Names in a trace that are random.
enum TraceNames {
  /// Replicas become A, B, … in the order they appear, and the suffixes of temporary files are left out.
  static func normalized(_ trace: [TraceOperation]) -> [String] {
    var replicas: [Substring] = []
    return trace.map { operation in
      operation.description.split(separator: " ").map { word in
        word.split(separator: "/", omittingEmptySubsequences: false).map { part -> String in
          if part.count == 32, part.allSatisfy(\.isHexDigit) {
            if !replicas.contains(part) { replicas.append(part) }
            let place = replicas.firstIndex(of: part) ?? 0
            return String(UnicodeScalar(UInt8(ascii: "A") + UInt8(place)))
          }
          if let temporary = part.utf8.firstRange(of: ".tmp-".utf8) {
            return part[..<temporary.upperBound] + "*"
          }
          return String(part)
        }.joined(separator: "/")
      }.joined(separator: " ")
    }
  }
}
