import Heartlog

/// One item of a file that is imported or exported.
public struct FileItem: Hashable, Sendable {
  /// The id in the spelling of its library.
  public var id: String
  /// The fields, without duplicate names and in no particular order.
  public var fields: [Field]
  /// Fields that apply only if the store has no value: required fields that the file does not contain, or not
  /// exactly. Their names differ from those of `fields`.
  package var defaults: [Field] = []
  /// The favorited date in milliseconds since 1970; `nil` if the file has none.
  public var favoritedDate: Milliseconds?
  /// Whether the file calls the item a favorite. If not, only its fields are imported.
  public var isFavorite: Bool

  /// Creates an item without defaults.
  ///
  /// - Parameters:
  ///   - id: the id in the spelling of its library.
  ///   - fields: the fields, without duplicate names.
  ///   - favoritedDate: milliseconds since 1970; `nil` if the file has none.
  ///   - isFavorite: false if the item is known but not a favorite.
  public init(id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil, isFavorite: Bool = true) {
    self.id = id
    self.fields = fields
    self.favoritedDate = favoritedDate
    self.isFavorite = isFavorite
  }

  /// The value of a field, or its default; `nil` if there is neither.
  package func value(of name: String) -> FieldValue? {
    (fields + defaults).first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The value of a field; `nil` if there is none, or it is null.
  public subscript(name: String) -> FieldValue? {
    guard let value = fields.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value, !value.isNull
    else { return nil }
    return value
  }
}

extension FileItem {
  /// Creates an item from one of a store, without fields that were cleared.
  package init(_ state: ItemState) {
    self.init(
      id: state.id, fields: state.fields.filter { !$0.value.isNull }, favoritedDate: state.favoritedDate,
      isFavorite: state.isFavorite)
  }

  /// Checks the limits of the store, before anything of the file is written.
  ///
  /// - Throws: `invalidItem` if no store can hold the item.
  package func validate() throws(LibraryError) {
    do throws(MalformedError) {
      try NameRules.checkItem(id)
      for field in fields + defaults {
        try NameRules.checkFieldName(field.name)
        if let problem = field.value.withBorrowed(\.problem) {
          throw MalformedError("field \"\(field.name)\": \(problem)")
        }
      }
    } catch {
      throw .invalidItem(error.reason)
    }
    if let favoritedDate, !(Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(favoritedDate) {
      throw .invalidItem("a favorited date outside the years 0000 to 9999")
    }
  }
}

extension FileItem {
  /// Sets a field.
  public mutating func set(_ name: String, _ value: FieldValue) {
    fields.removeAll { $0.name == name }
    fields.append(Field(name: name, value: value))
  }

  /// Sets the field `tags`, unless there are none.
  package mutating func setTags(_ tags: [String]) throws(LibraryError) {
    if !tags.isEmpty { set("tags", try FieldValue(texts: tags)) }
  }

  /// Removes fields and defaults.
  package mutating func remove(_ names: Set<String>) {
    guard !names.isEmpty else { return }
    fields.removeAll { names.contains($0.name) }
    defaults.removeAll { names.contains($0.name) }
  }

  /// Creates an item from an app's item, without the fields that it does not have: a field that is missing in
  /// a file is not cleared.
  ///
  /// - Throws: `invalidItem` if the store cannot hold it.
  public init<Item: Codable & Identifiable>(encoding item: Item) throws(LibraryError)
  where Item.ID: FavoriteID {
    do {
      self.init(id: item.id.favoriteID, fields: try FieldEncoder.fields(of: item).filter { !$0.value.isNull })
    } catch {
      throw .invalidItem(String(describing: error))
    }
  }

  /// Checks that the item has no values of a later version of the store, and no reserved field names.
  ///
  /// - Parameter reserved: the names that have a special meaning in the format.
  package func checkWritable(reserved: Set<String> = []) throws(LibraryError) {
    for field in fields {
      if case .unknown = field.value {
        throw .invalidItem("\(id): \(field.name) is a value of a later version")
      }
      if reserved.contains(field.name) {
        throw .invalidItem("\(id): a field named \(field.name), which means something else there")
      }
    }
  }
}

extension FieldValue {
  /// A list of texts.
  package init(texts: [String]) throws(LibraryError) {
    self = try LibraryError.checking(FieldValue(.array(texts.map(JSONValue.string))))
  }

