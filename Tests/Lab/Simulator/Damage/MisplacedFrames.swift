import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogTesting

/// Frames that stand elsewhere than they were written: a write went astray, or a file got blocks that belonged to another.
///
/// The streams were written in turn. So a frame of one may have the number, the first event and a stamp of what belongs into another: its
/// checksums alone tell that it does not.
struct MisplacedFrames {
  private struct Frame {
    var path: String
    var offset: Int
    var firstCommit: UInt64
    var bytes: ArraySlice<UInt8>
  }

  private static let path = "/store"
  private static let headerBytes = 40
  private static let segmentHeaderBytes = 4_096
  /// How many commits the streams have; the own one is the first.
  private static let commitCounts = [4, 3, 5, 6]

  private let files = MemoryFileSystem()
  private let clock = ManualClock()
  private let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
  private let commits: [ReplicaID: [Commit]]
  private var frames: [Frame] = []
  /// Where a frame begins or may be appended, and which commit is expected there.
  private var places: [(path: String, offset: Int, commit: UInt64)] = []

  init() throws {
    let options = Self.options(SeededRandom(seed: 8), clock, process)
    let store = try FavoritesStore(at: Self.path, on: files, options: options)
    var stores = [store]
    while stores.count < Self.commitCounts.count { stores.append(try .inMemory(options: options)) }
    for round in 1...(Self.commitCounts.max() ?? 1) {
      for (store, count) in zip(stores, Self.commitCounts) where round <= count {
        clock.advance(by: 1)
        try store.library("papers").add("\(round) of \(count)")
      }
    }
    for (other, count) in zip(stores, Self.commitCounts).dropFirst() {
      for commit in 1...UInt64(count) {
        let last = CommitNumber(rawValue: commit)
        guard let run = try other.streamRun(of: other.replica, after: commit - 1, upTo: last),
          case .appended = try store.receive(run)
        else { throw Violation("the run was not appended") }
      }
    }
    commits = try Self.commits(of: store).found
    try store.close()
    for path in World.files(in: "\(Self.path)/replicas", of: files) where path.hasSuffix(".open") {
      let bytes = try files.contents(of: path)
      var offset = Self.segmentHeaderBytes
      var next: UInt64 = 1
      while offset + Self.headerBytes <= bytes.count, bytes[offset] != 0 {
        let bodyBytes = Int(bytes.word(offset) >> 32)
        let end = offset + (Self.headerBytes + bodyBytes + 7) / 8 * 8
        frames.append(Frame(path: path, offset: offset, firstCommit: next, bytes: bytes[offset..<end]))
        places.append((path, offset, next))
        next += 1
        offset = end
      }
      places.append((path, offset, next))
    }
    guard frames.count == Self.commitCounts.reduce(0, +) else {
      throw Violation("there are \(frames.count) frames")
    }
  }

  private static func options(
    _ random: SeededRandom, _ clock: ManualClock, _ process: SimulatedProcess
  ) -> StoreOptions {
    var options = StoreOptions.simulated(random, clock, process)
    // A signature would cover what was written until it was made.
    options.deviceKey = .none
    return options
  }

  /// Puts frames where they do not belong: the first part tries those with the number that is expected there, all parts a share of the
  /// others.
  ///
  /// - Returns: How many were tried.
  /// - Throws: `Violation`, if a commit is shown that was not written there, or some are missing and nothing says so.
  static func check(part: Int, of parts: Int) throws -> Int {
    let store = try MisplacedFrames()
    var tried = 0
    var index = 0
    for place in store.places {
      for frame in store.frames where frame.path != place.path || frame.offset != place.offset {
        index += 1
        guard frame.firstCommit == place.commit ? part == 0 : index % parts == part else { continue }
        tried += 1
        do { try store.check(frame, at: place.offset, of: place.path) } catch {
          throw Violation(
            "\(frame.path) at \(frame.offset), copied to \(place.path) at \(place.offset): \(error)")
        }
      }
    }
    return tried
  }

  private func check(_ frame: Frame, at offset: Int, of path: String) throws {
    let copy = files.deepCopy()
    var bytes = try copy.contents(of: path)
    let end = offset + frame.bytes.count
    bytes += [UInt8](repeating: 0, count: max(0, end - bytes.count))
    bytes.replaceSubrange(offset..<end, with: frame.bytes)
    try copy.replaceContents(of: path, with: bytes)
    var isNamed = try FavoritesStore.verify(at: Self.path, on: copy, progress: nil).streams.contains {
      $0.finding != nil
    }
    var isWritten = false
    for attempt in ["opened", "written and opened again"] {
      let options = Self.options(SeededRandom(seed: 9), clock, process)
      let store: FavoritesStore
      do throws(HeartlogError) { store = try FavoritesStore(at: Self.path, on: copy, options: options) } catch
      {
        guard isNamed else { throw Violation("\(attempt): it does not open, and nothing is found: \(error)") }
        return
      }
      if !store.findings.isEmpty { isNamed = true }
      try compare(store, isNamed, attempt)
      let papers = try store.library("papers")
      guard !isWritten || isNamed || papers.contains(Self.later) else {
        throw Violation("\(attempt): what was written is lost")
      }
      // A damaged stream is not written on.
      do {
        try papers.add(Self.later)
        isWritten = true
      } catch {
        guard isNamed else { throw Violation("\(attempt): writing fails, and nothing says why: \(error)") }
      }
      try store.close()
    }
  }

  /// The id of what is added afterwards.
  private static let later = "later"

  private func compare(_ store: FavoritesStore, _ isNamed: Bool, _ attempt: String) throws {
    let (found, isWhole) = try Self.commits(of: store)
    var state = FavoritesState()
    for replica in Set(commits.keys).union(found.keys).sorted() {
      let read = found[replica] ?? []
      for commit in read { _ = state.apply(commit) }
      // What was written since.
      let before = read.filter { !$0.records.contains { $0.event?.item == Self.later } }
      guard let expected = commits[replica] ?? (before.isEmpty ? [] : nil),
        before.count <= expected.count, before.elementsEqual(expected[..<before.count])
      else { throw Violation("\(attempt): the commits of \(replica) are not what was written") }
      guard before.count == expected.count || isNamed || !isWhole else {
        throw Violation("\(attempt): commits of \(replica) are gone, and nothing says so")
      }
    }
    guard state.digest == store.digest else {
      throw Violation("\(attempt): the state is not that of the log")
    }
  }

  /// The commits that can be read, and whether nothing was found on the way.
  private static func commits(
    of store: FavoritesStore
  ) throws -> (found: [ReplicaID: [Commit]], isWhole: Bool) {
    var found: [ReplicaID: [Commit]] = [:]
    let reader = try store.readLog()
    do throws(HeartlogError) {
      while let commit = try reader.next() { found[commit.replica, default: []].append(commit) }
    } catch { return (found, false) }
    return (found, reader.findings.isEmpty)
  }
}
