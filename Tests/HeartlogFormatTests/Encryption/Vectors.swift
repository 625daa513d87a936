import Foundation
import HeartlogFormat
import Testing

/// The test vectors of docs/encryption.md, which the tests in Python read, too.
enum Vectors {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "fixtures/encryption")

  static func read<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(contentsOf: folder.appending(path: name)))
  }

  /// Compares what was made with the file, or writes the file anew.
  static func check(_ value: some Codable & Equatable, against name: String) throws {
    if ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try (encoder.encode(value) + Data("\n".utf8)).write(to: folder.appending(path: name))
    }
    func read<Value: Decodable>(_: Value) throws -> Value { try Vectors.read(name) }
    #expect(try read(value) == value, "\(name)")
  }
}

/// Bytes in hexadecimal.
struct Hex: Codable, Hashable, CustomStringConvertible {
  let bytes: [UInt8]

  init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    bytes = try #require(Hexadecimal.bytes(text))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  var description: String { Hexadecimal.text(bytes) }
}
