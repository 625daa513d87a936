import HeartlogCrashModel
import HeartlogFiles
import Testing

@testable import Heartlog
@testable import HeartlogEngine

/// A fault, and how a test makes it in the store of a `Patient`.
struct Plant: Sendable, CustomTestStringConvertible {
  let kind: Fault.Kind
  /// What it leads to besides.
  let others: Set<Fault.Kind>
  let make: @Sendable (inout Patient) throws -> Void

  var testDescription: String { kind.rawValue }

  init(
    _ kind: Fault.Kind, and others: Set<Fault.Kind> = [],
    _ make: @escaping @Sendable (inout Patient) throws -> Void
  ) {
    self.kind = kind
    self.others = others
    self.make = make
  }
}

/// A store in which faults are planted: ten commits of its own, one segment, a checkpoint and a snapshot.
struct Patient {
  let test = TestStore()
  var files: ExaminedFiles
  let replica: ReplicaID
  static let path = TestStore.path

  init() throws {
    files = ExaminedFiles(files: test.files)
    let store = try test.open()
    replica = store.replica
    let library = try store.library("papers")
    for number in 0..<10 {
      test.clock.now += 1_000
      try library.add("paper-\(number)")
    }
    _ = try store.makeCheckpoint()
    try store.close()
  }

  var stream: String { "\(Self.path)/replicas/\(replica)" }
  var segment: String { "\(stream)/0000000000000001.open" }

  func bytes(of path: String) throws -> [UInt8] { try test.files.contents(of: path) }

  /// Gives a file these bytes; creates it, and the folder that contains it, if it is missing.
  func put(_ bytes: [UInt8], in path: String) throws {
    if try test.files.info(path) != nil { try test.files.remove(path) }
    let folder = String(path[..<path.lastIndex(of: "/")!])
    if try test.files.info(folder) == nil { try test.files.createDirectory(folder) }
    try test.files.open(path, .createNew).write(bytes, at: 0)
  }

  /// Changes a byte in the middle of a file.
  func damage(_ path: String) throws {
    var bytes = try bytes(of: path)
    let end = bytes.lastIndex { $0 != 0 } ?? 0
    bytes[end / 2] ^= 0x5A
    try put(bytes, in: path)
  }

  /// Cuts the last byte that was written off the tail.
  func cutTail() throws {
    let bytes = try bytes(of: segment)
    try test.files.replaceContents(of: segment, with: Array(bytes[..<bytes.lastIndex { $0 != 0 }!]))
  }

  /// Forgets what the lock's page knows.
  func clearPage() throws {
    try test.files.replaceContents(of: "\(Self.path)/lock", with: [UInt8](repeating: 0, count: 4_096))
  }

  func snapshot() throws {
    let store = try test.open()
    try store.snapshot()
    try store.close()
  }

  /// The only snapshot.
  func snapshotFile() throws -> String {
    "\(Self.path)/snapshots/\(try test.files.entries(of: "\(Self.path)/snapshots").first!)"
  }

  /// Another device that wrote an item at a time, and that this store has received.
  func receive(from other: TestStore, at time: Milliseconds) throws {
    other.clock.now = time
    let source = try other.open { $0.deviceKey = .none }
    try source.library("papers").add("elsewhere")
    let store = try test.open()
    _ = try MergeTests.ship(source, to: store)
    try store.close()
  }

  /// Every file with its bytes.
  func contents() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    func walk(_ folder: String) throws {
      for name in try test.files.entries(of: folder) {
        let path = "\(folder)/\(name)"
        if try test.files.info(path)?.kind == .directory {
          try walk(path)
        } else {
          found[path] = try bytes(of: path)
        }
      }
    }
    try walk(Self.path)
    return found
  }

  func diagnosis() throws -> [Fault] {
    var options = StoreOptions()
    let clock = test.clock
    options.clock = { clock.now }
    return try FavoritesStore.diagnose(at: Self.path, on: files, options: options)
  }
}

@Suite("What is wrong with a store")
struct DiagnosisTests {
  private static let hour: Milliseconds = 3_600_000

