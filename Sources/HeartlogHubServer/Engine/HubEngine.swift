import HeartlogFiles
import HeartlogFormat
import Synchronization

/// Keeps the vaults of a hub in a database: their keys, their sessions, and their objects by name and by the number of their change. "The hub"
/// in docs/hub.md says what each call promises.
///
/// Calls may come from any thread, and take as long as the database does. What throws `inputOutput` may have been done. What a member asks for
/// is done only while its key is admitted: the same transaction looks. Otherwise it throws `notAdmitted`, also if there is no such vault.
///
/// Whoever changes a vault locks it until that is committed. So the numbers of its changes become visible in order, and a list after a number
/// misses nothing.
final class HubEngine: Sendable {
  private let database: any HubDatabase
  private let writer: ObjectWriter
  /// Sessions that were asked for before, some 200 bytes each. Whether the key of one is still admitted, each call looks.
  private let seen = Mutex<[Digest: HubSession]>([:])
  private static let seenMax = 1 << 18
  static let quota = 1 << 30

  /// - Parameter quota: The most bytes of objects of a vault.
  init(_ database: some HubDatabase, quota: Int = HubEngine.quota) throws {
    self.database = database
    writer = ObjectWriter(database, quota: quota)
    do { try HubSchema.migrate(database) } catch {
      database.close()
      throw error
    }
  }

  /// Does what waits, and lets go of the database.
  func close() {
    writer.close()
    database.close()
  }

  /// Throws unless the database can serve.
  func check() throws { try database.read { _ = try $0.run("select version from hub") } }

  /// From now on calls `body` for each vault in which objects were put, through this hub or another one, from any thread.
  func observe(_ body: @escaping @Sendable (VaultID) -> Void) { database.observe(body) }

  // MARK: Vaults and keys

  func vaultCount() throws -> Int {
    try database.read { connection in
      try connection.run("select count(*) from vaults")[0][0].integer()
    }
  }

  /// Whether a vault exists and has a key.
  func isAdmitted(_ member: VaultMember) throws -> Bool {
    try database.read { try Self.isAdmitted(member, $0) }
  }

  private static func isAdmitted(
    _ member: VaultMember, _ connection: any SQLConnection
  ) throws -> Bool {
    try !connection.run(
      "select 1 from members where vault = $1 and owner = $2 and (expires <= 0 or expires > $3)",
      .bytes(member.vault.bytes), .bytes(member.owner.bytes), .integer(WallClock.nanoseconds)
    ).isEmpty
  }

  /// The keys of a vault; `nil` if there is no such vault.
  func keys(of vault: VaultID) throws -> AdmittedKeys? {
    try database.read { try Self.keys(of: vault, $0) }
  }

  private static func keys(
    of vault: VaultID, _ connection: any SQLConnection
  ) throws -> AdmittedKeys? {
    let rows = try connection.run(
      "select m.key, v.root, v.removed, m.expires from vaults v join members m on m.vault = v.id where v.id = $1",
      .bytes(vault.bytes))
    guard let first = rows.first else { return nil }
    let removed = try first[2].bytes()
    var (keys, invited, unconfirmed): ([PublicKey], [PublicKey: Int], Set<PublicKey>) = ([], [:], [])
    for row in rows {
      guard let key = PublicKey(bytes: try row[0].bytes()) else { continue }
      let end = try row[3].integer()
      if end > WallClock.nanoseconds { invited[key] = end }
      if end <= 0 { keys.append(key) }
      if end < 0 { unconfirmed.insert(key) }
    }
    return AdmittedKeys(
      keys, root: VaultRoot(bytes: try first[1].bytes()),
      removed: Set(
        stride(from: 0, to: removed.count, by: 16).compactMap {
          ReplicaID(bytes: removed[$0..<min(removed.count, $0 + 16)])
        }), invited: invited, unconfirmed: unconfirmed)
  }

  /// Creates a vault with its first keys.
  ///
  /// - Parameter invitation: The word that it was created with, which no other vault may use.
  /// - Returns: False if it exists, or if the invitation was used.
  func createVault(_ vault: VaultID, keys: AdmittedKeys, invitation: String?) throws -> Bool {
    try database.write { connection in
      if try Self.keys(of: vault, connection) != nil { return false }
      if let invitation {
        let word = SQLValue.bytes(SHA256Hasher.digest(of: Array(invitation.utf8)).bytes)
        try connection.run(
          "insert into invitations (digest, vault) values ($1, $2) on conflict do nothing", word,
          .bytes(vault.bytes))
        let user = try connection.run("select vault from invitations where digest = $1", word)
        guard user == [[.bytes(vault.bytes)]] else { return false }
      }
      let made = try connection.run(
        """
        insert into vaults (id, generation, change, objects, bytes, root, removed, shared)
        values ($1, $2, 0, 0, 0, $3, $3, 0) on conflict do nothing returning id
        """, .bytes(vault.bytes), .integer(.random(in: .min ... .max)), .bytes([]))
      guard !made.isEmpty else { return false }
      try Self.store(keys, of: vault, connection)
      return true
    }
  }

