import Dispatch
import HeartlogCrashModel
import HeartlogFiles
import HeartlogTesting
import Synchronization
import TestSupport
import Testing

@testable import Heartlog
@testable import HeartlogSync

/// Recorded dialogues in which messages are changed, cut, moved, repeated and made up, with all checksums put right. Whatever comes, a
/// session ends, and the store that heard it is sound, keeps its own favorites, and is the same when it is opened again.
@Suite("Fuzzed dialogues")
struct FuzzedDialogueTests {
  /// A store on files that can be copied.
  private struct Base {
    let files: MemoryFileSystem
    let favorites: Set<String>

    static let path = "/favorites.heartlog"

    func open(on files: MemoryFileSystem, seed: UInt64 = 77) throws -> FavoritesStore {
      var options = StoreOptions()
      options.snapshots = .manual
      options.clock = { 1_772_438_400_000 }
      let random = SeededRandom(seed: seed)
      options.random = { random.next() }
      return try FavoritesStore(at: Self.path, on: files, options: options)
    }

    /// A store of its own, where there is none, or another writer of the same one.
    init(_ files: MemoryFileSystem, seed: UInt64, writing names: [String], from peers: [Base] = []) throws {
      self.files = files
      let empty = Base(files: files, favorites: [])
      let store = try empty.open(on: files, seed: seed)
      for name in names { _ = try store.library("papers").add(name) }
      for peer in peers {
        let other = try peer.open(on: peer.files.deepCopy())
        _ = try StoreCarrier(other, description: "").sync(store, options: SyncOptions())
        try other.close()
      }
      favorites = Set(store.read { $0.favoriteIDs(in: "papers") })
      try store.close()
    }

    private init(files: MemoryFileSystem, favorites: Set<String>) {
      self.files = files
      self.favorites = favorites
    }
  }

  /// Who is fuzzed, and what the good other end said.
  private struct Recording {
    let base: Base
    let role: SyncSession.Role
    let messages: [RawMessage]
  }

  private static func names(_ tag: String, _ count: Int) -> [String] { (0..<count).map { "\(tag)-\($0)" } }

  private static func split(_ bytes: [UInt8]) -> [RawMessage] {
    var bytes = bytes
    return RawMessage.takeWhole(from: &bytes)
  }

  /// What both ends of a dialogue read.
  private static func record(_ caller: Base, _ server: Base) throws -> [Recording] {
    let (one, other) = try DescriptorChannel.pair()
    let channels = (TappedChannel(one), TappedChannel(other))
    let stores = (try caller.open(on: caller.files.deepCopy()), try server.open(on: server.files.deepCopy()))
    let served = Mutex<Result<SyncReport, HeartlogError>?>(nil)
    let group = DispatchGroup()
    DispatchQueue(label: "serving").async(group: group) {
      let session = SyncSession(stores.1, over: channels.1, role: .serving)
      served.withLock { $0 = Result { () throws(HeartlogError) in try session.run() } }
      channels.1.close()
    }
    let called = Result { () throws(HeartlogError) in
      try SyncSession(stores.0, over: channels.0, role: .calling).run()
    }
    channels.0.close()
    group.wait()
    _ = try called.get()
    _ = try served.withLock { $0 }?.get()
    return [
      Recording(base: caller, role: .calling, messages: split(channels.0.bytesRead)),
      Recording(base: server, role: .serving, messages: split(channels.1.bytesRead)),
    ]
  }

  private static func recordings() throws -> [Recording] {
    let desk = try Base(MemoryFileSystem(), seed: 3, writing: names("desk", 6))
    let phone = try Base(
      MemoryFileSystem(), seed: 1, writing: names("phone", 12), from: [desk])
    let tablet = try Base(MemoryFileSystem(), seed: 2, writing: names("tablet", 9))
    // Two lives of one store, each of which knows one of the others.
    let copy = phone.files.deepCopy()
    let first = try Base(phone.files, seed: 4, writing: names("first", 3))
    let second = try Base(copy, seed: 5, writing: names("second", 5), from: [tablet])
    return try record(first, tablet) + record(tablet, second) + record(first, second)
  }