  private static let plants: [Plant] = [
    Plant(.unreadable) { $0.files.unreadable = $0.segment },
    Plant(.unwritable) { $0.files.writeRefusal = 13 },
    Plant(.readOnlyFileSystem) { $0.files.writeRefusal = 30 },
    Plant(.openToOthers) { $0.files.openToOthers = Patient.path },
    Plant(.keyOpenToOthers) { $0.files.openToOthers = "\(Patient.path)/keys/device" },
    Plant(.clockOutOfRange, and: [.clockBehind]) { $0.test.clock.now = -1 },
    Plant(.clockBehind) { $0.test.clock.now -= 2 * hour },
    Plant(.clockWasSetBack) { patient in
      patient.test.clock.now -= 2 * hour
      let store = try patient.test.open()
      try store.library("papers").add("later")
      _ = try store.makeCheckpoint()
      try store.close()
    },
    Plant(.deviceClockAhead) { try $0.receive(from: TestStore(), at: $0.test.clock.now + 2 * hour) },
    Plant(.unseenDevice) { try $0.receive(from: TestStore(), at: $0.test.clock.now - 100 * 24 * hour) },
    Plant(.diskFull) { $0.files.freeBytes = 4_096 },
    Plant(.networkFileSystem) { $0.files.isOnNetwork = true },
    Plant(.notDownloaded) {
      try $0.test.files.rename("\(Patient.path)/store", to: "\(Patient.path)/.store.icloud")
    },
    Plant(.damagedIdentity) { try $0.damage("\(Patient.path)/store") },
    Plant(.damagedSegment, and: [.damagedCheckpoint]) { try $0.damage($0.segment) },
    Plant(.lostCommits) { try $0.cutTail() },
    Plant(.tornTail) { patient in
      try patient.test.files.remove("\(patient.stream)/checkpoint")
      try patient.cutTail()
      try patient.clearPage()
    },
    Plant(.damagedEnd) { try $0.put(Array("heartlog".utf8), in: "\($0.stream)/ended") },
    Plant(.damagedCheckpoint) { try $0.put([1], in: "\($0.stream)/checkpoint") },
    Plant(.damagedSnapshot) { patient in
      try patient.snapshot()
      try patient.damage(patient.snapshotFile())
    },
    Plant(.unusedSnapshot) { patient in
      let other = try Patient()
      try other.snapshot()
      let file = try other.snapshotFile()
      try patient.put(other.bytes(of: file), in: file)
    },
    Plant(.lostSnapshot) {
      try $0.put([1], in: "\(Patient.path)/snapshots/0000000000000009-01234567.snapshot.lost")
    },
    Plant(.unfinishedErasure) { patient in
      let directory = StoreDirectory(fileSystem: patient.test.files, path: Patient.path)
      var list = ErasedList(isPending: true)
      try list.write(in: directory, StorageOptions())
    },
    Plant(.damagedKey) { try $0.damage("\(Patient.path)/keys/device") },
    Plant(.missingKey) { try $0.test.files.remove("\(Patient.path)/keys/device") },
    Plant(.foreignKey) { patient in
      let key = "\(Patient.path)/keys/device"
      try patient.put(Patient().bytes(of: key), in: key)
    },
    Plant(.damagedTrust) { try $0.put([1], in: "\(Patient.path)/keys/trusted") },
    Plant(.damagedLocalFields) { patient in
      let records = ["a", "b"].map {
        Event(localFields: [Field(name: "path", value: .string($0))], of: $0, in: "tapes")
      }
      var bytes = LocalFieldsFile.encoded(records)
      bytes[24] ^= 1
      try patient.put(bytes, in: "\(Patient.path)/local/\(patient.replica).fields")
    },
    Plant(.suspectSegment) {
      try $0.test.files.rename($0.segment, to: "\($0.stream)/0000000000000001.suspect")
    },
    Plant(.endedStream) { patient in
      let other = TestStore()
      try patient.receive(from: other, at: patient.test.clock.now)
      let end = "\(Patient.path)/replicas/\(try other.open().replica)/ended"
      try patient.put(StreamEnd(commit: 1).encoded(), in: end)
    },
    Plant(.droppedStream) { patient in
      let other = TestStore()
      try patient.receive(from: other, at: patient.test.clock.now)
      try patient.test.open().drop(try other.open().replica)
    },
    Plant(.ownStreamEnded) { try $0.put(StreamEnd(commit: 10).encoded(), in: "\($0.stream)/ended") },
    Plant(.provisionalVault) { try $0.test.files.remove("\($0.stream)/checkpoint") },
    Plant(.noOtherDevice) { _ in },
    Plant(.unshippedCommits) { patient in
      let identity = "\(Patient.path)/store"
      var changed = try StoreIdentity.decode(patient.bytes(of: identity), file: identity)
      changed.vault?.isEstablished = true
      try patient.put(changed.encoded(), in: identity)
      try patient.test.files.remove("\(patient.stream)/checkpoint")
    },
    Plant(.unsignedCommits) { patient in
      let other = TestStore()
      other.clock.now = patient.test.clock.now
      let source = try other.open()
      try source.library("papers").add("signed")
      _ = try source.makeCheckpoint()
      try source.library("papers").add("unsigned")
      let store = try patient.test.open()
      let head = try #require(try source.durableHeads().first { $0.replica == source.replica })
      let run = try #require(try source.streamRun(of: head.replica, after: 0, upTo: head.commit))
      _ = try store.receive(run)
      try store.close()
      let checkpoint = "\(Patient.path)/replicas/\(source.replica)/checkpoint"
      try patient.put(other.files.contents(of: checkpoint), in: checkpoint)
    },
    Plant(.missingLock) { try $0.test.files.remove("\(Patient.path)/lock") },
    Plant(.unfinishedFiles) { try $0.put([1], in: "\(Patient.path)/store.tmp-1") },
    Plant(.keptFiles) { try $0.put([1], in: "\($0.stream)/0000000000000001.cut-77") },
    Plant(.copiedFolder) { $0.files.otherMachine = true },
    Plant(.newerFormat) { patient in
      let text = "heartlog 2\nreplica \(patient.replica)\n"
      let checksum = Array(text.utf8).withUnsafeBytes { XXH3.hash($0, seed: 0) }
      let line = "checksum \(HybridTimestamp(rawValue: checksum))\n"
      try patient.put(Array((text + line).utf8), in: "\(Patient.path)/store")
    },
  ]

