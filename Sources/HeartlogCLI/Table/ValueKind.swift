import Heartlog
import HeartlogLibraries

/// The kind of an argument or of an option's value: the parser checks it, and shells complete it.
enum ValueKind: Hashable, Sendable {
  case text
  case library
  case item
  /// The first digits of a device's id, or its name.
  case replica
  /// The name of a collection.
  case collection
  case field
  case json
  /// A whole number, 0 or more.
  case count
  /// A WHEN: a time, a date, an event, or a commit.
  case moment
  /// A time or a date.
  case date
  /// An event as `log` shows it.
  case event
  case file
  case directory
  /// A PEER: a directory, or an address.
  case peer
  /// The name of a command.
  case command
  case choice([String])

  /// The libraries with a descriptor.
  static let libraries = LibraryRegistry.standard.names

  /// The kind as the scripts ask for the store's candidates; nil if the store has none.
  var candidates: String? {
    switch self {
    case .library: "library"
    case .item: "item"
    case .replica: "replica"
    case .collection: "collection"
    default: nil
    }
  }

  static let shells = ["bash", "zsh", "fish"]

  /// Throws if `text` cannot be a value of this kind. `label` names the argument in the message.
  func check(_ text: String, label: String, clock: LocalClock) throws(CommandError) {
    switch self {
    case .text, .json, .field, .command, .replica, .collection: break
    case .library: try Self.checkLibrary(text)
    case .item: try Self.checkItem(text)
    case .count:
      guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), Int(text) != nil
      else { throw .usage("\(label) needs a whole number, not \(Quoted(text))") }
    case .moment: _ = try Moment(text, label: label, clock: clock)
    case .date:
      guard Moment.time(text, clock: clock) != nil else {
        let kind = Moment.event(text) != nil ? "the event " : Moment.commit(text) != nil ? "the commit " : ""
        throw .usage("\(label) needs a date or a time, not \(kind)\(Quoted(text))", hint: Moment.timeHint)
      }
    case .event:
      guard Moment.event(text) != nil else {
        throw .usage(
          "\(label) needs an event, not \(Quoted(text))",
          hint: "Write it as \"heartlog log\" and \"heartlog conflicts\" show it, like \(Moment.eventForm).")
      }
    case .file, .directory, .peer:
      guard !text.isEmpty else { throw .usage("\(label) is empty") }
    case .choice(let words):
      guard words.contains(text) else {
        let list = words.joined(separator: ", ")
        throw .usage(
          "\(label) must be one of \(list), not \(Quoted(text))",
          hint: NearestMatch.hint(for: text, among: words))
      }
    }
  }

  static func checkLibrary(_ text: String) throws(CommandError) {
    do { try NameRules.checkLibrary(text) } catch {
      throw .usage(
        "\(Quoted(text)) is not a valid library name",
        hint:
          "A library name has 1 to \(Limits.libraryBytesMax) characters of a-z, 0-9, -, _ and the full stop.")
    }
  }

  private static func checkItem(_ text: String) throws(CommandError) {
    do { try NameRules.checkItem(text) } catch {
      throw .usage(
        text.isEmpty ? "the ID is empty" : "\(Quoted(text)) is not a valid ID",
        hint: "An ID has 1 to \(Quantity.count(Limits.itemBytesMax)) bytes and no control characters.")
    }
  }

  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control
  }
}
