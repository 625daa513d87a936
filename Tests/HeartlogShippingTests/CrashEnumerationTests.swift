import Foundation
import HeartlogFiles
import HeartlogStorage
import Testing

@testable import Heartlog
@testable import HeartlogEvents
@testable import HeartlogShipping

/// Short workloads, each cut off after every file operation, with every subset of what was not yet synced lost, kept or torn.
@Suite("Every crash of every short workload")
struct CrashEnumerationTests {
  /// What a store may be asked to do.
  enum Step: String, CaseIterable {
    case append, appendBuffered, flush, rotate, seal, snapshot, receive, erase, repair, appendElsewhere
  }

  /// Above this number of subsets: none, all, each alone, all but each, and random ones.
  private static let subsetsMax = 1 << 10

  @Test("no acknowledged write is lost, nothing is damaged, and everything goes on")
  func workloads() throws {
    let lengthMax = ProcessInfo.processInfo.environment["HEARTLOG_CRASH_STEPS"].flatMap { Int($0) } ?? 1
    var seen: Set<Digest> = []
    var counts = Counts()
    for workload in Self.workloads(upTo: lengthMax) {
      let run = try WorkloadRun(workload)
      try run.check(subsetsMax: Self.subsetsMax, &seen, &counts)
    }
    print(
      "crashes: \(counts.workloads) workloads of up to \(lengthMax) steps, \(counts.points) crash points, \(counts.states) states, \(seen.count) different"
    )
    #expect(seen.count > 100)
  }

  /// All sequences of at least one step.
  static func workloads(upTo lengthMax: Int) -> [[Step]] {
    var all: [[Step]] = []
    var last: [[Step]] = [[]]
    for _ in 0..<lengthMax {
      last = last.flatMap { start in Step.allCases.map { start + [$0] } }
      all += last
    }
    return all
  }

  struct Counts {
    var workloads = 0
    var points = 0
    var states = 0
  }
}

/// A workload that was run on a store in memory, and what was acknowledged when.
private final class WorkloadRun {
  private typealias Step = CrashEnumerationTests.Step

  private let steps: [Step]
  private let files = MemoryFileSystem(root: "/")
  private let source: FavoritesStore
  /// Ids that anybody ever tried to add.
  private var attempted: Set<String> = []
  /// Ids that are favorites from a number of operations on.
  private var acknowledged: [(point: Int, id: String)] = []
  /// Ids whose erasure began at a number of operations, and was acknowledged at another.
  private var erased: [(start: Int, end: Int, id: String)] = []
  /// Buffered ids that are not acknowledged as durable yet.
  private var buffered: [String] = []
  private var number = 0
  /// The operations of the whole workload; a flush in the background may add others later.
  private var end = 0
  private var received: UInt64 = 0

  private static let path = "/store"

  private static func open(_ files: MemoryFileSystem) throws -> FavoritesStore {
    var options = StoreOptions()
    options.snapshots = .manual
    options.changeStorage = {
      $0.segmentBytesMax = 8_192
      $0.sealsInBackground = false
    }
    return try FavoritesStore(at: path, on: files, options: options)
  }

  init(_ steps: [CrashEnumerationTests.Step]) throws {
    self.steps = steps
    var options = StoreOptions()
    options.deviceKey = .none
    source = try FavoritesStore.inMemory(options: options)
    for index in 0..<4 { try source.library("papers").add("elsewhere \(index)") }
    var store = try Self.open(files)
    for index in 0..<4 { try add("base \(index)", to: store, .durable) }
    try receive(in: store)
    files.startJournal()
    for step in steps { try perform(step, &store) }
    end = files.journalCount
  }

  private func add(_ id: String, to store: FavoritesStore, _ durability: Heartlog.Durability, bytes: Int = 10)
    throws
  {
    attempted.insert(id)
    let note = Field(name: "t", value: .string(String(repeating: "x", count: bytes)))
    try store.write(durability: durability) { _ = try store.library("papers").add(id, fields: [note]) }
    if durability == .buffered {
      buffered.append(id)
    } else {
      acknowledge(buffered + [id])
      buffered = []
    }
  }

  private func acknowledge(_ ids: [String]) {
    for id in ids { acknowledged.append((files.journalCount, id)) }
  }

  private func next(_ kind: String) -> String {
    number += 1
    return "\(kind) \(number)"
  }

