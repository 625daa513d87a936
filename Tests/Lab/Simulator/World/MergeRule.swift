import Heartlog

/// The rules of docs/merge.md in their plainest form: of all writes of a register, the last one in the total order shows, and those that
/// no later writer had seen are in conflict.
struct MergeRule {
  private struct Place: Comparable {
    var stamp: HybridTimestamp
    var replica: ReplicaID
    var index: Int

    static func < (a: Place, b: Place) -> Bool {
      (a.stamp, a.replica, a.index) < (b.stamp, b.replica, b.index)
    }
  }

  private struct Register: Hashable {
    var library: String
    var item: String
    /// Nil for the membership.
    var field: String?
  }

  private enum Value: Equatable {
    /// With the date, if it is a favorite.
    case membership(Milliseconds?)
    case field(FieldValue)

    /// Two devices that both made the item a favorite agree, whatever the dates.
    func agrees(with other: Value) -> Bool {
      if case .membership(let date) = self, case .membership(let otherDate) = other {
        return (date == nil) == (otherDate == nil)
      }
      return self == other
    }
  }

  private struct Write {
    var place: Place
    var commit: CommitNumber
    var event: EventID
    var value: Value
    var isQuiet: Bool
  }

  /// A commit that was read: its stamp, and the last commits that its writer had seen of other streams.
  private struct Known {
    var stamp: HybridTimestamp
    var seen: [ReplicaID: CommitNumber]
  }

  private var writes: [Register: [Write]] = [:]
  private var known: [ReplicaID: [CommitNumber: Known]] = [:]

  /// Takes the next commit of a log in its total order.
  mutating func take(_ commit: Commit) throws(Violation) {
    var seen: [ReplicaID: CommitNumber] = [:]
    if let previous = known[commit.replica]?[CommitNumber(rawValue: commit.number.rawValue - 1)] {
      seen = previous.seen
      guard previous.stamp < commit.stamp else {
        throw Violation("commit \(commit.number) of \(commit.replica) is not later than the one before it")
      }
    }
    for head in commit.heads {
      seen[head.replica] = max(seen[head.replica] ?? head.commit, head.commit)
      // Of a stream that ends earlier here, what is there was seen as well.
      let there = known[head.replica] ?? [:]
      let last = min(head.commit, CommitNumber(rawValue: UInt64(there.count)))
      guard let other = there[last] else { continue }
      guard other.stamp < commit.stamp else {
        throw Violation(
          "commit \(commit.number) of \(commit.replica) is not later than what its writer had seen")
      }
      seen.merge(other.seen) { max($0, $1) }
    }
    seen[commit.replica] = nil
    known[commit.replica, default: [:]][commit.number] = Known(stamp: commit.stamp, seen: seen)
    for (index, record) in commit.records.enumerated() {
      guard case .event(let event) = record else { continue }
      func add(_ value: Value, to field: String?, isQuiet: Bool) {
        writes[Register(library: event.library, item: event.item, field: field), default: []].append(
          Write(
            place: Place(stamp: commit.stamp, replica: commit.replica, index: index), commit: commit.number,
            event: commit.eventID(at: index), value: value, isQuiet: isQuiet))
      }
      if let isFavorite = event.action.isFavorite {
        let date = event.favoritedDate ?? commit.wallTime
        add(.membership(isFavorite ? date : nil), to: nil, isQuiet: false)
      }
      for field in event.fields { add(.field(field.value), to: field.name, isQuiet: field.isQuiet) }
    }
  }

  private func shown(_ register: Register) -> Value? { writes[register]?.max { $0.place < $1.place }?.value }

  /// A library's favorites, each with its date.
  func favorites(in library: String) -> [String: Milliseconds] {
    var favorites: [String: Milliseconds] = [:]
    for register in writes.keys where register.library == library && register.field == nil {
      if case .membership(let date) = shown(register) { favorites[register.item] = date }
    }
    return favorites
  }

  /// The value of a field; null if it has none.
  func value(of field: String, item: String, in library: String) -> FieldValue {
    if case .field(let value) = shown(Register(library: library, item: item, field: field)) {
      value
    } else {
      .null
    }
  }

  /// Whether the writer of a commit had seen what another device had written up to a head.
  func hadSeen(_ head: Head, when replica: ReplicaID, wrote commit: CommitNumber) -> Bool {
    guard let seen = known[replica]?[commit]?.seen, head.replica != replica else { return true }
    return seen[head.replica].map { $0 >= head.commit } ?? false
  }

  /// The sides of each open conflict.
  var conflicts: Set<Set<EventID>> {
    var found: Set<Set<EventID>> = []
    for list in writes.values {
      // What a superseded write had seen, the superseding one has seen as well.
      var kept: [Write] = []
      for write in list.sorted(by: { $0.place > $1.place }) {
        let head = Head(replica: write.place.replica, commit: write.commit)
        if !kept.contains(where: { hadSeen(head, when: $0.place.replica, wrote: $0.commit) }) {
          kept.append(write)
        }
      }
      kept.removeAll(where: \.isQuiet)
      if kept.contains(where: { !$0.value.agrees(with: kept[0].value) }) {
        found.insert(Set(kept.map(\.event)))
      }
    }
    return found
  }
}
