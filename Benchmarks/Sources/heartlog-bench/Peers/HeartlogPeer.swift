import Heartlog

/// Heartlog by its public calls: papers and books, by id and fields.
final class HeartlogPeer: Peer {
  let store: FavoritesStore
  let papers: FavoritesLibrary
  private let books: FavoritesLibrary
  private let steps: [Trace.Step]

  init(
    _ folder: String, _ trace: Trace, _ waiting: Waiting, snapshots: SnapshotPolicy = .automatic
  ) throws {
    var options = StoreOptions()
    options.snapshots = snapshots
    options.durability = waiting == .durable ? .durable : .buffered
    store = try FavoritesStore(at: folder + "/favorites.heartlog", options: options)
    papers = try store.library("papers")
    books = try store.library("books")
    steps = trace.steps
  }

  func connection() -> any Peer { self }

  func commit(_ places: Range<Int>) throws {
    if places.count == 1 { return try perform(steps[places.lowerBound]) }
    try store.write {
      for place in places { try perform(steps[place]) }
    }
  }

  /// Writes each operation as a commit of the time that the trace says, as if it had been done then.
  func commitAtTheirTimes(_ places: Range<Int>) throws {
    for place in places {
      try store.write(time: steps[place].time) { try perform(steps[place]) }
    }
  }

  private func perform(_ step: Trace.Step) throws {
    switch step.deed {
    case .add(let fields): try papers.add(step.id, fields: fields)
    case .toggle: try papers.toggle(step.id)
    case .remove: try papers.remove(step.id)
    case .position(let value): try books.set([Self.position(value)], of: step.id)
    }
  }

  func commitAwaited(_ place: Int) async throws {
    let step = steps[place]
    switch step.deed {
    case .add(let fields): try await store.write { [papers] in try papers.add(step.id, fields: fields) }
    case .toggle: try await store.write { [papers] in try papers.toggle(step.id) }
    case .remove: try await store.write { [papers] in try papers.remove(step.id) }
    case .position(let value):
      try await store.write { [books] in try books.set([Self.position(value)], of: step.id) }
    }
  }

  private static func position(_ value: FieldValue) -> Field {
    Field(name: "currentPosition", value: value, isQuiet: true)
  }

  func isFavorite(_ place: Int) -> Bool { papers.contains(steps[place].id) }
  func item(_ place: Int) -> Int { papers.item(steps[place].id)?.fields.count ?? 0 }

  func page(_ limit: Int) -> Int {
    papers.favorites(limit: limit).count { !$0.fields.isEmpty }
  }

  func favoriteCount() -> Int? { papers.counts.favorites }
  func flush() throws { try store.flush() }
  func compact() throws { try store.seal() }
  func close() throws { try store.close() }
}
