import Heartlog

/// One item as a file holds it, on its way in or out.
public struct FileItem: Hashable, Sendable {
  /// As its library writes it.
  public var id: String
  /// Without duplicate names; their order means nothing.
  public var fields: [Field]
  /// Fields of other names that hold where the store knows nothing of them: what makes an item whole, and was not told or not exactly.
  public var defaults: [Field] = []
  /// Milliseconds since 1970; nil where the file does not tell.
  public var favoritedDate: Milliseconds?
  /// False for what the file knows and does not call a favorite: its fields are taken over, and nothing else.
  public var isFavorite: Bool

  /// An item without defaults.
  ///
  /// - Parameters:
  ///   - id: as its library writes it.
  ///   - fields: without duplicate names.
  ///   - favoritedDate: milliseconds since 1970; nil where the file does not tell.
  ///   - isFavorite: false for what is known and no favorite.
  public init(id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil, isFavorite: Bool = true) {
    self.id = id
    self.fields = fields
    self.favoritedDate = favoritedDate
    self.isFavorite = isFavorite
  }

  /// The value of a field, told or by default; nil where there is neither.
  package func value(of name: String) -> FieldValue? {
    (fields + defaults).first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The value of a field; nil where there is none, or null.
  public subscript(name: String) -> FieldValue? {
    guard let value = fields.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value, !value.isNull
    else { return nil }
    return value
  }
}

extension FileItem {
  /// An item of the store, without the fields that were cleared.
  public init(_ state: ItemState) {
    self.init(
      id: state.id, fields: state.fields.filter { !$0.value.isNull }, favoritedDate: state.favoritedDate,
      isFavorite: state.isFavorite)
  }

  /// An app's item by its `Codable` form.
  ///
  /// - Throws: `invalidItem` for what the store cannot hold.
  package init<Item: Codable & Identifiable>(_ item: Item, since date: Milliseconds? = nil)
    throws(LibraryError)
  where Item.ID: FavoriteID {
    do {
      self.init(id: item.id.favoriteID, fields: try FieldEncoder.fields(of: item), favoritedDate: date)
    } catch {
      throw .invalidItem(String(describing: error))
    }
  }

  /// Refuses what no store can hold, before anything of its file is written.
  package func validate() throws(LibraryError) {
    do throws(MalformedError) {
      try NameRules.checkItem(id)
      for field in fields + defaults {
        try NameRules.checkFieldName(field.name)
        if case .string(let text) = field.value, text.utf8.count > Limits.valueBytesMax {
          throw MalformedError(
            "field \"\(field.name)\" of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
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
  /// Puts a value in place of another, or beside the others.
  public mutating func set(_ name: String, _ value: FieldValue) {
    fields.removeAll { $0.name == name }
    fields.append(Field(name: name, value: value))
  }

  /// An app's item without the fields that it does not have: what a file does not tell is not cleared.
  ///
  /// - Throws: `invalidItem` for what the store cannot hold.
  public init<Item: Codable & Identifiable>(told item: Item) throws(LibraryError) where Item.ID: FavoriteID {
    try self.init(item)
    fields.removeAll { $0.value.isNull }
  }

  /// Refuses what only a later version of the store understands.
  ///
  /// - Parameter reserved: names that the format has a meaning of its own for.
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
  /// The text of a string; nil for anything else.
  package var text: String? { if case .string(let text) = self { text } else { nil } }

  /// A number; nil for anything else.
  package var number: Double? {
    switch self {
    case .int64(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }
}

/// What files call the parts of an item that are no fields.
package enum FieldName {
  package static let id = "id"
  package static let isFavorite = "isFavorite"
  package static let favoritedDate = "favoritedDate"
  package static let all: Set<String> = [id, isFavorite, favoritedDate]
}

/// What records of several formats have in common: members that are fields, and two that are not.
extension FileItem {
  /// Takes members as fields; `favoritedDate` and `isFavorite` are what they say.
  package mutating func take(_ members: [JSONMember]) throws(LibraryError) {
    for member in members {
      switch member.name {
      case FieldName.favoritedDate: favoritedDate = try Self.date(member.value, named: member.name)
      case FieldName.isFavorite: isFavorite = try Self.flag(member.value) ?? true
      default:
        do throws(MalformedError) {
          let value = try FieldValue(member.value)
          if !value.isNull { fields.append(Field(name: member.name, value: value)) }
        } catch {
          throw .invalidItem("\(member.name): \(error.reason)")
        }
      }
    }
  }

  /// Takes the members of an object, or nothing where there is none.
  package mutating func takeFields(_ value: JSONValue?) throws(LibraryError) {
    guard let value, !value.isNull else { return }
    guard let members = value.object else {
      throw .invalidItem("\"fields\" that are \(value.kind), not an object")
    }
    // Not `take`: here a member is a field, whatever it is called.
    for member in members {
      do throws(MalformedError) {
        fields.append(Field(name: member.name, value: try FieldValue(member.value)))
      } catch {
        throw .invalidItem("\(member.name): \(error.reason)")
      }
    }
  }

  /// A flag; nil where there is none.
  package static func flag(_ value: JSONValue?) throws(LibraryError) -> Bool? {
    switch value {
    case nil, .null: return nil
    case .bool(let flag): return flag
    case .some(let other): throw .invalidItem("\"isFavorite\" is \(other.kind), not true or false")
    }
  }

  /// A time of RFC 3339; nil where there is none.
  package static func date(_ value: JSONValue?, named name: String) throws(LibraryError) -> Milliseconds? {
    switch value {
    case nil, .null: return nil
    case .string(let text):
      do {
        return try RFC3339.parse(text)
      } catch {
        throw .invalidItem(error.reason)
      }
    case .some(let other): throw .invalidItem("\"\(name)\" is \(other.kind), not a time")
    }
  }
}
