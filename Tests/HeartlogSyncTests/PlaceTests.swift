import HeartlogSimulator
import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogTesting
import Synchronization
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("What each place promises")
struct PlaceTests {
  private static let writer = ReplicaID.made(1)

  /// The name of a run file.
  private func name(_ number: UInt64, content: UInt64 = 1, of stream: ReplicaID = writer) -> String {
    let name = RunFileName(
      first: number, last: number, root: RootPrefix(word: number), content: RootPrefix(word: content))
    return "\(FolderFile.folder(of: stream, by: Self.writer))/\(name.text)"
  }

  private func listed(_ objects: any Place) throws -> [String: UInt64?] {
    var catalogue = ObjectCatalogue()
    try catalogue.update(from: objects, SyncOptions())
    return catalogue.entries.mapValues(\.byteCount)
  }

  @Test("what was put is listed with its size, and read as it was", arguments: ObjectPlace.Kind.allCases)
  func roundTrip(kind: ObjectPlace.Kind) throws {
    let objects = try ObjectPlace(kind).objects
    #expect(try listed(objects).isEmpty)
    var expected: [String: UInt64?] = [:]
    for number in UInt64(1)...9 {
      let bytes = [UInt8](repeating: UInt8(number), count: Int(number * 1_000))
      try objects.put(name(number), bytes)
      expected[name(number)] = UInt64(bytes.count)
      #expect(try objects.get(name(number), bytesMax: bytes.count) == .bytes(bytes))
      #expect(try objects.get(name(number), bytesMax: bytes.count - 1) == .unreadable)
      #expect(try listed(objects) == expected)
    }
  }

  @Test(
    "the same bytes may be put again, and other bytes are refused by name",
    arguments: ObjectPlace.Kind.allCases)
  func putTwice(kind: ObjectPlace.Kind) throws {
    let objects = try ObjectPlace(kind).objects
    // To a server of files, what these bytes begin with is left of a put that broke off: `StorageTests`.
    let isStorage = kind == .webDAV || kind == .s3
    for other in [[1, 2, 4], [1, 2], isStorage ? [1, 2, 4, 4] : [1, 2, 3, 4]] as [[UInt8]] {
      try objects.put(name(1), [1, 2, 3])
      let error = #expect(throws: HeartlogError.self) { try objects.put(name(1), other) }
      #expect(error?.code == .exists && error?.message.contains(name(1)) == true)
      #expect(try objects.get(name(1), bytesMax: 10) == .bytes([1, 2, 3]))
    }
    #expect(try listed(objects) == [name(1): 3])
  }

  @Test("what was deleted is absent, and may be put again", arguments: ObjectPlace.Kind.allCases)
  func delete(kind: ObjectPlace.Kind) throws {
    let objects = try ObjectPlace(kind).objects
    #expect(try objects.get(name(1), bytesMax: 10).isAbsent)
    try objects.delete(name(1))
    try objects.put(name(1), [1])
    try objects.put(name(2), [2])
    for _ in 0..<2 { try objects.delete(name(1)) }
    #expect(try objects.get(name(1), bytesMax: 10).isAbsent)
    #expect(try listed(objects) == [name(2): 1])
    try objects.put(name(1), [3, 4])
    #expect(try objects.get(name(1), bytesMax: 10) == .bytes([3, 4]))
    #expect(try listed(objects) == [name(1): 2, name(2): 1])
  }

