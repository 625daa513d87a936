import Dispatch
import HeartlogFormat
import Synchronization

/// Stores and deletes objects. What waits while a transaction runs goes into the next one, so that many share a commit.
final class ObjectWriter: Sendable {
  struct Job: Sendable {
    let member: VaultMember
    let name: String
    /// `nil` to delete the object.
    let bytes: [UInt8]?
    var done: @Sendable (Result<PutOutcome, any Error>) -> Void = { _ in }
  }

  private static let batchMax = 256
  /// The most bytes of a batch that has more than one object.
  private static let batchBytesMax = 16 << 20

  private let database: any HubDatabase
  /// The most bytes of objects of a vault.
  private let quota: Int
  private let queue = DispatchQueue(label: "heartlog.hub.objects")
  private let waiting = Mutex<[Job]>([])

  init(_ database: any HubDatabase, quota: Int) {
    self.database = database
    self.quota = quota
  }

  func add(_ job: Job) {
    waiting.withLock { $0.append(job) }
    queue.async { self.runNext() }
  }

  /// Does what waits. Nothing may be added from then on.
  func close() { queue.sync {} }

  /// Does the jobs that wait first; nothing if those before have taken them along.
  private func runNext() {
    while true {
      let batch = next()
      if batch.isEmpty { return }
      do {
        for (job, outcome) in zip(batch, try run(batch)) {
          job.done(outcome.map { .success($0) } ?? .failure(VaultMember.notAdmitted))
        }
      } catch {
        for job in batch { job.done(.failure(error)) }
      }
    }
  }

  /// The first jobs, each of another object.
  private func next() -> [Job] {
    waiting.withLock { waiting in
      var names: Set<String> = []
      var (count, bytes) = (0, 0)
      for job in waiting.prefix(Self.batchMax) {
        bytes += job.bytes?.count ?? 0
        guard count == 0 || bytes <= Self.batchBytesMax,
          names.insert("\(job.member.vault)/\(job.name)").inserted
        else { break }
        count += 1
      }
      defer { waiting.removeFirst(count) }
      return Array(waiting.prefix(count))
    }
  }

  /// Does all of a batch in one transaction, and announces what was put.
  ///
  /// - Returns: What came of each job; `nil` if its key is not admitted. Of a deletion always `stored`.
  func run(_ batch: [Job]) throws -> [PutOutcome?] {
    let outcomes = try database.write { try run(batch, $0) }
    let vaults = zip(batch, outcomes).filter { $0.bytes != nil && $1 == .stored }.map(\.0.member.vault)
    if !vaults.isEmpty { database.announce(Set(vaults)) }
    return outcomes
  }

  private func run(_ batch: [Job], _ connection: any SQLConnection) throws -> [PutOutcome?] {
    try connection.lock(batch.map(\.member.vault))
    let digests = batch.map { HubEngine.digest($0.name) }
    let rows = try connection.run(
      Found.statement,
      rows: zip(batch, digests).enumerated().map { place, job in
        let member = job.0.member
        return [
          .integer(place), .bytes(member.vault.bytes), .bytes(member.owner.bytes), .bytes(job.1),
        ]
      })
    var outcomes = [PutOutcome?](repeating: nil, count: batch.count)
    var vaults: [VaultID: (change: Int, added: Usage)] = [:]
    // Whose share of a quota an object counts in.
    var owners: [[SQLValue]: Usage] = [:]
    var (stored, removed): ([(row: [SQLValue], byteCount: Int)], [[SQLValue]]) = ([], [])
    for row in rows {
      let place = try row[0].integer()
      // The last row was sent twice.
      guard outcomes[place] == nil else { continue }
      let (job, found) = (batch[place], try Found(row))
      let id = job.member.vault
      var vault = vaults[id] ?? (found.change, Usage())
      var owner = SQLValue.bytes(job.member.owner.bytes)
      let added: Usage
      if let bytes = job.bytes, let there = found.object {
        outcomes[place] = try Self.has(there, bytes, of: id, connection) ? .same : .different
        continue
      } else if let bytes = job.bytes {
        added = Usage(objects: 1, bytes: bytes.count)
        let own = found.member + (owners[[.bytes(id.bytes), owner]] ?? Usage()) + added
        guard admits(found.vault + vault.added + added, own, job, found) else {
          outcomes[place] = .full
          continue
        }
        vault.change += 1
        let row: [SQLValue] = [
          .bytes(id.bytes), .integer(vault.change), .bytes(digests[place]), owner, .text(job.name),
          .bytes(bytes),
        ]
        stored.append((row, bytes.count))
      } else if let there = found.object {
        owner = .bytes(there.owner)
        added = Usage(objects: -1, bytes: -there.byteCount)
        removed.append([.bytes(id.bytes), .integer(there.change)])
      } else {
        outcomes[place] = .stored
        continue
      }
      outcomes[place] = .stored
      vault.added += added
      vaults[id] = vault
      owners[[.bytes(id.bytes), owner], default: Usage()] += added
    }
    // The last row may be sent twice: that of the smallest object.
    stored.sort { $0.byteCount > $1.byteCount }
    try connection.run(
      "insert into objects (vault, change, digest, owner, name, bytes) values ROWS on conflict do nothing",
      rows: stored.map(\.row))
    try connection.run(HubEngine.deletion, rows: removed)
    try connection.run(
      """
      with i (vault, change, objects, bytes) as (values ROWS)
      update vaults set change = i.change, objects = vaults.objects + i.objects, bytes = vaults.bytes + i.bytes
      from i where vaults.id = i.vault
      """, rows: vaults.map { [.bytes($0.bytes), .integer($1.change)] + $1.added.values })
    try connection.run(
      """
      with i (vault, owner, objects, bytes) as (values ROWS)
      update members set objects = members.objects + i.objects, bytes = members.bytes + i.bytes
      from i where members.vault = i.vault and members.owner = i.owner
      """, rows: owners.map { $0 + $1.values })
    return outcomes
  }

