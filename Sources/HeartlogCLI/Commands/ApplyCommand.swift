import Heartlog

/// `heartlog apply`: executes operations, one per line.
enum ApplyCommand: Command {
  private static let file = Argument(
    "FILE", form: "FILE|-", .optional, .file,
    "A file of operations, one JSON object per line. Default: standard input (-).")
  private static let acknowledges = Option.flag(
    "ack", "Print {\"ack\":LINE} for each line as soon as it is safe on disk, and not before.")

  static let description = CommandDescription(
    name: "apply", group: .write, summary: "execute operations from a file or a pipe, one per line",
    arguments: [file], options: [acknowledges],
    page: #"""
      An operation is {"op":"add|remove|toggle|set","library":…,"id":…}, optionally with "fields", "favoritedDate", "time" (replaces the clock)
      and "commit": neighboring lines with the same commit are written together or not at all.

      If the exit code is 0, everything is safe on disk. A bad line ends the command with the line's number; the commits before it are kept.

      heartlog apply fortnight.jsonl  # Execute the operations in a file.
      echo '{"op":"add","library":"cities","id":"2950159"}' | heartlog apply --ack  # Execute operations from a pipe, and acknowledge each line.

      Exit code 65: A line is not a valid operation; the message has its number.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let acknowledges = arguments.has(Self.acknowledges)
    let input = try LineReader(arguments.path(Self.file))
    // A pipe may have no end.
    let store = try context.openForWriting(endsSoon: input.byteCount != nil)
    var run = OperationRun(store, acknowledges: acknowledges)
    let bar = context.progress("applying", total: input.byteCount)
    defer { bar.finish() }
    var number = 0
    do {
      while true {
        number += 1
        let line = try input.next { bytes -> OperationLine? in
          bytes.allSatisfy(Self.isSpace) ? .none : try OperationLine(bytes)
        }
        guard let line else { break }
        if let line { try run.take(line, number: number) }
        bar.update(input.bytesRead)
        if acknowledges, !input.hasLineAtHand { try acknowledge(&run, context) }
      }
      try run.endGroup()
    } catch {
      // What was executed before the bad line is kept, and acknowledged.
      try acknowledge(&run, context)
      throw Self.located(error, line: number)
    }
    try acknowledge(&run, context)
    bar.finish()
    let sentence =
      "\(Quantity.count(run.applied, "operation")) applied: \(Quantity.count(run.events, "event")) in "
      + Quantity.count(run.commits, "commit")
    try context.show(
      ["applied": run.applied, "events": run.events, "commits": run.commits, "digest": store.digest],
      acknowledges ? [] : [sentence])
    return try context.close(store)
  }

  private static func acknowledge(_ run: inout OperationRun, _ context: CommandContext) throws {
    let safe = try run.flush()
    if let last = run.lastEvent {
      context.unreported.set(
        "the operations up to line \(run.lastLine), \(Quantity.count(run.events, "event")) in "
          + "\(Quantity.count(run.commits, "commit")) up to \(EventLine.shortID(last))")
    }
    guard !safe.isEmpty else { return }
    for line in safe { try context.jsonLine(["ack": line]) }
    try context.output.flush()
    context.unreported.clear()
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  /// An error about a line, with the line's number.
  private static func located(_ error: any Error, line: Int) -> any Error {
    let hint = "Neither this line nor its unfinished commit was written; everything before it was."
    switch error {
    case let error as MalformedError:
      return CommandError(.badInput, error.reason, at: "line \(line)", hint: hint)
    case let error as HeartlogError where error.code == .invalid || error.code == .invalidItem:
      return CommandError(.badInput, error.message, at: "line \(line)", hint: hint)
    default: return error
    }
  }
}

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

/// Executes operations line by line, and keeps track of which of them are safe on disk.
///
/// Commits are written buffered and flushed together: one fsync covers all lines that were available.
struct OperationRun {
  private let store: FavoritesStore
  private var group: (name: JSONValue, operations: [OperationLine.StoreOperation], lines: [Int])?
  private var libraries: [String: FavoritesLibrary] = [:]

  private let acknowledges: Bool
  /// Lines that were executed but are not yet known to be safe; always empty without `acknowledges`.
  private var unacknowledged: [Int] = []
  private(set) var applied = 0
  private(set) var events = 0
  private(set) var commits = 0
  /// The last event written.
  private(set) var lastEvent: EventID?
  /// The last line executed.
  private(set) var lastLine = 0

  init(_ store: FavoritesStore, acknowledges: Bool) {
    self.store = store
    self.acknowledges = acknowledges
  }

  /// Executes the operation of a line, or adds it to the current group.
  mutating func take(_ line: OperationLine, number: Int) throws {
    guard case .operation(let operation, let name) = line else { return try endGroup() }
    // A second reference to the group would copy its arrays at each line.
    if let name, group?.name.isSameValue(as: name) == true {
      guard group?.operations.first?.time == operation.time else {
        throw MalformedError("\"time\" differs from that of the lines before it in the same commit")
      }
      guard let count = group?.operations.count, count < Limits.commitEventsMax else {
        throw MalformedError("the commit has more than \(Limits.commitEventsMax) operations")
      }
      group?.operations.append(operation)
      group?.lines.append(number)
      return
    }
    try endGroup()
    if let name {
      group = (name, [operation], [number])
    } else {
      try commit([operation], lines: [number])
    }
  }

  /// Writes the current group as one commit.
  mutating func endGroup() throws {
    guard let ended = group else { return }
    group = nil
    try commit(ended.operations, lines: ended.lines)
  }

  /// Makes everything executed so far safe on disk.
  ///
  /// - Returns: the lines that became safe, in order; none without `acknowledges`.
  mutating func flush() throws -> [Int] {
    try store.flush()
    defer { unacknowledged.removeAll(keepingCapacity: true) }
    return unacknowledged
  }

  private mutating func commit(_ operations: [OperationLine.StoreOperation], lines: [Int]) throws {
    for operation in operations where libraries[operation.library] == nil {
      libraries[operation.library] = try store.library(operation.library)
    }
    let written = try store.commit(durability: .buffered, time: operations.first?.time) {
      for operation in operations {
        guard let library = libraries[operation.library] else { continue }
        try library.perform(operation.operation, on: operation.item)
      }
    }.commit
    applied += operations.count
    if acknowledges { unacknowledged += lines }
    lastLine = lines.last ?? lastLine
    if let written {
      commits += 1
      events += written.eventCount
      lastEvent = written.eventID(at: written.eventCount - 1)
    }
  }
}

extension JSONValue {
  /// Whether two values are the same, regardless of the order of object members. Names are compared as bytes, not as Swift
  /// compares strings.
  fileprivate func isSameValue(as other: JSONValue) -> Bool { sortedByName == other.sortedByName }

  private var sortedByName: JSONValue {
    switch self {
    case .object(let members):
      .object(
        members.sorted { $0.name.bytesPrecede($1.name) }
          .map { JSONMember($0.name, $0.value.sortedByName) })
    case .array(let elements): .array(elements.map(\.sortedByName))
    default: self
    }
  }
}
