import Heartlog
import HeartlogLibraries

/// One JSON object per line, as `heartlog list --json` prints items. It holds everything in any library.
public struct JSONLinesFormat: FileFormat {
  public let name = "jsonl"
  public let summary = "JSON Lines, one item per line, with everything that the store has"
  public let fileExtensions = ["jsonl", "ndjson"]
  public let isWritten = true

  /// Creates the format, which has no settings.
  public init() {}

  /// The members of a line.
  private static let members: Set<String> = ["library", "id", "isFavorite", "favoritedDate", "fields"]

  /// Recognizes a first object with an id, and fields or a flag, and nothing that would be lost.
  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let names = JSONOutline(beginning).objectNames
    return names.contains("id") && (names.contains("fields") || names.contains("isFavorite"))
      && names.isSubset(of: Self.members)
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    contents.takeLines(of: bytes) { (line) throws(LibraryError) in try Self.item(line, of: library.name) }
    return contents
  }

  /// The object of a line contains the fields, and these contain values of the maximum depth.
  private static let depthMax = Limits.jsonDepthMax + 2

  private static func item(_ line: ArraySlice<UInt8>, of library: String) throws(LibraryError) -> FileItem {
    do throws(MalformedError) {
      let json = try JSONValue.parse(Array(line), depthMax: depthMax)
      guard json.object != nil else { throw MalformedError("the line is \(json.kind), not a JSON object") }
      guard let id = json["id"]?.string else { throw MalformedError("the item has no \"id\"") }
      if let unknown = json.object?.first(where: { !members.contains($0.name) }) {
        throw MalformedError(
          "the member \(unknown.name.quoted) is none of the format jsonl; try the format json")
      }
      if let named = json["library"]?.string, named != library {
        throw MalformedError("the item belongs to \(named), not to \(library)")
      }
      var item = FileItem(id: id)
      switch json["isFavorite"] {
      case nil, .null, .bool(true): break
      case .bool(false): item.isFavorite = false
      default: throw MalformedError("\"isFavorite\" is not true or false")
      }
      switch json["favoritedDate"] {
      case nil, .null: break
      case .string(let text): item.favoritedDate = try RFC3339.parse(text)
      default: throw MalformedError("\"favoritedDate\" is not a time")
      }
      switch json["fields"] {
      case nil, .null: break
      case .object(let members):
        for member in members {
          item.fields.append(try Field(member))
        }
      default: throw MalformedError("\"fields\" is not an object")
      }
      return item
    } catch {
      throw .invalidItem(error.reason)
    }
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var output: [UInt8] = []
    for item in items {
      var json = JSONWriter()
      json.beginObject()
      json.member("library", library.name)
      json.member("id", item.id)
      json.member("isFavorite", item.isFavorite)
      json.name("favoritedDate")
      if let date = item.favoritedDate { json.value(RFC3339.text(date)) } else { json.null() }
      json.member("fields", item.fields)
      json.endObject()
      output += json.bytes
      output.append(UInt8(ascii: "\n"))
    }
    return output
  }
}
