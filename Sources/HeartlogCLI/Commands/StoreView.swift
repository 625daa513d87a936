import Heartlog

/// A store as commands read it: as it is now, or as of a moment.
struct StoreView {
  let store: FavoritesStore
  /// nil for now.
  let moment: PastMoment?
  private let past: (state: FavoritesState, findings: [Finding])?

  /// The store as it is now.
  init(now store: FavoritesStore) {
    self.store = store
    moment = nil
    past = nil
  }

  /// The store as the log produces it, up to a moment or to its end.
  init(replaying store: FavoritesStore, upTo moment: PastMoment?, progress: LogProgress?) throws {
    let replayed = try store.replay(upTo: moment?.inLog, progress: progress)
    self.store = store
    self.moment = moment
    past = replayed
  }

  /// The damage of what was read so far: that of a snapshot may be found only when a page of it is read.
  var findings: [Finding] { past?.findings ?? store.findings }

  /// Reads the state. `body` may run twice, and must not keep the state.
  func read<R>(_ body: (FavoritesState) -> R) -> R { past.map { body($0.state) } ?? store.read(body) }

  func status() throws -> StoreStatus { try store.status(of: past?.state) }
}

/// A WHEN whose replica was looked up in a store.
struct PastMoment {
  /// As it was given.
  let given: Moment
  let inLog: LogMoment
}

extension CommandContext {
  /// Opens the store for reading, as of a moment or as it is now.
  func openForReading(at moment: Moment?) throws -> StoreView {
    try view(of: try openForReading(), at: moment)
  }

  /// A store as of a moment or as it is now.
  func view(of store: FavoritesStore, at moment: Moment?) throws -> StoreView {
    guard let moment else { return StoreView(now: store) }
    return try replayed(
      store, upTo: PastMoment(given: moment, inLog: try moment.resolved(in: store)))
  }

  /// A store as its log produces it, up to a moment or to its end.
  func replayed(_ store: FavoritesStore, upTo moment: PastMoment? = nil) throws -> StoreView {
    try withByteProgress("replaying") { try StoreView(replaying: store, upTo: moment, progress: $0) }
  }

  /// Prints as of which moment the lines below are; nothing if they are as of now.
  func lineWithMoment(_ moment: PastMoment?) throws {
    if let sentence = sentence(of: moment) { try output.line(sentence) }
  }

  /// `as of the end of 2026-03-05 UTC`; nil for now.
  func sentence(of moment: PastMoment?) -> String? { moment.map { "as of \($0.given.shown(times))" } }
}

extension JSONWriter {
  /// `"asOf"`, unless it is now.
  mutating func asOf(_ moment: PastMoment?) {
    if let moment { member("asOf", moment.inLog.text) }
  }
}

extension LogMoment {
  /// The moment as programs read it; valid as WHEN.
  var text: String {
    switch self {
    case .milliseconds(let time): RFC3339.text(time)
    case .event(let id): "\(id)"
    case .commit(let replica, let number): "\(replica):\(Moment.commitMark)\(number)"
    }
  }
}
