/// The fields of a command line, each with its value as it was given.
struct FieldArguments: Equatable, Sendable {
  enum RawValue: Equatable, Sendable {
    case text(String)
    /// One JSON value. Its brackets and strings are closed; all else about it is for the reader of values.
    case json([UInt8])
  }

  struct Assignment: Equatable, Sendable {
    let name: String
    let value: RawValue
  }

  /// In the order given, `FIELD` arguments before `--fields`, without duplicate names.
  let assignments: [Assignment]

  /// Reads `FIELD=text` and `FIELD:=json` arguments and the JSON object of `--fields`.
  init(assignments texts: [String], object: String?) throws(CommandError) {
    var all: [Assignment] = []
    for text in texts { all.append(try Self.assignment(text)) }
    if let object {
      do throws(JSONMembers.Malformed) {
        all += try JSONMembers.of(Array(object.utf8)).map {
          Assignment(name: $0.name, value: .json($0.value))
        }
      } catch {
        throw .usage(
          "--fields is no JSON object: \(error.reason) at byte \(error.offset)",
          hint: "Write it in single quotes: --fields '{\"title\": \"Solaris\", \"year\": 1972}'")
      }
    }
    var names: Set<[UInt8]> = []
    for assignment in all {
      guard !assignment.name.isEmpty else { throw .usage("a field's name is empty", hint: Self.hint) }
      // As bytes: names are not normalised, and String would hold é and e + accent for one.
      guard names.insert(Array(assignment.name.utf8)).inserted else {
        throw .usage("the field \(Quoted(assignment.name)) is given twice")
      }
    }
    self.assignments = all
  }

  var isEmpty: Bool { assignments.isEmpty }

  private static let hint = "Write FIELD=text, or FIELD:=json for a number, true, null or a list."

  /// Whichever of `=` and `:=` comes first decides. In bytes, since an accent after `=` would make it another
  /// character.
  private static func assignment(_ text: String) throws(CommandError) -> Assignment {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("\(Quoted(text)) is no field", hint: hint)
    }
    var name = text.utf8[..<equals]
    let value = text.utf8[text.utf8.index(after: equals)...]
    guard name.last == UInt8(ascii: ":") else {
      return Assignment(name: String(Substring(name)), value: .text(String(Substring(value))))
    }
    name.removeLast()
    let json = Array(value)
    do throws(JSONMembers.Malformed) {
      try JSONMembers.checkValue(json)
    } catch {
      throw .usage(
        "\(Quoted(text)) holds no JSON: \(error.reason) at byte \(error.offset) of the value",
        hint: "For text, write = in place of :=")
    }
    return Assignment(name: String(Substring(name)), value: .json(json))
  }
}
