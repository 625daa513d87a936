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

  /// A list of items with one JSON object per line: `{"id", "fields": {…}}`.
  private static func items(_ path: String) throws -> [JSONValue] {
    try bytes(path).split(separator: UInt8(ascii: "\n")).map { try JSONValue.parse(Array($0)) }
  }

  static func breedImages() throws -> [BreedImage] {
    try items("items/breeds.jsonl").compactMap { $0["id"]?.string }.compactMap { URL(string: $0) }
      .map { BreedImage(url: $0) }
  }

  static func archives() throws -> [Archive] {
    try items("items/archives.jsonl").map { item in
      guard let id = item["id"], case .object(let fields)? = item["fields"] else {
        throw LibraryError.invalidItem("a line that is no item")
      }
      let record = JSONValue.object([JSONMember("id", id)] + fields)
      return try JSONDecoder().decode(Archive.self, from: Data(record.jsonText.utf8))
    }
  }
}