  /// Removes a vault with its keys, its objects and its sessions. Returns false if there is none.
  func removeVault(_ vault: VaultID) throws -> Bool {
    let isRemoved = try database.write { connection in
      let id = SQLValue.bytes(vault.bytes)
      guard try !connection.run("delete from vaults where id = $1 returning id", id).isEmpty else {
        return false
      }
      for table in ["members", "objects", "sessions"] {
        try connection.run("delete from \(table) where vault = $1", id)
      }
      return true
    }
    seen.withLock { $0 = $0.filter { $0.value.member.vault != vault } }
    return isRemoved
  }

  /// Changes the keys in one transaction, with what goes with them.
  ///
  /// - Parameter change: The change of the keys that there are; `nil` for none.
  /// - Returns: The keys afterwards.
  /// - Throws: What `change` throws; then nothing was changed.
  @discardableResult
  func changeKeys(
    as member: VaultMember, _ change: (AdmittedKeys) throws -> KeyChange?
  ) throws -> AdmittedKeys {
    let vault = member.vault
    let (keys, ended) = try database.write { connection in
      try connection.lock([vault])
      guard let before = try Self.keys(of: vault, connection), before.admits(member.key) else {
        throw VaultMember.notAdmitted
      }
      guard let change = try change(before), change.after != before || !change.ended.isEmpty else {
        return (before, Set<PublicKey>())
      }
      for owner in change.gone.keys { try Self.removeObjects(of: owner, change, vault, connection) }
      if let old = before.root?.key.replica, let new = change.after.root?.key.replica, old != new {
        // What one root put is the next one's.
        try connection.run(
          "update objects set owner = $1 where vault = $2 and owner = $3", .bytes(new.bytes),
          .bytes(vault.bytes),
          .bytes(old.bytes))
      }
      try Self.store(change.after, of: vault, connection)
      let ended = before.keys.union(before.invited.keys).subtracting(change.after.keys)
        .subtracting(change.after.invited.keys).union(change.ended)
      for key in ended {
        try connection.run(
          "delete from sessions where vault = $1 and key = $2", .bytes(vault.bytes), .bytes(key.bytes))
      }
      return (change.after, ended)
    }
    if !ended.isEmpty {
      seen.withLock { seen in
        seen = seen.filter { $1.member.vault != vault || !ended.contains($1.member.key) }
      }
    }
    return keys
  }

  /// Writes the keys of a vault, and counts what each of them has put.
  private static func store(
    _ admitted: AdmittedKeys, of vault: VaultID, _ connection: any SQLConnection
  ) throws {
    let id = SQLValue.bytes(vault.bytes)
    var held: [SQLValue: (objects: Int, bytes: Int)] = [:]
    let counts = try connection.run(
      "select owner, count(*), sum(length(bytes)) from objects where vault = $1 group by owner", id)
    for row in counts { held[row[0]] = (try row[1].integer(), try row[2].integer()) }
    try connection.run("delete from members where vault = $1", id)
    try connection.run(
      "insert into members (vault, owner, key, objects, bytes, expires) values ROWS on conflict do nothing",
      rows: (admitted.keys.map { ($0, admitted.unconfirmed.contains($0) ? -1 : 0) }
        + admitted.invited.map { ($0, $1) }).map { key, expires in
          let owner = SQLValue.bytes(key.replica.bytes)
          return [
            id, owner, .bytes(key.bytes), .integer(held[owner]?.objects ?? 0),
            .integer(held[owner]?.bytes ?? 0), .integer(expires),
          ]
        })
    try connection.run(
      "update vaults set root = $1, removed = $2, shared = $3, objects = $4, bytes = $5 where id = $6",
      .bytes(admitted.root?.bytes ?? []), .bytes(Array(admitted.removed.sorted().map(\.bytes).joined())),
      .integer(admitted.isShared ? 1 : 0), .integer(held.values.reduce(0) { $0 + $1.objects }),
      .integer(held.values.reduce(0) { $0 + $1.bytes }), id)
  }