  @Test(
    "whoever continues from each cursor knows all that is there, whatever else happens meanwhile",
    arguments: ObjectPlace.Kind.allCases, 1...4 as ClosedRange<UInt64>)
  func continuing(kind: ObjectPlace.Kind, seed: UInt64) throws {
    let objects = try ObjectPlace(kind).objects
    var random = SeededGenerator(seed: seed)
    var present: [String: UInt64?] = [:]
    var catalogue = ObjectCatalogue()
    for step in 0..<300 as Range<UInt64> {
      switch UInt8.random(in: 0..<10, using: &random) {
      case 0..<6:
        let name = name(1 + step, of: ReplicaID.made(step % 3))
        try objects.put(name, [1, 2, 3])
        present[name] = 3
      case 6..<8:
        guard let name = present.keys.sorted().randomElement(using: &random) else { continue }
        try objects.delete(name)
        present[name] = nil
      default:
        try catalogue.update(from: objects, SyncOptions())
        // A deleted name may remain. No name that is there may be missing.
        #expect(present.allSatisfy { catalogue.entries[$0.key]?.byteCount == $0.value }, "seed \(seed)")
        #expect(
          try catalogue.entries.keys.allSatisfy {
            try present[$0] != nil || objects.get($0, bytesMax: 10).isAbsent
          })
      }
    }
    #expect(present.count > 50)
    #expect(try listed(objects) == present)
  }

  @Test("what a place lost is put again by those who wrote it", arguments: ObjectPlace.Kind.allCases)
  func loss(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let stores = try (1...3).map { try FavoritesStore.device($0, "device \($0)") }
    for store in stores { try store.write(30) }
    for store in stores + stores { _ = try place.sync(store) }
    let before = try place.names()
    if let memory = place.objects as? MemoryPlace {
      memory.loseAll()
    } else {
      for name in before { try place.replace(name, with: nil) }
    }
    for store in stores { _ = try place.sync(store) }
    // Of what was lost, the first to come has put the others' streams as well.
    let late = try FavoritesStore.device(9, "late")
    _ = try place.sync(late)
    #expect(try late.streams == stores[0].streams && late.streams.count == 3)
    #expect(Set(try place.names()).isSuperset(of: before))
  }

  // MARK: - Directories

  private let files = MemoryFileSystem()

  @Test("no name leads out of a directory")
  func names() throws {
    try files.createDirectory("/cloud")
    let objects = DirectoryPlace("/cloud", on: files)
    let stream = "\(Self.writer)/\(Self.writer)"
    for name in ["x", "../store", "\(stream)/a/b", "\(Self.writer)/../x", "/\(stream)", ""] {
      #expect { try objects.put(name, [1]) } throws: { ($0 as? HeartlogError)?.code == .invalid }
      #expect { try objects.delete(name) } throws: { ($0 as? HeartlogError)?.code == .invalid }
      #expect { try objects.get(name, bytesMax: 9) } throws: { ($0 as? HeartlogError)?.code == .invalid }
    }
    #expect(try files.entries(of: "/cloud").isEmpty)
  }

  @Test("a file that is not downloaded yet is listed without a size, is absent, and may be put")
  func placeholders() throws {
    try files.createDirectory("/cloud")
    let objects = DirectoryPlace("/cloud", on: files)
    try objects.put(name(1), [1])
    try files.replaceContents(of: "/cloud/\(name(1))", with: [])
    let hidden = name(2).replacing("/0000", with: "/.0000") + ".icloud"
    _ = try files.open("/cloud/\(hidden)", .createNew)
    #expect(try listed(objects) == [name(1): nil, name(2): nil])
    #expect(try objects.get(name(1), bytesMax: 9) == .absent && objects.get(name(2), bytesMax: 9) == .absent)
    for number in 1...2 as ClosedRange<UInt64> { try objects.put(name(number), [7]) }
    #expect(try listed(objects) == [name(1): 1, name(2): 1])
  }

  @Test(
    "what was put outlives a crash of the machine, also if it had been put before", arguments: [false, true])
  func durable(isAgain: Bool) throws {
    let files = MemoryFileSystem(root: "/", recording: true)
    try files.createDirectory("/cloud")
    try files.synchronizeDirectory("/")
    if isAgain {
      // Whoever put it first died before the name was durable.
      try DirectoryPlace("/cloud", on: files).put(name(2), [1, 2, 3])
      try files.open("/cloud/\(name(1))", .createNew).write([1, 2, 3], at: 0)
    }
    files.startJournal()
    try DirectoryPlace("/cloud", on: files).put(name(1), [1, 2, 3])
    let states = files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 20, seed: 1)
    #expect(!Array(states).isEmpty)
    for state in states {
      #expect(try DirectoryPlace("/cloud", on: state).get(name(1), bytesMax: 9) == .bytes([1, 2, 3]))
    }
  }
}

