import Heartlog

/// What records of several formats have in common: members that are fields, and two that are not.
extension FileItem {
  /// Takes members as fields; `favoritedDate` and `isFavorite` are what they say.
  mutating func take(_ members: [JSONMember]) throws(LibraryError) {
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
  mutating func takeFields(_ value: JSONValue?) throws(LibraryError) {
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
  static func flag(_ value: JSONValue?) throws(LibraryError) -> Bool? {
    switch value {
    case nil, .null: return nil
    case .bool(let flag): return flag
    case .some(let other): throw .invalidItem("\"isFavorite\" is \(other.kind), not true or false")
    }
  }

  /// A time of RFC 3339; nil where there is none.
  static func date(_ value: JSONValue?, named name: String) throws(LibraryError) -> Milliseconds? {
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

extension FileFormat {
  /// The lines of a JSON array, one element a line.
  func lines(_ elements: [[UInt8]], opening: String = "[", closing: String = "]") -> [UInt8] {
    var output = Array(opening.utf8)
    for (index, element) in elements.enumerated() {
      output += index == 0 ? "\n".utf8 : ",\n".utf8
      output += element
    }
    if !elements.isEmpty { output.append(UInt8(ascii: "\n")) }
    output += "\(closing)\n".utf8
    return output
  }
}
