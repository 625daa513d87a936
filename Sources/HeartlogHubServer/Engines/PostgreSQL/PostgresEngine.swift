import Heartlog
import HeartlogHub
import HeartlogFormat

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Keeps the vaults of hubs in a PostgreSQL database. Several hubs may use one.
final class PostgresEngine: HubEngine {
  private let readers: PostgresConnections
  private let writers: [PostgresWriter]
  private let writerConnections: [PostgresConnections]
  private let notices: PostgresNotices
  let sessions: any SessionStore

  /// The writers, each with the vaults of its shard. Two make the best of a disk, if they take no processor from each other: on two, one
  /// writer stores 21,000 objects a second and two 17,000.
  private static let writerCount = sysconf(Int32(_SC_NPROCESSORS_ONLN)) >= 4 ? 2 : 1
  /// The most bytes of an object that is read with the same statement that finds it.
  private static let smallBytesMax: Int32 = 65_536

  /// Connects to a database, and makes or migrates its schema.
  ///
  /// - Parameter address: What `psql` takes, for example `postgresql://user@host/database`.
  init(_ address: String, quotaBytes: Int) throws(HeartlogError) {
    let readers = PostgresConnections(address, idleMax: 4)
    self.readers = readers
    sessions = PostgresSessions(readers)
    let notices = PostgresNotices(address)
    self.notices = notices
    let connections = (0..<Self.writerCount).map { _ in PostgresConnections(address, idleMax: 1) }
    writerConnections = connections
    writers = connections.map { connections in
      PostgresWriter(connections, quotaBytes: quotaBytes) { notices.send($0) }
    }
    try readers.use { (connection) throws(HeartlogError) in
      try connection.migrate()
      // The table that tells a restored database from what it was may be new.
      connection.close()
    }
  }

  func check() throws(HeartlogError) {
    let rows = try readers.use { (connection) throws(HeartlogError) in try connection.run(.check) }
    guard rows.count == 1 else { throw HeartlogError(.readOnly, "the database is a standby") }
  }

  func vaultCount() throws(HeartlogError) -> Int {
    let rows = try readers.use { (connection) throws(HeartlogError) in try connection.run(.vaultCount) }
    return Int(try rows.integer(0, 0))
  }

  func isAdmitted(_ key: PublicKey, to vault: VaultID) throws(HeartlogError) -> Bool {
    let rows = try readers.use { (connection) throws(HeartlogError) in
      try connection.run(.isAdmitted, [.uuid(vault.bytes), .uuid(key.replica.bytes)])
    }
    return rows.count == 1
  }

  func createVault(
    _ vault: VaultID, keys: AdmittedKeys, invitation: String?
  ) throws(HeartlogError) -> VaultCreation {
    let digest = invitation.map { SHA256Hasher.digest(of: Array($0.utf8)).bytes }
    let rows = try readers.use { (connection) throws(HeartlogError) in
      try connection.run(
        .createVault,
        [.uuid(vault.bytes), .int64(.random(in: .min ... .max))] + Self.values(keys)
          + [digest.map { .bytes($0) } ?? .null])
    }
    return switch try rows.integer(0, 0) {
    case 0: .created
    case 1: .exists
    default: .invitationUsed
    }
  }

  func removeVault(_ vault: VaultID) throws(HeartlogError) -> Bool {
    let rows = try readers.use { (connection) throws(HeartlogError) in
      try connection.run(.removeVault, [.uuid(vault.bytes)])
    }
    return try rows.integer(0, 0) == 1
  }

  func keys(of vault: VaultID) throws(HeartlogError) -> AdmittedKeys? {
    let rows = try readers.use { (connection) throws(HeartlogError) in
      try connection.run(.keys, [.uuid(vault.bytes)])
    }
    var (keys, root, removed): ([PublicKey], VaultRoot?, [ReplicaID]) = ([], nil, [])
    for row in rows.indices {
      let bytes = try rows.bytes(row, 0)
      switch try rows.integer(row, 1) {
      case 0: keys += PublicKey(bytes: bytes).map { [$0] } ?? []
      case 1: root = VaultRoot(bytes: bytes)
      default: removed += ReplicaID(bytes: bytes).map { [$0] } ?? []
      }
    }
    return keys.isEmpty ? nil : AdmittedKeys(keys, root: root, removed: removed)
  }

  func changeKeys(
    as member: VaultMember, _ change: @escaping @Sendable (AdmittedKeys) -> Result<KeyChange?, KeyRefusal>
  ) throws(HeartlogError) -> Result<AdmittedKeys, KeyRefusal> {
    for _ in 0..<Self.attempts {
      guard let before = try keys(of: member.vault), before.keys.contains(member.key) else {
        throw VaultMember.notAdmitted
      }
      let decision = change(before)
      guard case .success(let change?) = decision else { return decision.map { _ in before } }
      let gone = change.gone.sorted { $0.key < $1.key }
      let parameters: [PostgresValue] =
        [
          .uuid(member.vault.bytes), .array(.bytes, before.keys.map(\.bytes)), Self.state(of: before),
          .array(.uuid, before.removed.map(\.bytes)),
        ] + Self.values(change.after) + [
          .array(.uuid, gone.map(\.key.bytes)), .array(.text, gone.map { Self.digits($0.value) }),
          .array(.bytes, change.ended.map(\.bytes)),
        ]
      let rows = try readers.use { (connection) throws(HeartlogError) in
        try connection.run(.changeKeys, parameters)
      }
      guard try rows.integer(0, 0) == 1 else { continue }
      try sessions.end(Array(change.ended), of: member.vault)
      return .success(change.after)
    }
    throw HeartlogError(.locked, "others change the keys of this vault at the same time")
  }

