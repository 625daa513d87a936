import Heartlog
import HeartlogLibraries

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The answers of the apps' services: files in `fixtures`, which were recorded from the real services.
enum Service {
  private static let folder = "fixtures"

  static func bytes(_ path: String) throws -> [UInt8] {
    let file = "\(folder)/\(path)"
    guard let bytes = FileManager.default.contents(atPath: file) else {
      throw HeartlogError(
        .notFound, "an answer of a service cannot be read; run this in the folder of the package", file: file)
    }
    return Array(bytes)
  }

  static func json(_ path: String) throws -> JSONValue { try JSONValue.parse(bytes(path)) }

  /// The archives in a list of items with one JSON object per line: `{"id", "fields": {…}}`.
  static func archives() throws -> [Archive] {
    try bytes("items/archives.jsonl").split(separator: UInt8(ascii: "\n")).map { line in
      let item = try JSONValue.parse(Array(line))
      guard let id = item["id"], case .object(let fields)? = item["fields"] else {
        throw LibraryError.invalidItem("a line that is no item")
      }
      let record = JSONValue.object([JSONMember("id", id)] + fields)
      return try JSONDecoder().decode(Archive.self, from: Data(record.jsonText.utf8))
    }
  }
}