  /// Removes the objects that go with a change of keys.
  private static func removeObjects(
    of owner: ReplicaID, _ change: KeyChange, _ vault: VaultID, _ connection: any SQLConnection
  ) throws {
    var after = SQLValue.integer(0)
    while true {
      let page = try connection.run(
        "select change, name from objects where vault = $1 and change > $2 and owner = $3 order by change limit 256",
        .bytes(vault.bytes), after, .bytes(owner.bytes))
      guard let last = page.last else { return }
      after = last[0]
      var removed: [[SQLValue]] = []
      for row in page where change.removes(try row[1].text(), of: owner) {
        removed.append([.bytes(vault.bytes), row[0]])
      }
      try connection.run(deletion, rows: removed)
    }
  }

  // MARK: Objects

  /// SQLite looks up what a `select` gives it, and scans the table for bare `values`.
  static let deletion = """
    with i (vault, change) as (values ROWS)
    delete from objects where (vault, change) in (select vault, change from i)
    """
  /// The most bytes of an object that is read with the statement that finds it.
  private static let smallBytesMax = 65_536

  /// Objects that were put after a cursor, by the numbers of their changes.
  func list(after: ChangeCursor?, limit: Int, as member: VaultMember) throws -> HubList {
    try database.read { connection in
      let found = try connection.run(
        "select v.generation, v.change from vaults v join members m on m.vault = v.id where v.id = $1 and m.owner = $2",
        .bytes(member.vault.bytes), .bytes(member.owner.bytes))
      guard let found = found.first else { throw VaultMember.notAdmitted }
      let generation = Self.generation(try found[0].integer(), of: try connection.history())
      // What has this number or a lower one is visible to the statement that follows.
      let change = UInt64(try found[1].integer())
      let isKnown = after.map { $0.generation == generation && $0.number <= change } ?? true
      let rows = try connection.run(
        "select name, length(bytes), change from objects where vault = $1 and change > $2 order by change limit $3",
        .bytes(member.vault.bytes), .integer(isKnown ? Int(after?.number ?? 0) : 0), .integer(limit))
      let last = try rows.last.map { row in UInt64(try row[2].integer()) } ?? change
      let hasMore = rows.count == limit && last < change
      let head = max(last, change)
      return HubList(
        entries: try rows.map { row in
          HubList.Entry(name: try row[0].text(), byteCount: try row[1].integer())
        },
        cursor: ChangeCursor(generation: generation, number: hasMore ? last : head),
        head: ChangeCursor(generation: generation, number: head), startsOver: !isKnown, hasMore: hasMore)
    }
  }

  /// The generation of a vault in one history of the database.
  private static func generation(_ number: Int, of history: String) -> UInt64 {
    SHA256Hasher.digest(of: Array("\(number)/\(history)".utf8)).bytes.prefix(8).reduce(0) {
      $0 << 8 | UInt64($1)
    }
  }

  /// An object's bytes; `nil` if there is none.
  ///
  /// - Parameter admit: Throws if so many bytes may not be read now. Called before they are, unless they are few.
  func get(
    _ name: String, as member: VaultMember, admit: (_ byteCount: Int) throws -> Void = { _ in }
  ) throws -> [UInt8]? {
    let (digest, vault) = (SQLValue.bytes(Self.digest(name)), SQLValue.bytes(member.vault.bytes))
    return try database.read { connection in
      let found = try connection.run(
        """
        select length(o.bytes), case when length(o.bytes) <= \(Self.smallBytesMax) then o.bytes end
        from members m left join objects o on o.vault = m.vault and o.digest = $1
        where m.vault = $2 and m.owner = $3
        """, digest, vault, .bytes(member.owner.bytes))
      guard let found = found.first else { throw VaultMember.notAdmitted }
      if found[0] == .null { return nil }
      try admit(try found[0].integer())
      if found[1] != .null { return try found[1].bytes() }
      let rows = try connection.run(
        "select bytes from objects where digest = $1 and vault = $2", digest, vault)
      return try rows.first?[0].bytes()
    }
  }

  /// What an object is found by: 16 bytes for a name of any length.
  static func digest(_ name: String) -> [UInt8] {
    Array(SHA256Hasher.digest(of: Array(name.utf8)).bytes.prefix(16))
  }

  /// Stores an object durably if there is none of that name, or deletes it, together with those of other callers.
  ///
  /// - Parameters:
  ///   - bytes: `nil` to delete the object. If there is none, nothing is done.
  ///   - done: Called once, from any thread, when it is durable or was not stored.
  func write(
    _ name: String, _ bytes: [UInt8]?, as member: VaultMember,
    done: @escaping @Sendable (Result<PutOutcome, any Error>) -> Void
  ) {
    writer.add(ObjectWriter.Job(member: member, name: name, bytes: bytes, done: done))
  }

