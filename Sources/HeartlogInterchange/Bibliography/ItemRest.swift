import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// What a record does not tell of an item in the words of its format, and this program writes beside them, so that the item comes back
/// as it was: a JSON object with `id`, `favoritedDate`, `isFavorite` and `fields`, each only where it differs. A field that is null is
/// none.
struct ItemRest: Sendable {
  let json: JSONValue

  /// The name of the place where formats keep it.
  static let name = "heartlog"

  init(_ json: JSONValue) { self.json = json }

  /// From the text of the object.
  init(_ text: String) throws(LibraryError) {
    do {
      json = try JSONValue.parse(text, depthMax: Limits.jsonDepthMax + 2)
    } catch {
      throw .invalidItem("\"\(Self.name)\" with \(error.reason)")
    }
  }

  var text: String {
    var writer = JSONWriter()
    writer.value(json)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// What turns one item into another; nil where they are equal in a store that knew neither.
  init?(from restored: FileItem?, to item: FileItem) {
    var members: [JSONMember] = []
    if restored?.id.utf8.elementsEqual(item.id.utf8) != true {
      members.append(JSONMember("id", .string(item.id)))
    }
    if restored?.favoritedDate != item.favoritedDate {
      members.append(
        JSONMember("favoritedDate", item.favoritedDate.map { .string(RFC3339.text($0)) } ?? .null))
    }
    if !item.isFavorite { members.append(JSONMember("isFavorite", .bool(false))) }
    let before = (restored?.fields ?? []) + (restored?.defaults ?? [])
    var fields: [JSONMember] = []
    for field in item.fields where !field.value.isNull && !before.contains(field) {
      fields.append(JSONMember(field.name, field.value.jsonValue))
    }
    for field in before where item[field.name] == nil {
      fields.append(JSONMember(field.name, .null))
    }
    if !fields.isEmpty { members.append(JSONMember("fields", .object(fields))) }
    guard !members.isEmpty else { return nil }
    json = .object(members)
  }

  func apply(to item: inout FileItem) throws(LibraryError) {
    do throws(MalformedError) {
      guard json.object != nil else { throw MalformedError("\(json.kind), no object") }
      switch json["id"] {
      case nil: break
      case .string(let id): item.id = id
      default: throw MalformedError("an \"id\" that is no string")
      }
      switch json["isFavorite"] {
      case nil: break
      case .bool(let isFavorite): item.isFavorite = isFavorite
      default: throw MalformedError("an \"isFavorite\" that is no bool")
      }
      switch json["favoritedDate"] {
      case nil: break
      case .null: item.favoritedDate = nil
      case .string(let text): item.favoritedDate = try RFC3339.parse(text)
      default: throw MalformedError("a \"favoritedDate\" that is no time")
      }
      guard json["fields"] == nil || json["fields"]?.object != nil else {
        throw MalformedError("\"fields\" that are no object")
      }
      let members = json["fields"]?.object ?? []
      // A record has few of these, and each may be among thousands of members.
      let names = Set(members.map { UTF8Key($0.name) })
      item.fields.removeAll { names.contains(UTF8Key($0.name)) }
      item.defaults.removeAll { names.contains(UTF8Key($0.name)) }
      for member in members {
        let field = try Field(member)
        if !field.value.isNull { item.fields.append(field) }
      }
    } catch {
      throw .invalidItem("\"\(Self.name)\" with \(error.reason)")
    }
  }
}
