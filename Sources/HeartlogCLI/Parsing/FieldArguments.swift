import Heartlog

/// The fields given on a command line.
struct FieldArguments: Equatable, Sendable {
  struct Assignment: Equatable, Sendable {
    let name: String
    let value: FieldValue
  }

  /// In the order given, `FIELD` arguments before `--fields`; names are unique.
  let assignments: [Assignment]

  /// Reads `FIELD=text` and `FIELD:=json` arguments and the JSON object of `--fields`.
  init(assignments texts: [String], object: String?) throws(CommandError) {
    var all: [Assignment] = []
    for text in texts { all.append(try Self.assignment(text)) }
    if let object {
      do throws(MalformedError) {
        let json = try JSONValue.parse(Array(object.utf8), depthMax: Limits.jsonDepthMax + 1)
        guard case .object(let members) = json else { throw MalformedError("it is \(json.kind)") }
        for member in members {
          all.append(Assignment(name: member.name, value: try Field(member).value))
        }
      } catch {
        throw .usage(
          "--fields is not a JSON object of field values: \(error.reason)",
          hint: "Write it in single quotes: --fields '{\"title\": \"Solaris\", \"year\": 1972}'")
      }
    }
    var names: Set<[UInt8]> = []
    for assignment in all {
      guard !assignment.name.isEmpty else { throw .usage("the name of a field is empty", hint: Self.hint) }
      // As bytes: names are not normalized, but String compares é and e + accent as equal.
      guard names.insert(Array(assignment.name.utf8)).inserted else {
        throw .usage("the field \(Quoted(assignment.name)) is given twice")
      }
    }
    self.assignments = all
  }

  var isEmpty: Bool { assignments.isEmpty }

  private static let hint = "Write FIELD=text, or FIELD:=json for a number, true, null or a list."

  /// Whichever of `=` and `:=` comes first decides. Compares bytes, since a combining accent after `=` would make it another
  /// character.
  private static func assignment(_ text: String) throws(CommandError) -> Assignment {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("\(Quoted(text)) is not a field", hint: hint)
    }
    var name = text.utf8[..<equals]
    let value = text.utf8[text.utf8.index(after: equals)...]
    guard name.last == UInt8(ascii: ":") else {
      return Assignment(name: String(Substring(name)), value: .string(String(Substring(value))))
    }
    name.removeLast()
    do throws(MalformedError) {
      let json = try JSONValue.parse(Array(value), depthMax: Limits.jsonDepthMax)
      return Assignment(name: String(Substring(name)), value: try FieldValue(json))
    } catch {
      throw .usage(
        "\(Quoted(text)) has no valid JSON value: \(error.reason)",
        hint: "For text, write = instead of :=")
    }
  }

  /// The fields as the store takes them.
  func fields() throws(CommandError) -> [Field] {
    var fields: [Field] = []
    for assignment in assignments {
      do throws(MalformedError) { try NameRules.checkFieldName(assignment.name) } catch {
        throw .usage("\(Quoted(assignment.name)) is not a valid field name: \(error.reason)")
      }
      fields.append(Field(name: assignment.name, value: assignment.value))
    }
    return fields
  }
}
