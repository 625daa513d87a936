import Heartlog

/// The rule of docs/merge.md in its plainest form: of all writes of a register, the last one in the total order shows.
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

  private var memberships: [Register: (Place, Bool)] = [:]
  private var fields: [Register: (Place, FieldValue)] = [:]

  mutating func take(_ commit: Commit) {
    for (index, record) in commit.records.enumerated() {
      guard case .event(let event) = record else { continue }
      let place = Place(stamp: commit.stamp, replica: commit.replica, index: index)
      if let isFavorite = event.action.isFavorite {
        let register = Register(library: event.library, item: event.item)
        if memberships[register].map({ $0.0 < place }) ?? true { memberships[register] = (place, isFavorite) }
      }
      for field in event.fields {
        let register = Register(library: event.library, item: event.item, field: field.name)
        if fields[register].map({ $0.0 < place }) ?? true { fields[register] = (place, field.value) }
      }
    }
  }

  /// The ids of a library's favorites.
  func favorites(in library: String) -> Set<String> {
    Set(memberships.filter { $0.key.library == library && $0.value.1 }.map(\.key.item))
  }

  /// The value of a field; null if it has none.
  func value(of field: String, item: String, in library: String) -> FieldValue {
    fields[Register(library: library, item: item, field: field)]?.1 ?? .null
  }
}
