import HeartlogCrashModel
import Foundation
import HeartlogFiles
import Testing

@testable import Heartlog

@Suite("One write, one commit")
struct WriteTests {
  private let test = TestStore()

  @Test("all that a closure writes is one commit with one stamp, one time and one origin")
  func oneCommit() throws {
    let store = try test.open { $0.origin = "app" }
    let records = try store.records
    let result = try store.write(origin: "import:test") {
      try records.add(Record(id: 1, title: "a"))
      try records.add(Record(id: 2, title: "b"))
      return try records.remove(1)
    }
    #expect(result)
    let commits = try store.allCommits()
    #expect(commits.count == 1 && commits[0].records.count == 3)
    #expect(commits[0].origin == "import:test" && commits[0].wallTime == test.clock.now)
    #expect(records.list().map(\.id) == [2])
    try records.add(Record(id: 3, title: "c"))
    #expect(try store.allCommits().last?.origin == "app")
  }

  @Test("inside of the closure its own changes show; outside they show when it is done")
  func isolation() throws {
    let store = try test.open()
    let records = try store.records
    try store.write {
      try records.add(Record(id: 1, title: "a"))
      #expect(records.contains(1))
      #expect(try records.toggle(Record(id: 1, title: "a")) == false)
      #expect(try records.toggle(Record(id: 1, title: "z")) == true)
      #expect(try records.item(1)?.title == "z")
      try records.add(Record(id: 0, title: "b"))
      #expect(records.list(order: .byID).map(\.id) == [0, 1] && records.list(limit: 1).map(\.id) == [0])
      #expect(store.read { $0.isFavorite("1", in: "records") } == false)
    }
    #expect(records.contains(1))
  }

  @Test("a library that is reserved for the store can be read and not written")
  func reservedLibrary() throws {
    let store = try test.open()
    let library = try store.library("heartlog.vault")
    let field = Field(name: "number", value: .int64(1))
    for write in [
      { try library.add("1") }, { try library.toggle("1") }, { try library.remove("1") },
      { try library.set([field], of: "1") }, { try store.write { try library.set([field], of: "1") } },
    ] as [() throws -> Any] {
      let error = #expect(throws: HeartlogError.self) { _ = try write() }
      #expect(error?.code == .invalid && error?.message.contains("reserved for the store") == true)
    }
    #expect(try library.items().isEmpty && store.allCommits().isEmpty)
    _ = try store.library("heartlogs").add("1")
  }

  @Test("a closure that throws writes nothing, and its error comes through")
  func throwing() throws {
    struct Oops: Error {}
    let store = try test.open()
    let records = try store.records
    #expect(throws: Oops.self) {
      try store.write {
        try records.add(Record(id: 1, title: "a"))
        throw Oops()
      }
    }
    #expect(!records.contains(1))
    #expect(try store.allCommits().isEmpty)
    try records.add(Record(id: 2, title: "b"))
    #expect(try store.allCommits().map(\.number.rawValue) == [1])
  }

  @Test("a write inside of a write is part of it")
  func nesting() throws {
    let store = try test.open()
    let records = try store.records
    try store.write {
      try records.add(Record(id: 1, title: "a"))
      try store.write { try records.add(Record(id: 2, title: "b")) }
    }
    #expect(try store.allCommits().count == 1)
    #expect(records.count == 2)
  }

  @Test("flush, refresh and seal inside of a write are refused, and do not hang")
  func misuse() throws {
    let store = try test.open()
    try store.write {
      #expect(throws: HeartlogError.self) { try store.flush() }
      #expect(throws: HeartlogError.self) { try store.refresh() }
      #expect(throws: HeartlogError.self) { try store.seal() }
    }
  }

  @Test("a favorited date that equals the commit's time is not written twice")
  func normalisedDate() throws {
    let store = try test.open()
    let library = try store.library("papers")
    try library.add("a", favoritedDate: test.clock.now)
    try library.add("b", favoritedDate: -1)
    let events = try store.allCommits().flatMap(\.records).compactMap(\.event)
    #expect(events.map(\.favoritedDate) == [nil, -1])
    #expect(library.item("a")?.favoritedDate == test.clock.now && library.item("b")?.favoritedDate == -1)
  }

  @Test("the stamp rises even where the clock goes backwards; the wall time says what the clock said")
  func backwardsClock() throws {
    let store = try test.open()
    let library = try store.library("papers")
    try library.add("a")
    test.clock.now -= 60_000
    try library.add("b")
    let commits = try store.allCommits()
    #expect(commits[0].stamp < commits[1].stamp && commits[1].wallTime == test.clock.now)
    #expect(library.favorites().map(\.id) == ["a", "b"])
  }

  @Test("a time before 1970 is refused")
  func early() throws {
    let store = try test.open()
    #expect(throws: HeartlogError.self) { try store.write(time: -1) { try store.library("a").add("b") } }
    #expect(store.read { $0.commitCount } == 0)
    try store.write(time: 0) { try store.library("a").add("b") }
  }

  @Test("a failed fsync says that the outcome is unknown; reopening shows whole commits only")
  func failedFsync() throws {
    let store = try test.open()
    let library = try store.library("papers")
    try library.add("a")
    test.files.failNext(.synchronizeData, onPathSuffix: ".open", after: 0, code: 5, partialBytes: nil)
    let error = #expect(throws: HeartlogError.self) { try library.add("b") }
    #expect(error?.code == .outcomeUnknown)
    #expect(!library.contains("b"), "readers see what was acknowledged")
    #expect(throws: HeartlogError.self) { try library.add("c") }
    #expect(library.contains("a"))

    let again = try test.open()
    let reopened = try again.library("papers")
    #expect(reopened.contains("a"))
    try reopened.add("d")
    #expect(
      try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil).streams.allSatisfy {
        $0.finding == nil
      })
  }

  @Test("a full disk refuses the write, loses nothing, and the next one succeeds")
  func fullDisk() throws {
    let store = try test.open()
    let library = try store.library("papers")
    try library.add("a")
    test.files.failNext(.write, onPathSuffix: ".open", after: 0, code: 28, partialBytes: 30)
    let error = #expect(throws: HeartlogError.self) { try library.add("b") }
    #expect(error?.code == .diskFull && !library.contains("b"))
    try library.add("c")
    let again = try test.open().library("papers")
    #expect(again.favorites(order: .byID).map(\.id) == ["a", "c"])
  }

  @Test("sixteen threads toggle their own items and one in common: each acknowledged toggle is an event")
  func threads() async throws {
    let store = try test.open()
    let library = try store.library("papers")
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<16 {
        group.addTask {
          for round in 0..<50 {
            do {
              try library.toggle("common")
              try library.add("\(thread)-\(round)")
            } catch {
              Issue.record(error)
            }
          }
        }
      }
    }
    #expect(!library.contains("common"), "an even number of toggles")
    #expect(library.counts.favorites == 800)
    let commits = try store.allCommits()
    #expect(commits.count == 1_600)
    let toggles = commits.compactMap { $0.records.first?.event }.filter { $0.item == "common" }
    #expect(toggles.map(\.action) == (0..<800).map { .toggled(on: $0 % 2 == 0) })
    #expect(try store.state().digest == store.digest)
  }
}