  private func receive(in store: FavoritesStore) throws {
    guard received < 4 else { return }
    let run = try #require(
      try source.streamRun(
        of: source.replica, after: received, upTo: CommitNumber(rawValue: received + 1)))
    let id = "elsewhere \(received)"
    attempted.insert(id)
    guard case .appended = try store.receive(run) else { throw HeartlogError(.peer, "not appended") }
    acknowledge([id])
    received += 1
  }

  private func perform(_ step: CrashEnumerationTests.Step, _ store: inout FavoritesStore) throws {
    switch step {
    case .append: try add(next("durable"), to: store, .durable)
    case .appendBuffered: try add(next("buffered"), to: store, .buffered)
    case .flush:
      try store.flush()
      acknowledge(buffered)
      buffered = []
    case .rotate: try add(next("large"), to: store, .durable, bytes: 9_000)
    case .seal: try store.seal()
    case .snapshot: _ = try store.snapshot()
    case .receive: try receive(in: store)
    case .erase:
      guard erased.count < 4 else { return }
      let id = "base \(erased.count)"
      erased.append((files.journalCount, .max, id))
      try store.erase(id, in: "papers")
      erased[erased.count - 1].end = files.journalCount
    case .repair:
      try store.close()
      acknowledge(buffered)
      buffered = []
      var bytes = try files.contents(of: "\(Self.path)/store")
      bytes[12] ^= 1
      try files.replaceContents(of: "\(Self.path)/store", with: bytes)
      _ = try StoreRepair.run(at: Self.path, on: files, name: nil, isDryRun: false, progress: nil)
      store = try Self.open(files)
    case .appendElsewhere:
      let other = try Self.open(files)
      let id = next("elsewhere, durable")
      attempted.insert(id)
      try other.library("papers").add(id)
      acknowledge([id])
      try other.close()
    }
  }

  func check(
    subsetsMax: Int, _ seen: inout Set<Digest>, _ counts: inout CrashEnumerationTests.Counts
  ) throws {
    counts.workloads += 1
    for point in 0...end {
      counts.points += 1
      for state in files.crashStates(after: point, sectorBytes: 512, limit: subsetsMax, seed: 7) {
        counts.states += 1
        let required = Set(acknowledged.filter { $0.point <= point }.map(\.id)).subtracting(
          erased.filter { $0.start < point }.map(\.id))
        let gone = Set(erased.filter { $0.end <= point }.map(\.id))
        var key = SHA256Hasher()
        state.image(of: "/").withUnsafeBytes { key.update($0) }
        for text in [required.sorted(), gone.sorted()] {
          Array(text.joined(separator: "\n").utf8 + [0]).withUnsafeBytes { key.update($0) }
        }
        guard seen.insert(key.finish()).inserted else { continue }
        let problem = try problem(in: state, required: required, gone: gone)
        #expect(problem == nil, "\(steps.map(\.rawValue)), after \(point) of \(end) operations")
        if problem != nil { return }
      }
    }
  }

  /// What is wrong with a state; nil if nothing is.
  private func problem(
    in files: MemoryFileSystem, required: Set<String>, gone: Set<String>
  ) throws -> String? {
    var store: FavoritesStore
    do throws(HeartlogError) { store = try openOrRepair(files) } catch { return "open: \(error)" }
    func problem(_ when: String) throws -> String? {
      let found = Set(try store.library("papers").favorites().map(\.id))
      if let lost = required.subtracting(found).first { return "\(when): \(lost) is lost" }
      if let more = found.subtracting(attempted).first { return "\(when): \(more) was never written" }
      if let back = gone.intersection(found).first { return "\(when): \(back) is back" }
      if let finding = store.findings.first(where: { $0.verdict != .torn }) { return "\(when): \(finding)" }
      return nil
    }
    do {
      if let found = try problem("opened") { return found }
      attempted.insert("after")
      try store.library("papers").add("after")
      if let found = try problem("written") { return found }
      let peer = try FavoritesStore.inMemory()
      _ = try StoreCarrier(streams: peer, description: "peer").sync(streams: store, options: SyncOptions())
      if let found = try problem("synced") { return found }
      if peer.digest != store.digest { return "the peer shows something else" }
      if try store.replay(upTo: nil).state.digest != store.digest { return "the log leads to another state" }
      let verified = try FavoritesStore.verify(at: Self.path, on: files, progress: nil)
      if let finding = verified.streams.compactMap(\.finding).first { return "verify: \(finding)" }
      if let snapshot = verified.snapshots.first(where: { $0.problem != nil }) {
        return "verify: \(snapshot)"
      }
      let digest = store.digest
      try store.close()
      store = try Self.open(files)
      if store.digest != digest { return "opened again, it shows something else" }
      return try problem("opened again")
    } catch {
      return "\(error)"
    }
  }

  private func openOrRepair(_ files: MemoryFileSystem) throws(HeartlogError) -> FavoritesStore {
    do { return try Self.open(files) } catch {
      guard (error as? HeartlogError)?.isRepairable == true else {
        throw error as? HeartlogError ?? HeartlogError(.inputOutput, "\(error)")
      }
    }
    do {
      _ = try StoreRepair.run(at: Self.path, on: files, name: nil, isDryRun: false, progress: nil)
      return try Self.open(files)
    } catch { throw error as? HeartlogError ?? HeartlogError(.inputOutput, "\(error)") }
  }
}

extension MemoryFileSystem {
  /// The number of operations since the journal began; 0 before that.
  fileprivate var journalCount: Int { crashPoints }

  /// Every name with its content.
  fileprivate func image(of folder: String) -> [UInt8] {
    var image: [UInt8] = []
    for name in ((try? entries(of: folder)) ?? []).sorted() {
      let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
      image += Array(path.utf8) + [0]
      if (try? info(path))?.kind == .directory {
        image += self.image(of: path)
      } else {
        let bytes = (try? contents(of: path)) ?? []
        image += Array("\(bytes.count)".utf8) + [0] + bytes
      }
    }
    return image
  }
}
