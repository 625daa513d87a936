import HeartlogFormat
import HeartlogState

/// Conflicts by their definition: every write of a register against every other.
extension NaiveModel {
  private struct Write {
    let commit: Commit
    let position: EventPosition
    let value: Conflict.Value
    let isQuiet: Bool
  }

  private struct Key: Hashable {
    let library: Bytes
    let item: Bytes
    /// nil for the membership.
    let field: Bytes?
  }

  /// - Parameter commits: in any order, with repetitions.
  static func conflicts(in commits: [Commit]) -> [Conflict] {
    var noted: Set<Head> = []
    let commits = commits.filter { noted.insert(Head(replica: $0.replica, commit: $0.number)).inserted }
    var writes: [Key: [Write]] = [:]
    for commit in commits {
      for (index, record) in commit.records.enumerated() {
        guard let event = record.event else { continue }
        let id = commit.eventID(at: index)
        let position = EventPosition(stamp: commit.stamp, replica: id.replica, sequence: id.sequence)
        func add(_ field: String?, _ value: Conflict.Value, isQuiet: Bool) {
          let key = Key(library: Bytes(event.library), item: Bytes(event.item), field: field.map(Bytes.init))
          writes[key, default: []].append(
            Write(commit: commit, position: position, value: value, isQuiet: isQuiet))
        }
        if let isFavorite = event.action.isFavorite {
          let date = event.favoritedDate ?? commit.wallTime
          add(nil, .membership(isFavorite: isFavorite, favoritedDate: date), isQuiet: false)
        }
        for field in event.fields { add(field.name, .field(field.value), isQuiet: field.isQuiet) }
      }
    }
    let seen = SeenByCommit(commits)
    var conflicts: [(key: Key, conflict: Conflict)] = []
    for (key, all) in writes {
      let open = all.filter { write in
        !write.isQuiet
          && !all.contains { other in
            other.position > write.position && seen.contains(write.commit, seenBy: other.commit)
          }
      }.sorted { $0.position > $1.position }
      let values = Set(
        open.map { write -> Conflict.Value in
          if case .membership(let isFavorite, _) = write.value {
            return .membership(isFavorite: isFavorite, favoritedDate: 0)
          }
          return write.value
        })
      guard values.count > 1 else { continue }
      conflicts.append(
        (
          key,
          Conflict(
            library: key.library.text, item: key.item.text,
            register: key.field.map { .field($0.text) } ?? .membership,
            writes: open.map { Conflict.Write(position: $0.position, value: $0.value) })
        ))
    }
    return conflicts.sorted { a, b in
      for (a, b) in [
        (a.key.library.bytes, b.key.library.bytes), (a.key.item.bytes, b.key.item.bytes),
        (a.key.field?.bytes ?? [], b.key.field?.bytes ?? []),
      ] where a != b {
        return a.lexicographicallyPrecedes(b)
      }
      return false
    }.map(\.conflict)
  }

  /// Which commits were seen when one was written, through whatever others.
  private struct SeenByCommit {
    private let commits: [ReplicaID: [Commit]]

    init(_ commits: [Commit]) { self.commits = Dictionary(grouping: commits, by: \.replica) }

    func contains(_ earlier: Commit, seenBy commit: Commit) -> Bool {
      var known: [ReplicaID: UInt64] = [commit.replica: commit.number.rawValue]
      var before: [ReplicaID: UInt64] = [:]
      while known != before {
        before = known
        for (replica, number) in before {
          for commit in commits[replica] ?? [] where commit.number.rawValue <= number {
            for head in commit.heads {
              known[head.replica] = max(known[head.replica] ?? 0, head.commit.rawValue)
            }
          }
        }
      }
      return known[earlier.replica] ?? 0 >= earlier.number.rawValue
    }
  }
}
