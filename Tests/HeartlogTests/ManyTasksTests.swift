import Foundation
import HeartlogFiles
import Observation
import Testing

@testable import Heartlog

/// Run under the thread sanitizer by `Scripts/test tsan`.
@Suite("Many tasks use one store")
struct ManyTasksTests {
  enum Place: CaseIterable, Sendable {
    case disk, memory
  }

  private static let writers = 14
  private static let rounds = 24

  @MainActor
  @Test(
    "16 tasks, two of them observers: readers, writers and observers agree in the end",
    arguments: Place.allCases)
  func sixteen(_ place: Place) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try place == .disk ? FavoritesStore(at: folder) : .inMemory()
    let records = try store.records
    let changes = records.changes
    let model = FavoritesModel(records)

    // The observers.
    let stream = Task.detached {
      var events = 0
      for await notice in changes { if case .change = notice { events += 1 } }
      return events
    }
    let view = Task {
      for await isDone in Observations({ !model.isLoading && model.items.contains { $0.id == -1 } })
      where isDone { return }
    }

    try await withThrowingTaskGroup { group in
      for writer in 0..<Self.writers {
        group.addTask {
          for round in 0..<Self.rounds { try await Self.use(store, records, writer, round) }
        }
      }
      try await group.waitForAll()
    }
    try await records.add(Record(id: -1, title: "the end"))
    await view.value
    #expect(Set(model.items.map(\.id)) == Set(records.ids))

    #expect(try store.state().digest == store.digest)
    let events = records.library.counts.events
    try await store.run { try $0.close() }
    // There is room for all of them in the stream.
    #expect(await stream.value == Int(events))
  }

  /// One turn of one writer: items of its own, and a few that all of them flip.
  private static func use(
    _ store: FavoritesStore, _ records: Favorites<Record>, _ writer: Int, _ round: Int
  ) async throws {
    let own = Record(id: writer * 1_000 + round, title: "own")
    let shared = Record(id: 100_000 + round % 5, title: "shared by all")
    switch (writer + round) % 8 {
    case 0:
      #expect(try await records.add(own) && records.contains(own.id))
    case 1:
      try await records.toggle(shared)
    case 2:
      #expect(try await records.add(own))
      #expect(try await records.remove(own))
    case 3:
      try await records.toggle(shared)
    case 4:
      try await store.write {
        try records.add(own)
        try records.toggle(shared)
        #expect(records.contains(own.id))
      }
    case 5:
      try await store.write {
        try records.update(Record(id: shared.id, title: "by \(writer)"))
        try records.setNote("round \(round)", of: own.id)
      }
    case 6:
      let listed = records.list(limit: 10)
      let merge = records.merge(into: listed, id: \.id) { _, _, _ in }
      #expect(merge.catalog.count == listed.count)
      _ = try records.query.search("shared").items()
      try store.refresh()
    default:
      try await store.run { try $0.flush() }
      if round == 7 { try await store.run { try $0.seal() } }
      try store.library("taps").toggle("\(writer)")
      let plan = try await store.run { try $0.undo(.since(.milliseconds(0), library: "taps")) }
      try store.undo(.events(plan.events))
      _ = (records.count, records.ids.count, store.digest, store.findings.count)
    }
  }
}
