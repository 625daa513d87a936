import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogFormat

extension DirectoryEngine {
  /// What waits for the writing thread.
  enum Job: Sendable {
    case put(VaultMember, String, [UInt8], done: @Sendable (Result<PutOutcome, HeartlogError>) -> Void)
    case delete(VaultMember, String, done: @Sendable (Result<Void, HeartlogError>) -> Void)
    case create(
      VaultID, AdmittedKeys, invitation: Digest?,
      done: @Sendable (Result<VaultCreation, HeartlogError>) -> Void)
    case removal(VaultID, done: @Sendable (Result<Bool, HeartlogError>) -> Void)
    case keys(
      VaultMember, @Sendable (AdmittedKeys) -> Result<KeyChange?, KeyRefusal>,
      done: @Sendable (Result<Result<KeyChange, KeyRefusal>, HeartlogError>) -> Void)

    func fail(_ error: HeartlogError) {
      switch self {
      case .put(_, _, _, let done): done(.failure(error))
      case .delete(_, _, let done): done(.failure(error))
      case .create(_, _, _, let done): done(.failure(error))
      case .removal(_, let done): done(.failure(error))
      case .keys(_, _, let done): done(.failure(error))
      }
    }
  }

  /// A frame that is being made, and what happens once it is durable.
  private struct Batch {
    var frame = [UInt8](repeating: 0, count: LogFrame.headerBytes)
    /// Records, and how far from the frame's start their objects are.
    var records: [(record: LogRecord, offset: Int)] = []
    var answers: [(_ error: HeartlogError?) -> Void] = []
    /// By vault, the objects that were added: their names, how many bytes they have, the last number, and what each member put.
    var added:
      [VaultID: (names: Set<String>, byteCount: Int, last: UInt64, held: [ReplicaID: VaultIndex.Owner])] =
        [:]
    /// By vault, the names of objects that go.
    var deleted: [VaultID: Set<String>] = [:]
    /// Vaults that are created, or of which the keys change. Nothing more of them is decided before that is in the index.
    var changed: Set<VaultID> = []
    var invitations: Set<Digest> = []

    /// Whether nothing can be said of an object before the batch is in the index.
    func touches(_ name: String, of vault: VaultID) -> Bool {
      changed.contains(vault) || added[vault]?.names.contains(name) ?? false
        || deleted[vault]?.contains(name) ?? false
    }

    mutating func append(_ record: LogRecord, bytes: [UInt8] = []) {
      record.append(to: &frame, bytes: bytes)
      records.append((record, frame.count - bytes.count))
    }
  }

  /// Takes all jobs that wait, decides each, writes what comes of them with one write and one sync, and answers them.
  func write() {
    while let jobs = nextJobs() {
      var batch = Batch()
      for job in jobs {
        if !decide(job, &batch) {
          flush(&batch)
          let isDecided = decide(job, &batch)
          precondition(isDecided, "an empty batch takes any job")
        }
      }
      flush(&batch)
      compact()
    }
  }

