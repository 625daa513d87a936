import Heartlog

extension Moment {
  /// Resolves the moment: replaces the prefix of a replica by the full id.
  func resolved(among replicas: [(id: ReplicaID, name: String)]) throws(CommandError) -> LogMoment {
    switch self {
    case .time(let span), .day(let span, _): return .milliseconds(span.last)
    case .event(let prefix, let sequence):
      return .event(EventID(replica: try Self.replica(prefix, among: replicas), sequence: sequence))
    case .commit(let prefix, let number):
      return .commit(try Self.replica(prefix, among: replicas), number)
    }
  }

  /// Resolves the moment among the devices of a store.
  func resolved(in store: FavoritesStore) throws(CommandError) -> LogMoment {
    try resolved(among: store.devices.map { ($0.replica, $0.name) })
  }

  /// The identity of an event in a store; nil for a time.
  func eventID(in store: FavoritesStore) throws -> EventID? {
    guard case .event(let prefix, let sequence) = self else { return nil }
    let replica = try Self.replica(prefix, among: store.devices.map { ($0.replica, $0.name) })
    return EventID(replica: replica, sequence: sequence)
  }

  /// The one device with that name, or else the one whose id begins with it.
  static func replica(named text: String, in store: FavoritesStore) throws(CommandError) -> ReplicaID {
    try replica(named: text, among: store.devices.map { ($0.replica, $0.name) })
  }

  static func replica(
    named text: String, among replicas: [(id: ReplicaID, name: String)]
  ) throws(CommandError) -> ReplicaID {
    let named = replicas.filter { !text.isEmpty && $0.name.utf8.elementsEqual(text.utf8) }
    guard named.count <= 1 else {
      throw .usage("several devices are named \(Quoted(text))", hint: "Give the first digits of an id.")
    }
    if let device = named.first { return device.id }
    return try replica(text.lowercased(), among: replicas)
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
