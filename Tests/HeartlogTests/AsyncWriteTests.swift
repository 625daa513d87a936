import HeartlogCrashModel
import Foundation
import HeartlogFiles
import HeartlogEngine
import Synchronization
import Testing

@testable import Heartlog

@Suite("Writes that tasks await")
struct AsyncWriteTests {
  private let files = GatedFiles()

  private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> FavoritesStore {
    var options = StoreOptions()
    change(&options)
    return try FavoritesStore(at: TestStore.path, on: files, options: options)
  }

  /// Waits for other threads, and lets other tasks run meanwhile.
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test("each form does what the one without await does")
  func forms() async throws {
    let store = try open()
    let records = try store.records
    let a = Record(id: 1, title: "a")
    #expect(try await records.add(a))
    #expect(try await records.add(a) == false)
    #expect(try await records.toggle(a) == false)
    #expect(try await records.toggle(a))
    #expect(try await records.update(Record(id: 1, title: "b")))
    #expect(try records.item(1)?.title == "b")
    #expect(try await records.remove(a))
    #expect(try await records.remove(1) == false)
    let date = Date(timeIntervalSince1970: 1_000)
    try await records.add(a, since: date)
    #expect(records.favoritedDate(of: 1) == date)
    let library = try store.library("papers")
    #expect(try await store.write { try library.add("x") })
    #expect(try await store.write { try library.toggle("x") } == false)
    try await store.run { try $0.flush() }
    try await store.run { try $0.refresh() }
    #expect(try await store.run { try $0.seal().sealedFiles } == 1)
    try await store.run { try $0.close() }
    let error = await failure { try await store.write { try library.remove("x") } }
    #expect(error?.code == .misuse)
  }