  /// Answers a job, or adds its record to the batch. Returns false if that must be written before.
  private func decide(_ job: Job, _ batch: inout Batch) -> Bool {
    if let failure = condition.withLock({ failure }) {
      job.fail(failure)
      return true
    }
    switch job {
    case .put(let member, let name, let bytes, let done):
      return put(name, bytes, member, done, &batch)
    case .delete(let member, let name, let done):
      let vault = member.vault
      guard !batch.touches(name, of: vault) else { return false }
      let found = condition.withLock {
        Result { () throws(HeartlogError) in try index.vault(of: member).number(of: name) }
      }
      guard case .success(let number?) = found else {
        done(found.map { _ in })
        return true
      }
      batch.deleted[vault, default: []].insert(name)
      batch.append(.deletion(vault, number: number, name: name))
      batch.answers.append { done($0.map { .failure($0) } ?? .success(())) }
    case .removal(let vault, let done):
      guard batch.added[vault] == nil, batch.deleted[vault] == nil, !batch.changed.contains(vault) else {
        return false
      }
      guard condition.withLock({ index.vaults[vault] != nil }) else {
        done(.success(false))
        return true
      }
      batch.changed.insert(vault)
      batch.append(.removal(vault))
      batch.answers.append { done($0.map { .failure($0) } ?? .success(true)) }
    case .create(let vault, let admitted, let invitation, let done):
      guard batch.added[vault] == nil, !batch.changed.contains(vault) else { return false }
      if let invitation, batch.invitations.contains(invitation) { return false }
      let refusal = condition.withLock { () -> VaultCreation? in
        if index.vaults[vault] != nil { return .exists }
        if let invitation, let other = index.invitations[invitation], other != vault {
          return .invitationUsed
        }
        return nil
      }
      if let refusal {
        done(.success(refusal))
        return true
      }
      batch.changed.insert(vault)
      batch.append(.vault(vault, generation: .random(in: .min ... .max)))
      batch.append(.keys(vault, admitted))
      if let invitation {
        batch.invitations.insert(invitation)
        batch.append(.invitation(vault, word: invitation))
      }
      batch.answers.append { done($0.map { .failure($0) } ?? .success(.created)) }
    case .keys(let member, let change, let done):
      let vault = member.vault
      guard batch.added[vault] == nil, batch.deleted[vault] == nil, !batch.changed.contains(vault) else {
        return false
      }
      let found = condition.withLock {
        Result { () throws(HeartlogError) in try index.vault(of: member) }
      }
      let decision = found.map { known in change(known.admitted).map { $0 ?? KeyChange(from: known.admitted) }
      }
      guard case .success(let known) = found, case .success(.success(let change)) = decision,
        change.after != change.before || !change.ended.isEmpty
      else {
        done(decision)
        return true
      }
      batch.changed.insert(vault)
      for (name, number) in known.objects(goingWith: change) {
        batch.append(.deletion(vault, number: number, name: name))
      }
      batch.append(.keys(vault, change.after))
      batch.answers.append { done($0.map { .failure($0) } ?? .success(.success(change))) }
    }
    return true
  }

  private func put(
    _ name: String, _ bytes: [UInt8], _ member: VaultMember,
    _ done: @escaping @Sendable (Result<PutOutcome, HeartlogError>) -> Void, _ batch: inout Batch
  ) -> Bool {
    let vault = member.vault
    guard !batch.touches(name, of: vault) else { return false }
    if !batch.records.isEmpty, batch.frame.count + bytes.count > LogFrame.batchBytes { return false }
    var added = batch.added[vault] ?? ([], 0, 0, [:])
    enum Decision {
      case refused(HeartlogError)
      case stored(ObjectPlace, any OpenFile)
      case full
      case next(UInt64)
    }
    let decision = condition.withLock { () -> Decision in
      let known: VaultIndex
      do throws(HeartlogError) { known = try index.vault(of: member) } catch { return .refused(error) }
      if let place = known.place(of: name), let file = index.files[place.file] {
        return .stored(place, file.file)
      }
      let isRoot = known.admitted.root?.key == member.key
      let rooms = isRoot ? 2 : name.hasPrefix("keys/") ? 1 : 0
      let (roomBytes, roomObjects) = (rooms * HubLimits.keysRoomBytes, rooms * HubLimits.keysRoomObjects)
      guard known.byteCount + added.byteCount + bytes.count <= limits.vaultBytesMax + roomBytes,
        known.count + added.names.count < limits.objectsMax + roomObjects
      else { return .full }
      if !isRoot, known.admitted.isShared {
        let (own, new) = (known.held(by: member.owner), added.held[member.owner])
        guard own.byteCount + (new?.byteCount ?? 0) + bytes.count <= (limits.vaultBytesMax + roomBytes) / 2,
          own.count + (new?.count ?? 0) < (limits.objectsMax + roomObjects) / 2
        else { return .full }
      }
      return .next(max(known.last, added.last) + 1)
    }
    switch decision {
    case .refused(let error): done(.failure(error))
    case .full: done(.success(.full))
    case .stored(let place, let file):
      guard Int(place.byteCount) == bytes.count else {
        done(.success(.different))
        return true
      }
      do throws(HeartlogError) {
        done(.success(try Self.read(file, place) == bytes ? .same : .different))
      } catch {
        done(.failure(error))
      }
    case .next(let number):
      added.names.insert(name)
      added.byteCount += bytes.count
      added.last = number
      added.held[member.owner, default: VaultIndex.Owner(id: member.owner)].count += 1
      added.held[member.owner, default: VaultIndex.Owner(id: member.owner)].byteCount += bytes.count
      batch.added[vault] = added
      batch.append(
        .object(vault, number: number, owner: member.owner, name: name, byteCount: bytes.count), bytes: bytes)
      batch.answers.append { done($0.map { .failure($0) } ?? .success(.stored)) }
    }
    return true
  }