  /// The text of a string; `nil` for any other value.
  package var text: String? { if case .string(let text) = self { text } else { nil } }
  /// The texts of a list; none if it is something else.
  package var texts: [String] { (jsonValue.array ?? []).compactMap(\.string) }

  /// The value of a number; `nil` for any other value.
  package var number: Double? {
    switch self {
    case .int64(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }
}

/// The names in files for the parts of an item that are not fields.
package enum FieldName {
  package static let id = "id"
  package static let isFavorite = "isFavorite"
  package static let favoritedDate = "favoritedDate"
  package static let all: Set<String> = [id, isFavorite, favoritedDate]
}

extension [JSONMember] {
  /// The members that have a value, in order.
  package static func present(_ members: KeyValuePairs<String, JSONValue?>) -> [JSONMember] {
    members.compactMap { name, value in value.map { JSONMember(name, $0) } }
  }
}

extension [Field] {
  /// The fields as an object.
  package var jsonObject: JSONValue { .object(map { JSONMember($0.name, $0.value.jsonValue) }) }
}

/// The parts that records of several formats have in common: members for the fields, the date and the flag.
extension FileItem {
  /// The date as JSON; `nil` if there is none.
  package var jsonDate: JSONValue? { favoritedDate.map { .string(RFC3339.text($0)) } }

  /// The flag as JSON where it is not written for a favorite.
  package var jsonFlag: JSONValue? { isFavorite ? nil : .bool(false) }

  /// Adds members as fields, and sets the date and the flag from `favoritedDate` and `isFavorite`.
  package mutating func take(_ members: [JSONMember]) throws(LibraryError) {
    for member in members {
      switch member.name {
      case FieldName.favoritedDate: favoritedDate = try Self.date(member.value, named: member.name)
      case FieldName.isFavorite: isFavorite = try Self.flag(member.value) ?? true
      default:
        let value = try LibraryError.checking(FieldValue(member.value), in: "\(member.name): ")
        if !value.isNull { fields.append(Field(name: member.name, value: value)) }
      }
    }
  }

  /// Takes the date, the flag and the fields of an object that has them under these names.
  package mutating func takeState(of object: JSONValue) throws(LibraryError) {
    isFavorite = try Self.flag(object[FieldName.isFavorite]) ?? isFavorite
    if let date = object[FieldName.favoritedDate] {
      favoritedDate = try Self.date(date, named: FieldName.favoritedDate)
    }
    try takeFields(object["fields"])
  }

  /// Adds the members of an object as fields; does nothing for `nil` or null.
  package mutating func takeFields(_ value: JSONValue?) throws(LibraryError) {
    guard let value, !value.isNull else { return }
    guard let members = value.object else {
      throw .invalidItem("\"fields\" that are \(value.kind), not an object")
    }
    // Unlike in `take`, every member is a field, whatever its name.
    for member in members {
      let value = try LibraryError.checking(FieldValue(member.value), in: "\(member.name): ")
      fields.append(Field(name: member.name, value: value))
    }
  }

  /// Parses a flag; `nil` if there is none.
  package static func flag(_ value: JSONValue?) throws(LibraryError) -> Bool? {
    switch value {
    case nil, .null: return nil
    case .bool(let flag): return flag
    case .some(let other): throw .invalidItem("\"isFavorite\" is \(other.kind), not true or false")
    }
  }

  /// Parses a time of RFC 3339; `nil` if there is none.
  package static func date(_ value: JSONValue?, named name: String) throws(LibraryError) -> Milliseconds? {
    switch value {
    case nil, .null: return nil
    case .string(let text): return try LibraryError.checking(RFC3339.parse(text))
    case .some(let other): throw .invalidItem("\"\(name)\" is \(other.kind), not a time")
    }
  }
}