  @Test("batches, take-overs and notes can be awaited")
  func batches() async throws {
    let store = try open()
    let records = try store.records
    let items = (1...4).map { Record(id: $0, title: "\($0)") }
    #expect(try await store.run { _ in try records.add(contentsOf: items) } == 4)
    #expect(try await store.run { _ in try records.remove(contentsOf: [1, 2, 9]) } == 2)
    #expect(
      try await store.run { _ in
        try records.update(contentsOf: [Record(id: 3, title: "new"), items[3]])
      } == 1)
    let old = (1...6).map { (item: Record(id: $0, title: "old"), since: Date?.none) }
    #expect(try await store.run { _ in try records.migrate(from: old, origin: "import:defaults") } == 2)
    #expect(records.list(order: .byID).map(\.title) == ["new", "4", "old", "old"])
    #expect(try await records.setNote("again", of: 3) && records.note(of: 3) == "again")
  }

  @Test("all of a closure is one commit, read with its own changes; what it throws comes through")
  func closure() async throws {
    struct Oops: Error, Equatable {}
    let store = try open()
    let records = try store.records
    let a = Record(id: 1, title: "a")
    let (count, commit) = try await store.commit(origin: "server", time: 1_000) {
      try records.add(a)
      try records.add(contentsOf: [Record(id: 2, title: "b"), Record(id: 3, title: "c")])
      return records.list().count
    }
    #expect(count == 3 && commit?.records.count == 3)
    #expect(commit?.origin == "server" && commit?.wallTime == 1_000)
    await #expect(throws: Oops()) {
      try await store.write {
        try records.remove(1)
        throw Oops()
      }
    }
    #expect(records.contains(1))
    #expect(try await store.commit { try records.add(a) }.commit == nil)
    #expect(try store.allCommits() == [commit])
  }

  @Test("64 tasks, 20 writes each: all there, each task's in its order, and few fdatasyncs")
  func sharing() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    let before = files.synchronizations
    let numbers = try await withThrowingTaskGroup(of: [CommitNumber].self) { group in
      for task in 0..<64 {
        group.addTask {
          var numbers: [CommitNumber] = []
          for write in 0..<20 {
            let commit = try await store.commit {
              try records.add(Record(id: task * 100 + write, title: "t"))
            }.commit
            numbers += [commit?.number].compactMap(\.self)
          }
          return numbers
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(numbers.allSatisfy { $0.count == 20 && $0 == $0.sorted() })
    #expect(records.count == 1_281)
    #expect(try store.allCommits().map(\.number.rawValue) == Array(1...1_281))
    #expect(try store.state().digest == store.digest)
    let synchronizations = files.synchronizations - before
    print("1,280 awaited commits of 64 tasks: \(synchronizations) fdatasyncs")
    #expect(synchronizations < 1_280)
  }

  @Test("what 64 tasks write while an fdatasync is under way shares the next one")
  func group() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    files.shut()
    let first = Task { try await records.add(Record(id: -2, title: "second")) }
    await until { files.held == 1 }
    let before = files.synchronizations
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for task in 0..<64 {
        group.addTask { try await records.add(Record(id: task, title: "t")) }
      }
      await until { store.asyncWrites.waitingCount == 64 }
      #expect(records.count == 1, "nothing shows before it is acknowledged")
      files.open()
      for try await isNew in group { #expect(isNew) }
    }
    #expect(try await first.value)
    #expect(files.synchronizations - before == 1)
    #expect(records.count == 66)
  }

  @Test("with the disk held, more tasks than cores wait, and others go on")
  func cooperation() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    files.shut()
    // Writes, and the calls that wait for them: none of them may occupy a thread that tasks run on.
    let count = 4 * ProcessInfo.processInfo.activeProcessorCount
    let writers = (0..<count).map { id in
      Task { try await records.add(Record(id: id, title: "t")) }
    }
    let flushes = (0..<count).map { _ in Task { try await store.run { try $0.flush() } } }
    await until { files.held == 1 }
    // A ring of tasks passes a token on: each step needs a thread.
    var token = 0
    for _ in 0..<1_000 {
      let next = token + 1
      token = await Task.detached { next }.value
    }
    #expect(token == 1_000 && files.held == 1)
    files.open()
    for writer in writers { #expect(try await writer.value) }
    for flush in flushes { try await flush.value }
    #expect(records.count == count + 1)
  }

  @Test("a failed fdatasync reaches every task whose commit was in the batch, and those behind it")
  func failedSync() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    files.shut()
    files.failNext(.synchronizeData, code: EIO)
    let writers = (0..<8).map { id in
      Task { await failure { try await records.add(Record(id: id, title: "t")) }?.code }
    }
    await until { files.held == 1 }
    files.open()
    for writer in writers { #expect(await writer.value == .outcomeUnknown) }
    #expect(records.list().map(\.id) == [-1])
    #expect(await failure { try await store.run { try $0.flush() } }?.code == .outcomeUnknown)
  }

  @Test(
    "while the flush of a lease is under way, buffered commits are acknowledged, and durable ones wait for it",
    .timeLimit(.minutes(1)))
  func flushBeside() async throws {
    let store = try open { $0.durability = .buffered }
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    files.shut()
    try await records.add(Record(id: -2, title: "second"))
    await until { files.held == 1 }
    let before = files.synchronizations
    for id in 0..<100 { try await records.add(Record(id: id, title: "t")) }
    #expect(records.count == 102)
    let durable = Task {
      try await store.write(durability: .durable) { try records.add(Record(id: 200, title: "t")) }
    }
    let flush = Task { try await store.run { try $0.flush() } }
    for _ in 0..<1_000 { await Task.yield() }
    // However far both have come: one fdatasync is under way, and no second.
    #expect(files.held == 1 && files.synchronizations == before)
    files.open()
    #expect(try await durable.value)
    try await flush.value
    #expect(records.count == 103)
    #expect(try store.allCommits().count == 103)
  }

  @Test("a flush beside writers that fails is said at the next write", .timeLimit(.minutes(1)))
  func failedFlushBeside() async throws {
    let store = try open { $0.durability = .buffered }
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    try store.flush()
    files.shut()
    files.failNext(.synchronizeData, code: EIO)
    try await records.add(Record(id: -2, title: "second"))
    await until { files.held == 1 }
    try await records.add(Record(id: -3, title: "third"))
    files.open()
    #expect(await failure { try await store.run { try $0.flush() } }?.code == .outcomeUnknown)
    #expect(await failure { try records.add(Record(id: -4, title: "fourth")) }?.code == .outcomeUnknown)
    #expect(records.count == 3)
    #expect(await failure { try store.close() }?.code == .outcomeUnknown)
  }

  @Test("a task that is cancelled before its commit stands in line writes nothing")
  func cancelledBefore() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    files.shut()
    let ahead = Task { try await records.add(Record(id: 0, title: "ahead")) }
    await until { files.held == 1 }
    let ran = Atomic(false)
    let cancelled = Task {
      await failure {
        try await store.write {
          ran.store(true, ordering: .relaxed)
          try records.add(Record(id: 1, title: "cancelled"))
        }
      }
    }
    let behind = Task { try await records.add(Record(id: 2, title: "behind")) }
    await until { store.asyncWrites.waitingCount == 2 }
    cancelled.cancel()
    files.open()
    #expect(await cancelled.value?.code == .cancelled)
    #expect(try await ahead.value)
    #expect(try await behind.value)
    #expect(!ran.load(ordering: .relaxed) && records.list(order: .byID).map(\.id).sorted() == [-1, 0, 2])
    #expect(try store.allCommits().count == 3)
  }

  @Test("a task that was cancelled before it asks writes nothing")
  func cancelledAtOnce() async throws {
    let store = try open()
    let records = try store.records
    let task = Task {
      await until { Task.isCancelled }
      return await failure { try await records.add(Record(id: 1, title: "a")) }
    }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(try store.allCommits().isEmpty)
  }

  @Test("a task that is cancelled while its closure runs writes nothing of it")
  func cancelledWhileDrafting() async throws {
    let store = try open()
    let records = try store.records
    let cancelling = Mutex<Task<HeartlogError?, Never>?>(nil)
    let isStored = Atomic(false)
    let task = Task {
      await failure {
        try await store.write {
          try records.add(Record(id: 1, title: "a"))
          while !isStored.load(ordering: .acquiring) { sched_yield() }
          cancelling.withLock { $0?.cancel() }
        }
      }
    }
    cancelling.withLock { $0 = task }
    isStored.store(true, ordering: .releasing)
    #expect(await task.value?.code == .cancelled)
    #expect(try !records.contains(1) && store.allCommits().isEmpty)
    #expect(try await records.add(Record(id: 2, title: "b")))
    #expect(try store.allCommits().map(\.number.rawValue) == [1])
  }

  @Test("a task that is cancelled when its commit stands in line hears what became of it")
  func cancelledAfter() async throws {
    let store = try open()
    let records = try store.records
    try await records.add(Record(id: -1, title: "first"))
    for isFailing in [false, true] {
      files.shut()
      let task = Task {
        await failure { try await records.add(Record(id: isFailing ? 2 : 1, title: "t")) }?.code
      }
      await until { files.held == 1 }
      task.cancel()
      if isFailing { files.failNext(.synchronizeData, code: EIO) }
      files.open()
      #expect(await task.value == (isFailing ? .outcomeUnknown : nil))
    }
    #expect(records.list().map(\.id).sorted() == [-1, 1])
  }

  @Test("threads that block and tasks that await write to one store together")
  func mixed() async throws {
    let store = try open()
    let library = try store.library("papers")
    async let blocking: Void = withCheckedContinuation { continuation in
      Thread.detachNewThread {
        for index in 0..<200 {
          do { try library.add("thread-\(index)") } catch { Issue.record(error) }
        }
        continuation.resume()
      }
    }
    for index in 0..<200 {
      if index % 50 == 0 { try await store.run { try $0.seal() } }
      try await store.write { try library.add("task-\(index)") }
    }
    await blocking
    #expect(library.counts.favorites == 400)
    #expect(try store.state().digest == store.digest)
  }
}

/// The error that `body` fails with, nil where it does not fail.
private func failure(_ body: () async throws -> some Any) async -> HeartlogError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? HeartlogError ?? HeartlogError(.invalid, "another error: \(error)")
  }
}