  /// Writes the batch, takes it into the index, answers its jobs, and begins the next one.
  private func flush(_ batch: inout Batch) {
    guard !batch.records.isEmpty else { return }
    defer { batch = Batch() }
    var error: HeartlogError?
    do throws(HeartlogError) {
      try append(&batch.frame)
      let start = log.size - UInt64(batch.frame.count)
      let isWhole = condition.withLock {
        batch.records.allSatisfy { record, offset in
          index.apply(record, file: log.number, offset: UInt32(start) + UInt32(offset))
        }
      }
      precondition(isWhole, "what was decided follows what is there")
    } catch let thrown { error = thrown }
    for answer in batch.answers { answer(error) }
    if error == nil { tell(Set(batch.added.keys)) }
  }

  private func append(_ frame: inout [UInt8]) throws(HeartlogError) {
    do throws(FileError) {
      if let (number, file) = try log.makeRoom(for: frame.count) {
        condition.withLock { index.files[number] = DirectoryIndex.File(file: file) }
      }
    } catch { throw HeartlogError(hub: error) }
    LogFrame.seal(&frame, at: log.size)
    do throws(FileError) { try log.append(frame) } catch {
      // Whether the frame is on the disk is unknown after a failed sync. Only what could certainly be removed is as if it had not been.
      do throws(FileError) {
        guard error.operation != "synchronize" else { throw error }
        try log.cutBack()
      } catch {
        let failure = HeartlogError(
          .outcomeUnknown, "the log could not be written: \(error). Start the hub again", file: error.path)
        condition.withLock { self.failure = failure }
        throw failure
      }
      throw HeartlogError(hub: error)
    }
  }

  // MARK: Compaction

  /// Writes a closed file anew of which more than half is of deleted objects.
  private func compact() {
    let found = condition.withLock { () -> (UInt32, any OpenFile)? in
      guard failure == nil else { return nil }
      return index.files.filter { number, file in
        number != log.number && file.objectBytes > 0 && file.liveBytes < file.objectBytes / 2
      }
      .min { $0.key < $1.key }.map { ($0.key, $0.value.file) }
    }
    guard let (number, file) = found else { return }
    do throws(HeartlogError) {
      let (new, moves) = try log.rewrite(number, file) { record, offset in
        guard case .object(let vault, _, _, let name, let byteCount) = record else { return true }
        let place = ObjectPlace(file: number, offset: offset, byteCount: UInt32(byteCount))
        return condition.withLock { index.vaults[vault]?.place(of: name) == place }
      }
      condition.withLock {
        for move in moves { index.vaults[move.vault]?.move(move.name, from: move.before, to: move.after) }
        let bytes = moves.reduce(0) { $0 + Int($1.after.byteCount) }
        index.files[number] = DirectoryIndex.File(file: new, objectBytes: bytes, liveBytes: bytes)
      }
    } catch {
      // Once the name may have changed, which file has it is unknown. A damaged file is named at the next start too.
      condition.withLock { failure = error }
    }
  }
}