  private static func mutate(
    _ messages: [RawMessage], _ others: [RawMessage], _ chance: inout SeededGenerator
  ) -> [UInt8] {
    var messages = messages
    for _ in 0..<Int.random(in: 1...3, using: &chance) where !messages.isEmpty {
      let place = messages.indices.randomElement(using: &chance) ?? 0
      let count = messages[place].payload.count
      let byte = count == 0 ? 0 : Int.random(in: 0..<count, using: &chance)
      switch Int.random(in: 0..<10, using: &chance) {
      case 0, 1, 2:
        if count > 0 { messages[place].payload[byte] ^= 1 << UInt8.random(in: 0..<8, using: &chance) }
      case 3:
        if count > 0 {
          messages[place].payload[byte] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &chance) ?? 0
        }
      case 4: messages[place].payload.insert(UInt8.random(in: 0...255, using: &chance), at: byte)
      case 5: messages[place].payload.removeSubrange(byte..<Int.random(in: byte...count, using: &chance))
      case 6: messages.swapAt(place, messages.indices.randomElement(using: &chance) ?? place)
      case 7: messages.insert(messages[place], at: messages.indices.randomElement(using: &chance) ?? place)
      case 8: messages.remove(at: place)
      default: messages.insert(others.randomElement(using: &chance) ?? messages[place], at: place)
      }
    }
    var bytes = RawMessage.joined(messages)
    if Int.random(in: 0..<8, using: &chance) == 0 {
      bytes.removeLast(Int.random(in: 0...bytes.count, using: &chance))
    }
    return bytes
  }

  /// Why a store is not as it must be; nil where it is.
  private static func problem(_ store: FavoritesStore, _ base: Base, on files: MemoryFileSystem) throws
    -> String?
  {
    if let finding = try store.verify().streams.compactMap(\.finding).first { return "\(finding.error)" }
    let missing = base.favorites.subtracting(store.read { $0.favoriteIDs(in: "papers") })
    if !missing.isEmpty { return "without its own \(missing)" }
    let digest = store.digest
    try store.close()
    let again = try base.open(on: files, seed: 78)
    if again.digest != digest { return "another store when it is opened again" }
    _ = try again.library("papers").add("one more")
    return nil
  }

  @Test(
    "a session ends, and its store is sound", arguments: [1, 2, 3, SeededRandom.testSeed()])
  func fuzzed(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    let recordings = try Self.recordings()
    let others = recordings.flatMap(\.messages)
    var succeeded = 0
    let dialogues = 100
    for number in 0..<dialogues {
      let recording = recordings[number % recordings.count]
      let bytes = Self.mutate(recording.messages, others, &chance)
      let files = recording.base.files.deepCopy()
      let store = try recording.base.open(on: files)
      let channel = RecordedChannel(reading: bytes)
      do throws(HeartlogError) {
        _ = try SyncSession(store, over: channel, role: recording.role).run()
        succeeded += 1
      } catch {
        #expect(
          [.peer, .inputOutput, .newerFormat, .locked, .otherVault].contains(error.code),
          "seed \(seed), dialogue \(number): \(error)")
      }
      let problem = try Self.problem(store, recording.base, on: files)
      #expect(problem == nil, "seed \(seed), dialogue \(number): \(problem ?? "")")
    }
    // Some changes mean nothing, as of a clock; most must be refused.
    #expect(succeeded < dialogues / 2, "\(succeeded) of \(dialogues) were taken")
  }

  @Test("what was recorded is taken as it is")
  func unchanged() throws {
    var received: UInt64 = 0
    for recording in try Self.recordings() {
      let files = recording.base.files.deepCopy()
      let store = try recording.base.open(on: files)
      let channel = RecordedChannel(reading: RawMessage.joined(recording.messages))
      // The branches of forked streams are derived alike, so that a replay is understood to its end.
      let report = try SyncSession(store, over: channel, role: recording.role).run()
      #expect(try report.isComplete && Self.problem(store, recording.base, on: files) == nil)
      received += report.received.commits
    }
    #expect(received > 0)
  }
}
