import Foundation
import Heartlog
import HeartlogFiles
import HeartlogTesting

/// One of two processes that share the store `$HEARTLOG_STORE` until its standard input ends: an app, or its extension. It says what it calls,
/// when each call began and ended, and what came of it. Tests/Endurance/frozen.py freezes and kills it.
enum NeighbourCommand {
  static func run(_ arguments: inout Arguments) {
    let number = Int64(arguments.take("number") ?? 1)
    let seed = arguments.take("seed") ?? 1
    let isExtension = arguments.take("extension") == 1
    arguments.requireNoMore()
    guard let path = ProcessInfo.processInfo.environment["HEARTLOG_STORE"] else {
      print("HeartlogTorture: HEARTLOG_STORE names no store")
      exit(64)
    }
    let isOver = Monitor(false)
    Thread {
      var byte: UInt8 = 0
      while read(0, &byte, 1) > 0 {}
      isOver.withLock { $0 = true }
    }.start()
    let neighbour = Neighbour(path, isExtension ? "extension" : "app", number, seed: seed) {
      isOver.withLock { $0 }
    }
    if isExtension { neighbour.workAndRest() } else { neighbour.stayOpen() }
  }
}

/// What an app or its extension does with the store.
private final class Neighbour: Sendable {
  private let path: String
  /// Who it is: the origin of its commits, and the id of the item that each of them marks.
  private let role: String
  private let random: RandomChoices
  private let isOver: @Sendable () -> Bool
  /// The number of the last commit that was tried, above those of all earlier processes of the role.
  private let lastLine: Monitor<Int64>
  /// The open store. Whoever reads on another thread holds this, so that the store is not closed meanwhile.
  private let opened = Monitor<FavoritesStore?>(nil)
  private let output = Monitor(())

  private static let linesMax: Int64 = 1_000_000
  private static let roles = ["app", "extension"]

  init(
    _ path: String, _ role: String, _ number: Int64, seed: UInt64, isOver: @escaping @Sendable () -> Bool
  ) {
    self.path = path
    self.role = role
    random = RandomChoices(seed: seed)
    self.isOver = isOver
    lastLine = Monitor(number * Self.linesMax)
  }

  // MARK: - The two lives

  /// An app: it has the store open, follows its changes, reads on a thread of its own, and writes now and then, or many times in a row.
  func stayOpen() {
    let random = RandomChoices(seed: random.next())
    let reader = Thread { [self] in
      while !isOver() {
        opened.withLock { if let store = $0 { read(store, onThread: 1) } }
        pause(random.number(1...8))
      }
    }
    open()
    reader.start()
    while !isOver() {
      switch self.random.number(1...100) {
      case ...70: write(times: self.random.number(1...8), pausing: 0...12)
      case ...78: write(times: self.random.number(10...40), pausing: 0...0)
      case ...84: call("flush") { try $0.flush() }
      case ...90: call("refresh") { try $0.refresh() }
      case ...97: rest()
      default:
        close()
        open()
      }
    }
    close()
    while !reader.isFinished { pause(1) }
  }

  /// An extension: it is woken, does some work, and rests. Now and then the store is closed in between.
  func workAndRest() {
    open()
    while !isOver() {
      for _ in 1...random.number(1...3) {
        write(times: random.number(1...6), pausing: 0...3)
        opened.withLock { if let store = $0 { read(store) } }
      }
      rest()
      if random.number(1...10) == 1 {
        close()
        glance()
        open()
      }
      pause(random.number(1...60))
    }
    rest()
  }

  // MARK: - Calls

  private func options() -> StoreOptions {
    var options = StoreOptions()
    options.origin = role
    // Segments are sealed often.
    options.changeStorage = { $0.segmentBytesMax = 64 << 10 }
    return options
  }

  private func open() {
    var store: FavoritesStore?
    repeat {
      measure("open") {
        store = try FavoritesStore(at: path, options: options())
        return [:]
      }
    } while store == nil && !isOver()
    opened.withLock { $0 = store }
    guard let store, role == "app" else { return }
    Task { for await _ in store.changes {} }
  }

  private func close() {
    let store = opened.withLock { store in
      defer { store = nil }; return store
    }
    // After an error the store is open, as it is when a process ends.
    measure("close") {
      try store?.close(); return [:]
    }
  }

  private func rest() {
    let isAsync = random.number(1...2) == 1
    call("rest") { store in
      if isAsync { try wait { try await store.suspend() } } else { try store.suspend() }
    }
    pause(random.number(0...40))
  }

  /// What a widget does.
  private func glance() {
    var options = StoreOptions()
    options.access = .readOnly
    measure("glance") {
      Self.seen(in: try FavoritesStore(at: path, options: options))
    }
  }

  private func read(_ store: FavoritesStore, onThread thread: Int = 0) {
    measure("read", thread: thread) { Self.seen(in: store) }
  }

  /// The lines of the last commits of both.
  private static func seen(in store: FavoritesStore) -> [String: Any] {
    let lines = roles.map { role -> Int64 in
      store.read { state in
        guard case .int64(let line)? = state.item(role, in: "neighbours")?.fields["line"] else { return 0 }
        return line
      }
    }
    return ["sees": lines]
  }

