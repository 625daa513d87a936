import Heartlog

extension Moment {
  /// Resolves the moment in a store: replaces the prefix of an event's replica by the full id.
  func resolved(in store: FavoritesStore) throws -> LogMoment {
    switch self {
    case .time, .day: return .milliseconds(last ?? 0)
    case .event(let prefix, let sequence):
      let replica = try Self.replica(prefix, among: try store.status().replicas.map { ($0.id, $0.name) })
      return .event(EventID(replica: replica, sequence: sequence))
    }
  }

  /// The one replica whose id begins with `prefix`.
  static func replica(
    _ prefix: String, among replicas: [(id: ReplicaID, name: String)]
  ) throws(CommandError) -> ReplicaID {
    let found = replicas.filter { $0.id.description.hasPrefix(prefix) }
    guard let first = found.first else {
      throw CommandError(
        .no, "no replica has an id that begins with \(Quoted(prefix))",
        hint: "\"heartlog status\" lists them.")
    }
    guard found.count == 1 else {
      throw .usage("several replicas have ids that begin with \(Quoted(prefix))", hint: "Give more digits.")
    }
    return first.id
  }
}
