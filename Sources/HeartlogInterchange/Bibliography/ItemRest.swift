import Heartlog
import HeartlogFormat
import HeartlogLibraries

/// The part of an item that a record cannot express in its own format, so that the item is restored exactly.
///
/// It is a JSON object with `id`, `favoritedDate`, `isFavorite` and `fields`, each only if it differs. In
/// `fields`, null means that the item does not have the field.
struct ItemRest: Sendable {
  let json: JSONValue

  /// The name under which formats store it.
  static let name = "heartlog"

  init(_ json: JSONValue) { self.json = json }

  /// Parses the text of the object.
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

  /// The difference between two items, in which defaults count as fields; `nil` if there is none.
  ///
  /// - Parameter withID: whether it has the id in any case.
  init?(from restored: FileItem?, to item: FileItem, withID: Bool) {
    var members: [JSONMember] = []
    if withID || restored?.id.utf8.elementsEqual(item.id.utf8) != true {
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

  /// The id; `nil` if the record has it in its own way.
  func id() throws(LibraryError) -> String? {
    switch json["id"] {
    case nil: nil
    case .string(let id): id
    default: throw .invalidItem("\"\(Self.name)\" with an \"id\" that is no string")
    }
  }

  func apply(to item: inout FileItem) throws(LibraryError) {
    if let id = try id() { item.id = id }
    do throws(MalformedError) {
      guard json.object != nil else { throw MalformedError("\(json.kind), no object") }
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
      // A record has few fields, but each may be one of thousands of members.
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