  private func write(times: Int, pausing milliseconds: ClosedRange<Int>) {
    for _ in 1...times where !isOver() {
      write()
      pause(random.number(milliseconds))
    }
  }

  /// Writes a commit that marks the item of this role, and often changes items that both change.
  private func write() {
    guard let store = opened.withLock({ $0 }) else { return }
    let line = lastLine.withLock { line in
      line += 1
      return line
    }
    var operations = [
      NeighbourOperation(op: "set", library: "neighbours", id: role, field: ("line", .int64(line)))
    ]
    for _ in 0..<random.number(0...2) {
      let id = "\(random.number(1...9))"
      switch random.number(1...10) {
      case ...6:
        operations.append(
          NeighbourOperation(op: "toggle", library: "cities", id: id, field: ("line", .int64(line))))
      case ...8: operations.append(NeighbourOperation(op: "remove", library: "cities", id: id))
      default:
        let text = String(repeating: "x", count: [3, 40, 600][random.number(0...2)]) + "\(line)"
        operations.append(
          NeighbourOperation(op: "set", library: "cities", id: id, field: ("title", .string(text))))
      }
    }
    let isDurable = random.number(1...2) == 1
    let isAsync = random.number(1...4) == 1
    let about: [String: Any] = [
      "line": line, "operations": operations.map(\.description), "durable": isDurable,
    ]
    measure("write", about) { [operations] in
      let durability: Durability = isDurable ? .durable : .buffered
      let commit =
        if isAsync {
          try wait {
            try await store.commit(durability: durability) {
              for operation in operations { try operation.perform(on: store) }
            }.commit
          }
        } else {
          try store.commit(durability: durability) {
            for operation in operations { try operation.perform(on: store) }
          }.commit
        }
      return ["commit": Int64(commit?.number.rawValue ?? 0)]
    }
  }

  private func call(_ name: String, _ body: (FavoritesStore) throws -> Void) {
    guard let store = opened.withLock({ $0 }) else { return }
    measure(name) {
      try body(store); return [:]
    }
  }

  /// Awaits a task on a thread that is none of Swift's.
  private func wait<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let done = DispatchSemaphore(value: 0)
    let outcome = Monitor<Result<R, any Error>?>(nil)
    Task {
      let result: Result<R, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let result = outcome.withLock({ $0 }) else {
      preconditionFailure("a task that has ended has an outcome")
    }
    return try result.get()
  }

  private func pause(_ milliseconds: Int) { usleep(UInt32(milliseconds) * 1_000) }

  // MARK: - Reporting

  /// Makes a call. Says before that it begins, so that it is known of one that does not end, and then how long it took.
  private func measure(
    _ name: String, _ about: [String: Any] = [:], thread: Int = 0, _ body: () throws -> [String: Any]
  ) {
    tell(about.merging(["begins": name, "thread": thread, "from": MonotonicClock.nanoseconds()]) { $1 })
    let start = MonotonicClock.nanoseconds()
    var outcome: [String: Any]
    do { outcome = try body() } catch {
      let found = error as? HeartlogError
      outcome = ["error": found?.code.rawValue ?? "unknown", "message": found?.message ?? "\(error)"]
    }
    outcome["ends"] = name
    outcome["thread"] = thread
    outcome["from"] = start
    outcome["to"] = MonotonicClock.nanoseconds()
    tell(outcome)
  }

  private func tell(_ line: [String: Any]) {
    guard var bytes = try? JSONSerialization.data(withJSONObject: line, options: .sortedKeys) else {
      preconditionFailure("a line that is no JSON")
    }
    bytes.append(UInt8(ascii: "\n"))
    output.withLock { _ in
      // Whoever reads has ended: nobody is left to tell.
      guard (try? FileHandle.standardOutput.write(contentsOf: bytes)) != nil else { exit(1) }
    }
  }
}

/// An operation on an item, in the form that `heartlog apply` and Scripts/model.py read.
private struct NeighbourOperation: Sendable {
  let op: String
  let library: String
  let id: String
  var field: (name: String, value: FieldValue)?

  func perform(on store: FavoritesStore) throws {
    let library = try store.library(library)
    let fields = field.map { [Field(name: $0.name, value: $0.value)] } ?? []
    switch op {
    case "toggle": try library.toggle(id, fields: fields)
    case "remove": try library.remove(id)
    default: try library.set(fields, of: id)
    }
  }

  var description: [String: Any] {
    var object: [String: Any] = ["op": op, "library": library, "id": id]
    switch field?.value {
    case .int64(let number): object["fields"] = [field?.name ?? "": number]
    case .string(let text): object["fields"] = [field?.name ?? "": text]
    default: break
    }
    return object
  }
}

/// The choices of one thread or more. What they do follows from the seed; when they are frozen and killed does not.
private final class RandomChoices: Sendable {
  private let random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  func next() -> UInt64 { random.next() }

  func number(_ range: ClosedRange<Int>) -> Int {
    var generator = Generator(random: random)
    return .random(in: range, using: &generator)
  }

  private struct Generator: RandomNumberGenerator {
    let random: SeededRandom
    mutating func next() -> UInt64 { random.next() }
  }
}