  @Test("a sound store that never synced is the only copy; one that synced has no other device yet")
  func sound() throws {
    let patient = try Patient()
    #expect(try patient.diagnosis().map(\.kind) == [.noOtherDevice])
    try patient.test.files.remove("\(patient.stream)/checkpoint")
    #expect(try patient.diagnosis().map(\.kind) == [.provisionalVault])
  }

  @Test(
    "what was written after the last sync is not at any other place, whether or not another device was met")
  func unshipped() throws {
    let patient = try Patient()
    let store = try patient.test.open()
    try store.library("papers").add("later")
    try store.close()
    let fault = try #require(try patient.diagnosis().first { $0.kind == .unshippedCommits })
    #expect(fault.detail == "1 of 11")
  }

  @Test("each fault is named, and nothing is changed", arguments: plants)
  func planted(plant: Plant) throws {
    var patient = try Patient()
    try plant.make(&patient)
    let before = try patient.contents()
    let kinds = Set(try patient.diagnosis().map(\.kind))
    #expect(kinds.contains(plant.kind), "\(kinds)")
    #expect(
      kinds.subtracting([plant.kind, .provisionalVault, .noOtherDevice]).isSubset(of: plant.others),
      "\(kinds)")
    #expect(try patient.contents() == before)
  }

  @Test("a lock that another process holds is named with the process, and is not waited for")
  func heldLock() throws {
    let patient = try Patient()
    let lock = try patient.test.files.openLock("\(Patient.path)/lock")
    #expect(try lock.tryLock())
    let fault = try #require(try patient.diagnosis().first { $0.kind == .heldLock })
    #expect(fault.detail == "process 4711 holds it")
    lock.unlock()
    #expect(try !patient.diagnosis().contains { $0.kind == .heldLock })
    #expect(try lock.tryLock(), "it was released")
  }

  @Test("every kind of fault is planted")
  func complete() {
    #expect(
      Set(Self.plants.map(\.kind)).union([.heldLock, .notAMember, .voidRecoveryCode, .damagedVaultKeys])
        == Set(Fault.Kind.allCases))
  }

  @Test("a folder without a store is none")
  func noStore() throws {
    let error = #expect(throws: HeartlogError.self) {
      try FavoritesStore.diagnose(
        at: "/nothing", on: MemoryFileSystem(), options: StoreOptions())
    }
    #expect(error?.code == .notAStore)
  }
}
