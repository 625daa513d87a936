import Heartlog

/// One line of the input of `apply`.
package enum OperationLine {
  case operation(StoreOperation, group: JSONValue?)
  /// `{"op":"commit"}`: ends the current group.
  case endOfGroup

  /// An operation on one item, with the time that replaces the clock.
  package struct StoreOperation {
    package let library: String
    package let item: String
    package let operation: Operation
    package let time: Milliseconds?
  }

  /// Parses one line. Unknown keys are ignored.
  package init(_ line: UnsafeRawBufferPointer) throws(MalformedError) {
    // The line and its fields add two levels to the deepest value.
    let json = try JSONValue.parse(line, depthMax: Limits.jsonDepthMax + 2)
    guard case .object = json else { throw MalformedError("the line is not a JSON object") }
    let name = try Self.text("op", in: json)
    if name == "commit" {
      self = .endOfGroup
      return
    }
    let fields = try Self.fields(in: json)
    let date = try Self.time("favoritedDate", in: json)
    let operation: Operation
    switch name {
    case "add": operation = .add(fields: fields ?? [], favoritedDate: date)
    case "toggle": operation = .toggle(fields: fields ?? [], favoritedDate: date)
    case "remove": operation = .remove
    case "set": operation = .set(fields: fields ?? [])
    default:
      throw MalformedError(
        "unknown operation \"\(name)\"; the operations are add, remove, toggle, set and commit")
    }
    if date != nil, name == "remove" || name == "set" {
      throw MalformedError(
        "\(name) takes no \"favoritedDate\"; add does, and a toggle that makes a favorite")
    }
    if fields != nil, name == "remove" { throw MalformedError("remove takes no fields") }
    if fields == nil, name == "set" { throw MalformedError("set needs fields") }
    let time = try Self.time("time", in: json)
    if let time, !(0...Limits.clockMillisecondsMax).contains(time) {
      throw MalformedError("the time is before 1970 or after 2199")
    }
    let item = try Self.text("id", in: json)
    let library = try Self.text("library", in: json)
    try NameRules.checkLibrary(library)
    try NameRules.checkItem(item)
    var group = json["commit"]
    if case .null? = group { group = nil }
    self = .operation(
      StoreOperation(library: library, item: item, operation: operation, time: time), group: group)
  }

  private static func text(_ key: String, in json: JSONValue) throws(MalformedError) -> String {
    switch json[key] {
    case .string(let text): return text
    case nil: throw MalformedError("the operation has no \"\(key)\"")
    default: throw MalformedError("\"\(key)\" is not a string")
    }
  }

  private static func time(_ key: String, in json: JSONValue) throws(MalformedError) -> Milliseconds? {
    switch json[key] {
    case nil, .null: return nil
    case .string(let text):
      do { return try RFC3339.parse(text) } catch {
        throw MalformedError("\"\(key)\" is not an RFC 3339 time: \(error.reason)")
      }
    default: throw MalformedError("\"\(key)\" is not a string")
    }
  }

  private static func fields(in json: JSONValue) throws(MalformedError) -> [Field]? {
    switch json["fields"] {
    case nil, .null: return nil
    case .object(let members):
      var fields: [Field] = []
      for member in members {
        try NameRules.checkFieldName(member.name)
        fields.append(try Field(member))
      }
      return fields
    default: throw MalformedError("\"fields\" is not an object")
    }
  }
}