  /// Stores or deletes an object, and waits for the outcome.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8]?, as member: VaultMember) throws -> PutOutcome {
    let outcomes = try writer.run([ObjectWriter.Job(member: member, name: name, bytes: bytes)])
    guard let outcome = outcomes[0] else { throw VaultMember.notAdmitted }
    return outcome
  }

  // MARK: Sessions

  /// Opens a session that lasts as long as the limits say. A key has a limited number of them: the oldest ends.
  ///
  /// - Parameter token: SHA-256 of the session that the client has.
  /// - Returns: False if the nonce opened a session before.
  func openSession(
    _ token: Digest, for member: VaultMember, with nonce: HubNonce
  ) throws -> Bool {
    try database.write { connection in
      let (vault, key) = (SQLValue.bytes(member.vault.bytes), SQLValue.bytes(member.key.bytes))
      let now = WallClock.nanoseconds
      func end(after seconds: Int) -> SQLValue { .integer(now + seconds * 1_000_000_000) }
      for table in ["nonces", "sessions"] {
        try connection.run("delete from \(table) where expires <= $1", .integer(now))
      }
      // The removal of the key waits.
      try connection.lock([member.vault])
      guard try Self.isAdmitted(member, connection) else { throw VaultMember.notAdmitted }
      // The clock of another hub may be behind by as much as a nonce lasts.
      let isNew = try !connection.run(
        "insert into nonces (nonce, expires) values ($1, $2) on conflict do nothing returning expires",
        .bytes(nonce.bytes), end(after: 3 * HubLimits.nonceSeconds)
      ).isEmpty
      guard isNew else { return false }
      try connection.run(
        "insert into sessions (digest, vault, key, expires) values ($1, $2, $3, $4)", .bytes(token.bytes),
        vault,
        key, end(after: HubLimits.sessionSeconds))
      try connection.run(
        """
        delete from sessions where digest in (
          select digest from sessions where vault = $1 and key = $2 order by expires desc limit 1 offset $3)
        """, vault, key, .integer(HubLimits.sessionsMax))
      return true
    }
  }

  /// The session of a token, unless it is over.
  func session(_ token: Digest) throws -> HubSession? {
    let now = MonotonicClock.nanoseconds()
    if let session = seen.withLock({ $0[token] }), session.end > now { return session }
    return try database.read { connection in
      let rows = try connection.run(
        """
        select s.vault, s.key, s.expires, m.expires from sessions s
        join members m on m.vault = s.vault and m.key = s.key where s.digest = $1
        """, .bytes(token.bytes))
      guard let row = rows.first, let vault = VaultID(bytes: try row[0].bytes()),
        let key = PublicKey(bytes: try row[1].bytes())
      else { return nil }
      let left = try row[2].integer() - WallClock.nanoseconds
      guard left > 0 else { return nil }
      let session = HubSession(
        token: token, member: VaultMember(vault: vault, key: key), isInvited: try row[3].integer() > 0,
        end: now + UInt64(left))
      seen.withLock { seen in
        if seen.count >= Self.seenMax { seen = seen.filter { $0.value.end > now } }
        if seen.count >= Self.seenMax { seen = [:] }
        seen[token] = session
      }
      return session
    }
  }
}

/// Who asks for something of a vault, by a key.
struct VaultMember: Hashable, Sendable {
  let vault: VaultID
  let key: PublicKey
  /// What the objects that it puts are accounted to.
  let owner: ReplicaID

  init(vault: VaultID, key: PublicKey) {
    self.vault = vault
    self.key = key
    owner = key.replica
  }

  /// The error for a key that the vault does not have, or not any more.
  static let notAdmitted = HeartlogError(.notAdmitted, "this key is not admitted to this vault")
}

enum PutOutcome: Hashable, Sendable {
  /// Or deleted.
  case stored
  /// It was there with the same bytes.
  case same
  /// Other bytes are stored under this name.
  case different
  /// The quota of bytes or objects is full.
  case full
}

/// An answer to `list`.
struct HubList: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    let name: String
    let byteCount: Int
  }

  let entries: [Entry]
  let cursor: ChangeCursor
  /// The cursor of the vault's last change.
  let head: ChangeCursor
  let startsOver: Bool
  let hasMore: Bool
}

/// A place in the changes of a vault: "Objects" in docs/hub.md.
struct ChangeCursor: Hashable, CustomStringConvertible {
  let generation: UInt64
  let number: UInt64

  init(generation: UInt64, number: UInt64) {
    self.generation = generation
    self.number = number
  }

  /// Reads exactly what `description` says.
  init?(_ text: String) {
    let parts = text.split(separator: "-")
    guard parts.count == 2, let generation = UInt64(parts[0], radix: 16), let number = UInt64(parts[1])
    else { return nil }
    self.init(generation: generation, number: number)
    guard description == text else { return nil }
  }

  var description: String { "\(Hexadecimal.text(generation.bigEndianBytes))-\(number)" }
}
