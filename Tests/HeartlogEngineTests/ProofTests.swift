import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogEngine

@Suite("Proofs from a log")
struct ProofTests {
  private let store: TestStore
  private let files: MemoryFileSystem
  private let open: OpenStore
  private let key: SigningKey
  private var stream: ForgedStream

  init() throws {
    (store, files) = try TestStore.inMemory()
    open = try store.open()
    var random = SeededGenerator(seed: 4)
    key = SigningKey(using: &random)
    stream = ForgedStream(replica: key.publicKey.replica)
  }

  private var replica: ReplicaID { stream.replica }

  private mutating func receive(_ count: Int) throws {
    let first = 1_772_000_000_000 + Int64(stream.commitCount)
    let run = try stream.run((0..<count).map { .init(HybridTimestamp(milliseconds: first + Int64($0))) })
    #expect(try open.log.receive(run).isAppended)
  }

  private func checkpoint(_ size: UInt64) throws -> WitnessedCheckpoint {
    let root = try #require(try open.log.streamRoot(of: replica, at: CommitNumber(rawValue: size)))
    let vault = try #require(VaultID(bytes: [UInt8](repeating: 7, count: 16)))
    let checkpoint = Checkpoint(vault: vault, replica: replica, size: size, root: root)
    return try WitnessedCheckpoint(SignedCheckpoint(checkpoint, signedBy: key)) { _ in nil }
  }

  @Test("a checkpoint that another process wrote is found where the lock's page says nothing of it")
  mutating func unseenCheckpoint() throws {
    try receive(1)
    files.onNetwork = true
    let directory = StoreDirectory(fileSystem: files, path: store.path)
    let (options, lock) = (TestStore.options(), try StoreLock(directory))
    try files.replaceContents(of: directory.lockPath, with: [UInt8](repeating: 0, count: lockPageBytes))
    #expect(lock.generation == 0)
    let checkpoints = Checkpoints(directory, options, lock)
    #expect(try checkpoints.newest(of: replica) == nil)
    let signed = try checkpoint(1).signed
    try CheckpointFile.write(signed, in: directory, options)
    #expect(try checkpoints.newest(of: replica) == signed)
  }

  private func proof(_ number: UInt64, below checkpoint: WitnessedCheckpoint) throws -> EventProof {
    let id = EventID(replica: replica, sequence: SequenceNumber(rawValue: number))
    return try #require(try open.log.proof(of: id, in: CommitNumber(rawValue: number), below: checkpoint))
  }

  @Test("events and histories are proven below every checkpoint, as the stream grows")
  mutating func proven() throws {
    var random = SeededGenerator(seed: 5)
    for count in [1, 62, 1, 1, 700, 1_500, 3] {
      try receive(count)
      for _ in 0..<10 {
        let size = UInt64.random(in: 1...stream.commitCount, using: &random)
        let checkpoint = try checkpoint(size)
        let number = UInt64.random(in: 1...size, using: &random)
        let proof = try proof(number, below: checkpoint)
        #expect(proof.commit.number.rawValue == number && proof.id.sequence.rawValue == number)
        #expect(proof.event == open.projection.commits(of: replica)[Int(number) - 1].records[0])
        #expect(try ProofFile(ProofFile.event(proof).bytes) == .event(proof))
        let history = try open.log.historyProof(from: (nil, number), to: checkpoint)
        #expect(history.size == number)
        let earlier = try self.checkpoint(number)
        #expect(try open.log.historyProof(from: (earlier, number), to: checkpoint).earlier == earlier)
      }
    }
  }

  @Test("a checkpoint of another history is not proven, and the log is read again for the next proof")
  mutating func contradicted() throws {
    try receive(200)
    let sound = try checkpoint(200)
    let root = try #require(try open.log.streamRoot(of: replica, at: CommitNumber(rawValue: 199)))
    let wrong = Checkpoint(vault: sound.checkpoint.vault, replica: replica, size: 200, root: root)
    let signed = try WitnessedCheckpoint(SignedCheckpoint(wrong, signedBy: key)) { _ in nil }
    #expect(storageFailure { _ = try proof(3, below: signed) }?.code == .corrupt)
    #expect(storageFailure { _ = try open.log.historyProof(from: (nil, 3), to: signed) }?.code == .corrupt)
    #expect(try proof(3, below: sound).commit.number.rawValue == 3)
  }
}