  /// Whether a vault and a member may hold so much: "Room" in docs/hub.md.
  private func admits(_ all: Usage, _ own: Usage, _ job: Job, _ found: Found) -> Bool {
    let isRoot = found.root.starts(with: job.member.key.bytes)
    let rooms = isRoot ? 2 : job.name.hasPrefix("keys/") ? 1 : 0
    let bytesMax = quota + rooms * HubLimits.keysRoomBytes
    let objectsMax = HubLimits.objectsMax + rooms * HubLimits.keysRoomObjects
    return all.bytes <= bytesMax && all.objects <= objectsMax
      && (isRoot || !found.isShared || own.bytes <= bytesMax / 2 && own.objects <= objectsMax / 2)
  }

  private static func has(
    _ object: Found.Object, _ bytes: [UInt8], of vault: VaultID, _ connection: any SQLConnection
  ) throws -> Bool {
    guard object.byteCount == bytes.count else { return false }
    let rows = try connection.run(
      "select bytes from objects where vault = $1 and change = $2", .bytes(vault.bytes),
      .integer(object.change))
    return rows == [[.bytes(bytes)]]
  }
}

/// Objects, and how many bytes they have.
private struct Usage {
  var objects = 0
  var bytes = 0

  var values: [SQLValue] { [.integer(objects), .integer(bytes)] }

  static func + (one: Usage, other: Usage) -> Usage {
    Usage(objects: one.objects + other.objects, bytes: one.bytes + other.bytes)
  }

  static func += (one: inout Usage, other: Usage) { one = one + other }
}

/// What is there before a job, if its key is admitted.
private struct Found {
  struct Object {
    let change: Int
    let owner: [UInt8]
    let byteCount: Int
  }

  static let statement = """
    with i (place, vault, owner, digest) as (values ROWS)
    select i.place, v.change, v.root, v.shared, v.objects, v.bytes, m.objects, m.bytes, o.change, o.owner,
      length(o.bytes)
    from i join vaults v on v.id = i.vault join members m on m.vault = i.vault and m.owner = i.owner
      left join objects o on o.vault = i.vault and o.digest = i.digest
    """

  /// The number of the vault's last change.
  let change: Int
  /// Empty, or what is known of the root. It begins with its key.
  let root: [UInt8]
  let isShared: Bool
  let vault: Usage
  let member: Usage
  let object: Object?

  init(_ row: [SQLValue]) throws {
    change = try row[1].integer()
    root = try row[2].bytes()
    isShared = try row[3].integer() == 1
    vault = Usage(objects: try row[4].integer(), bytes: try row[5].integer())
    member = Usage(objects: try row[6].integer(), bytes: try row[7].integer())
    object =
      row[8] == .null
      ? nil
      : Object(change: try row[8].integer(), owner: try row[9].bytes(), byteCount: try row[10].integer())
  }
}