  /// How often a change of keys is tried while other hubs make others.
  private static let attempts = 10

  private static func state(of admitted: AdmittedKeys) -> PostgresValue {
    admitted.root.map { .bytes($0.bytes) } ?? .null
  }

  /// The keys, their owners, the root, its owner, who was removed, and whether members share the quota.
  private static func values(_ admitted: AdmittedKeys) -> [PostgresValue] {
    [
      .array(.bytes, admitted.keys.map(\.bytes)), .array(.uuid, admitted.keys.map(\.replica.bytes)),
      state(of: admitted), admitted.root.map { .uuid($0.key.replica.bytes) } ?? .null,
      .array(.uuid, admitted.removed.map(\.bytes)), .bool(admitted.isShared),
    ]
  }

  /// A commit as names have it.
  private static func digits(_ number: UInt64) -> [UInt8] {
    let digits = String(number)
    return Array((String(repeating: "0", count: max(0, 16 - digits.count)) + digits).utf8)
  }

  func list(after cursor: String?, limit: Int, as member: VaultMember) throws(HeartlogError) -> HubList {
    let after = try ChangeCursor.sent(cursor)
    return try readers.use { (connection) throws(HeartlogError) in
      let vault = member.vault
      let position = try connection.run(.position, [.uuid(vault.bytes), .uuid(member.owner.bytes)])
      guard position.count == 1 else { throw VaultMember.notAdmitted }
      let generation = Self.generation(try position.integer(0, 0), of: connection.history)
      // What has this number or a lower one is visible to the statement that follows.
      let change = UInt64(try position.integer(0, 1))
      let isKnown = after?.isKnown(generation: generation, last: change) ?? true
      let start = isKnown ? after?.number ?? 0 : 0
      let rows = try connection.run(
        .list, [.uuid(vault.bytes), .int64(Int64(start)), .int32(Int32(limit))])
      var entries: [HubList.Entry] = []
      var last = change
      for row in rows.indices {
        entries.append(
          HubList.Entry(name: try rows.text(row, 0), byteCount: Int(try rows.integer(row, 1))))
        last = UInt64(try rows.integer(row, 2))
      }
      let hasMore = entries.count == limit && last < change
      let head = max(last, change)
      return HubList(
        entries: entries,
        cursor: ChangeCursor(generation: generation, number: hasMore ? last : head).description,
        head: ChangeCursor(generation: generation, number: head).description, startsOver: !isKnown,
        hasMore: hasMore)
    }
  }

  func get(
    _ name: String, as member: VaultMember, admits: (_ byteCount: Int) -> Bool
  ) throws(HeartlogError) -> GetOutcome {
    let key: [PostgresValue] = [.uuid(member.vault.bytes), .uuid(Self.digest(name)), .text(name)]
    return try readers.use { (connection) throws(HeartlogError) in
      let found = try connection.run(.look, key + [.uuid(member.owner.bytes), .int32(Self.smallBytesMax)])
      guard found.count == 1 else { throw VaultMember.notAdmitted }
      if found.isNull(0, 0) { return .missing }
      guard admits(Int(try found.integer(0, 0))) else { return .refused }
      if !found.isNull(0, 1) { return .bytes(try found.bytes(0, 1)) }
      let rows = try connection.run(.get, key)
      return rows.count == 0 ? .missing : .bytes(try rows.bytes(0, 0))
    }
  }

  func put(
    _ name: String, _ bytes: [UInt8], as member: VaultMember,
    done: @escaping @Sendable (Result<PutOutcome, HeartlogError>) -> Void
  ) {
    writer(of: member.vault).add(
      PostgresWriter.Job(member: member, name: name, digest: Self.digest(name), change: .put(bytes, done)))
  }

  func delete(
    _ name: String, as member: VaultMember,
    done: @escaping @Sendable (Result<Void, HeartlogError>) -> Void
  ) {
    writer(of: member.vault).add(
      PostgresWriter.Job(member: member, name: name, digest: Self.digest(name), change: .remove(done)))
  }

  func observe(_ body: @escaping @Sendable (VaultID) -> Void) { notices.listen(body) }

  func close() {
    for writer in writers { writer.close() }
    notices.close()
    for connections in writerConnections { connections.close() }
    readers.close()
  }

  // MARK: - Parts

  private func writer(of vault: VaultID) -> PostgresWriter {
    writers[Int(vault.bytes.last ?? 0) % writers.count]
  }

  /// What an object is found by: 16 bytes for a name of any length.
  private static func digest(_ name: String) -> [UInt8] {
    Array(SHA256Hasher.digest(of: Array(name.utf8)).bytes.prefix(16))
  }

  /// The generation of a vault in one history of the database.
  private static func generation(_ number: Int64, of history: String) -> UInt64 {
    SHA256Hasher.digest(of: Array("\(number)/\(history)".utf8)).bytes.prefix(8).reduce(0) {
      $0 << 8 | UInt64($1)
    }
  }
}