@Suite("Objects in memory with the faults of a network")
struct FaultyObjectsTests {
  @Test("a call that was lost did nothing, and one whose answer was lost did all")
  func lost() throws {
    let objects = MemoryPlace()
    objects.faults.lostCalls = 100
    #expect(throws: HeartlogError.self) { try objects.put("a", [1]) }
    #expect(objects.objects.isEmpty)
    objects.faults.lostCalls = 0
    objects.faults.lostAnswers = 100
    #expect(throws: HeartlogError.self) { try objects.put("a", [1]) }
    #expect(objects.objects == ["a": [1]])
    objects.faults.lostAnswers = 0
    try objects.put("a", [1])
    #expect(objects.putCount == 1)
  }

  /// Devices that write, sync and erase at random, through a place that loses, delays, repeats and reorders.
  @Test(
    "many devices converge, whatever is lost, late, repeated and out of order",
    arguments: [3, 10, 25], 1...3 as ClosedRange<UInt64>)
  func converge(percent: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 1_000 + UInt64(percent))
    let faults = Mutex(SeededGenerator(seed: seed))
    let objects = MemoryPlace(pageMax: 7, random: { faults.withLock { $0.next() } })
    var devices: [(store: FavoritesStore, carrier: PlaceCarrier)] = []
    let clock = ManualClock()
    for number in 1...6 as ClosedRange<UInt64> {
      devices.append(
        (try FavoritesStore.inMemory(clock: clock, seed: seed * 10 + number), PlaceCarrier(objects)))
    }
    objects.faults = MemoryPlace.Faults(each: percent)
    var (failures, written) = (0, 0)
    for _ in 0..<240 {
      let index = Int.random(in: 0..<devices.count, using: &random)
      let (store, carrier) = devices[index]
      clock.advance(by: 1)
      let papers = try store.library("papers")
      switch UInt8.random(in: 0..<20, using: &random) {
      case 0..<9:
        _ = try papers.toggle("\(Int.random(in: 0..<40, using: &random))")
        written += 1
      case 9:
        guard let item = papers.favorites().map(\.id).sorted().randomElement(using: &random) else { continue }
        // Where a redacted copy arrived before the wish to erase, the store cannot tell. Where the wish arrived and the sync then
        // failed, the next one erases.
        do throws(HeartlogError) { try store.erase(item, in: "papers") } catch {
          guard error.code == .notFound || error.message.contains("cannot tell what was there") else {
            throw error
          }
        }
      case 10:
        // The app starts again: it knows nothing of the place.
        devices[index].carrier = PlaceCarrier(objects)
      default:
        do {
          let report = try carrier.sync(store, options: SyncOptions())
          #expect(report.forks.isEmpty && report.folder?.damaged == 0, "seed \(seed)")
        } catch {
          #expect(
            error.code == .inputOutput && error.message.hasPrefix("no answer"), "seed \(seed): \(error)")
          failures += 1
        }
      }
    }
    #expect(written > 50 && failures > 0)
    objects.faults = MemoryPlace.Faults()
    devices.append((try FavoritesStore.inMemory(clock: clock, seed: seed * 10), PlaceCarrier(objects)))
    for _ in 0..<3 {
      for (store, carrier) in devices { _ = try carrier.sync(store, options: SyncOptions()) }
    }
    let digest = devices[0].store.digest
    for (store, carrier) in devices {
      #expect(store.digest == digest, "seed \(seed)")
      let quiet = try carrier.sync(store, options: SyncOptions())
      #expect(quiet.isComplete && quiet.received.commits == 0 && quiet.folder?.written == 0, "seed \(seed)")
    }
    // Nothing that was put stands for something else, and nothing was left half done.
    for (name, bytes) in objects.objects where name.hasSuffix(RunFileName.ending) {
      #expect(try RunFile(bytes).checkpoint?.isSigned == true, "seed \(seed), \(name)")
    }
  }
}
