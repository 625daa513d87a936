import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogFormat

/// What an undo must lead to, in the plainest way: all writes of all registers in the total order, and what they show if some events had
/// never been written.
struct UndoModel {
  struct Register: Hashable {
    let library: [UInt8]
    let item: [UInt8]
    /// Nil for the membership.
    let field: [UInt8]?
  }

  struct Write {
    let event: EventID
    let value: Conflict.Value
  }

  let commits: [Commit]
  private(set) var writes: [Register: [Write]] = [:]

  init(_ store: FavoritesStore) throws {
    commits = try store.allCommits()
    for commit in commits {
      for (index, record) in commit.records.enumerated() {
        guard let event = record.event else { continue }
        let (library, item) = (Array(event.library.utf8), Array(event.item.utf8))
        func note(_ field: String?, _ value: Conflict.Value) {
          writes[Register(library: library, item: item, field: field.map { Array($0.utf8) }), default: []]
            .append(Write(event: commit.eventID(at: index), value: value))
        }
        if let isFavorite = event.action.isFavorite {
          let date = event.favoritedDate ?? commit.wallTime
          note(nil, .membership(isFavorite: isFavorite, favoritedDate: isFavorite ? date : 0))
        }
        for field in event.fields { note(field.name, .field(field.value)) }
      }
    }
  }

  /// Everything visible without these events, by the registers that hold something.
  func visible(without undone: Set<EventID> = []) -> [Register: Conflict.Value] {
    writes.compactMapValues { writes in
      switch writes.last(where: { !undone.contains($0.event) })?.value {
      case nil, .membership(isFavorite: false, _), .field(.null): nil
      case let value: value
      }
    }
  }

  /// The registers that one of the events wrote and that show another one.
  func kept(without undone: Set<EventID>) -> [Register: (undone: EventID, later: EventID)] {
    writes.compactMapValues { writes in
      guard let last = writes.last, !undone.contains(last.event),
        let taken = writes.last(where: { undone.contains($0.event) })
      else { return nil }
      return (taken.event, last.event)
    }
  }

  /// The events of a target, found one by one. The time of a commit is the latest wall time of its stream up to it.
  func events(of target: UndoScope, own: ReplicaID) -> Set<EventID> {
    var found: Set<EventID> = []
    var times: [ReplicaID: Milliseconds] = [:]
    let ownCommits = commits.filter { $0.replica == own }
    for commit in commits {
      times[commit.replica] = max(times[commit.replica] ?? 0, commit.wallTime)
      let time = times[commit.replica] ?? 0
      for (index, record) in commit.records.enumerated() {
        let id = commit.eventID(at: index)
        let isTaken =
          switch target {
          case .events(let ids): ids.contains(id)
          case .commit(let writer, let number):
            commit.replica == writer && commit.number == number
          case .lastCommits(let count): ownCommits.suffix(count).contains { $0.contains(id) }
          case .since(.milliseconds(let first), let library, let replica):
            time >= first && library ?? record.event?.library == record.event?.library
              && replica ?? commit.replica == commit.replica
          case .since(.event(let event), let library, let replica):
            commit.position >= position(of: event)
              && library ?? record.event?.library == record.event?.library
              && replica ?? commit.replica == commit.replica
          case .since(.commit(let writer, let number), let library, let replica):
            commit.position >= position(of: number, by: writer)
              && library ?? record.event?.library == record.event?.library
              && replica ?? commit.replica == commit.replica
          case .after(.milliseconds(let last), let library, _):
            time > last && library ?? record.event?.library == record.event?.library
          case .after(.event(let event), let library, _):
            commit.position > position(of: event)
              && library ?? record.event?.library == record.event?.library
          case .after(.commit(let writer, let number), let library, _):
            commit.position > position(of: number, by: writer)
              && library ?? record.event?.library == record.event?.library
          }
        if isTaken { found.insert(id) }
      }
    }
    return found
  }

  private func position(of event: EventID) -> CommitPosition {
    guard let commit = commits.first(where: { $0.contains(event) }) else {
      preconditionFailure("no \(event)")
    }
    return commit.position
  }

  private func position(of number: CommitNumber, by writer: ReplicaID) -> CommitPosition {
    guard let commit = commits.first(where: { $0.replica == writer && $0.number == number }) else {
      preconditionFailure("no commit \(number) of \(writer)")
    }
    return commit.position
  }
}

extension UndoModel.Register {
  init(_ library: String, _ item: String, _ register: Conflict.Register) {
    let field: [UInt8]? = if case .field(let name) = register { Array(name.utf8) } else { nil }
    self.init(library: Array(library.utf8), item: Array(item.utf8), field: field)
  }
}

extension FavoritesStore {
  /// Everything visible, as `UndoModel` gives it.
  func visible() -> [UndoModel.Register: Conflict.Value] {
    var found: [UndoModel.Register: Conflict.Value] = [:]
    read { state in
      for library in state.libraries {
        for item in state.items(in: library) {
          if let date = item.favoritedDate {
            found[UndoModel.Register(library, item.id, .membership)] =
              .membership(isFavorite: true, favoritedDate: date)
          }
          for field in item.fields {
            found[UndoModel.Register(library, item.id, .field(field.name))] = .field(field.value)
          }
        }
      }
    }
    return found
  }
}

extension Commit {
  /// Returns whether this commit contains the event with that identity.
  func contains(_ id: EventID) -> Bool {
    id.replica == replica && id.sequence >= firstSequence && id.sequence < nextSequence
  }
}
