import Heartlog

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
    let written = try store.writeReturningCommit(durability: .buffered, time: operations.first?.time) {
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
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
          .map { JSONMember($0.name, $0.value.sortedByName) })
    case .array(let elements): .array(elements.map(\.sortedByName))
    default: self
    }
  }
}
