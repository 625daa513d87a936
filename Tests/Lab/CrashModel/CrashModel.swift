import HeartlogFiles
import TestSupport

/// The contents that a disk may have after a power failure.
///
/// The model, exactly. A *sector* is `sectorBytes` of a file at a multiple of that offset.
///
/// - **Contents.** Every sector whose bytes changed since the file's last sync (`synchronizeData` or
///   `synchronize` on any open of it) holds, independently of all others, its contents at that sync or after
///   any one write since. A sector is never half old and half new, and a sector that was not written is
///   unchanged.
/// - **Size.** The size is that of the last sync or after any one change since, independently of the contents.
///   Bytes within the size that were never written, or whose write is lost, are zeros or the contents at the
///   last sync. A truncation that took effect also removes earlier writes after its end; a truncation that was
///   lost leaves them in place.
/// - **Names.** Creations, renames and removals are lost or kept independently until the directory is synced;
///   a rename between directories, until both are. Operations on one name keep their order: an operation is
///   kept only if all earlier unsynced ones on its names are. A rename is atomic: exactly one of the two names
///   exists, and a file that it replaces exists until then. A synced file whose name is not synced may be
///   missing; a removed file that reappears has any contents that the rules for contents allow. If the name of
///   a directory is lost, so is everything in it.
/// - **A failed sync** guarantees nothing, and the system considers the sectors (and the size) that were dirty
///   as clean: a later successful sync makes only those durable that were written again in between.
/// - **The lock page** is not synced: it is all zeros, or as it was just before or just after the last
///   operation (its words change between operations). Its sectors are not considered separately. Locks and
///   open files are gone.
///
/// What this assumes about disks: a sync that returned has reached the medium; a sector is written atomically,
/// and writing it leaves its neighbours unchanged; stored bytes do not decay. What it does not assume although
/// real file systems promise it: any order between operations on different names or files, and data that is
/// durable before its name.
///
/// The state at the start of the journal counts as synced.
extension MemoryFileSystem {
  /// Starts a new journal: the present state counts as being on disk.
  package func startJournal() {
    state.withLock { $0.recorder.journal = Journal(base: $0.volume) }
  }

  /// The number of operations in the journal. A crash can follow any number of them, from 0 to all. Locking
  /// and storing words do not count; failed syncs and `replaceContents` count as one each.
  package var crashPoints: Int { state.withLock { $0.recorder.journal?.entries.count ?? 0 } }

  /// Returns the file systems that may be found after a crash right after the first `operations` of the
  /// journal. All are different, and their order depends only on the arguments.
  ///
  /// If there are more than `limit`, the result contains what programs saw (all kept), all lost, each single
  /// thing lost, each single thing kept (with what it needs), in random order, then random ones, `limit` in
  /// all.
  ///
  /// - Parameters:
  ///   - operations: 0...`crashPoints`.
  ///   - sectorBytes: The number of bytes that the disk writes atomically.
  package func crashStates(
    after operations: Int, sectorBytes: Int = 4096, limit: Int, seed: UInt64
  ) -> [MemoryFileSystem] {
    precondition(limit > 0)
    return crash(after: operations, sectorBytes: sectorBytes) { disk in
      disk.allAnswers(limit: limit) ?? disk.someAnswers(limit: limit, seed: seed)
    }
  }

  /// Returns one file system that may be found after a crash at this moment, drawn at random.
  package func crashState(sectorBytes: Int = 4096, seed: UInt64) -> MemoryFileSystem {
    crash(after: crashPoints, sectorBytes: sectorBytes) { [$0.randomAnswers(seed: seed)] }[0]
  }

  private func crash(
    after operations: Int, sectorBytes: Int, choosing answers: (UnsyncedDisk) -> [[Int]]
  ) -> [MemoryFileSystem] {
    precondition(sectorBytes > 0)
    var live = state.withLock { $0 }
    guard let journal = live.recorder.journal else {
      preconditionFailure("a file system that records nothing")
    }
    precondition((0...journal.entries.count).contains(operations))
    let disk = UnsyncedDisk(journal, after: operations, live: live, sectorBytes: sectorBytes)
    live.closeEverything()
    return answers(disk).map { answers in
      var found = live
      found.volume = disk.volume(answers)
      // Inode numbers are not reused, so that tests can distinguish files.
      found.volume.nextInode = live.volume.nextInode
      found.recorder.journal = Journal(base: found.volume)
      return MemoryFileSystem(found)
    }
  }
}

extension UnsyncedDisk {
  /// Returns all distinct answers, kept before lost; nil if there are more than `limit`, or too many
  /// combinations to try.
  func allAnswers(limit: Int) -> [[Int]]? {
    // Combinations with equal results are tried in vain; above this number, random choices are better.
    let triesMax = min(limit, 1 << 32) * 16
    var product = 1
    for count in counts {
      let (next, overflow) = product.multipliedReportingOverflow(by: count)
      if overflow || next > triesMax { return nil }
      product = next
    }
    var found = Answers()
    var answers = counts.map { $0 - 1 }
    for _ in 0..<product {
      found.insert(answers, of: self, byKeeping: false)
      if found.list.count > limit { return nil }
      for index in answers.indices {
        if answers[index] > 0 {
          answers[index] -= 1
          break
        }
        answers[index] = counts[index] - 1
      }
    }
    return found.list
  }

  /// Everything kept, everything lost, or any mixture.
  func randomAnswers(seed: UInt64) -> [Int] {
    var random = SeededGenerator(seed: seed)
    let keptPercent = [0, 100, 50, 90, 10].randomElement(using: &random) ?? 50
    var answers = counts.map { count in
      Int.random(in: 0..<100, using: &random) < keptPercent
        ? count - 1 : Int.random(in: 0..<count, using: &random)
    }
    if keptPercent == 0 { answers = counts.map { _ in 0 } }
    normalize(&answers, byKeeping: Bool.random(using: &random))
    return answers
  }

  func someAnswers(limit: Int, seed: UInt64) -> [[Int]] {
    var random = SeededGenerator(seed: seed)
    let kept = counts.map { $0 - 1 }
    let lost = counts.map { _ in 0 }
    var found = Answers()
    found.insert(kept, of: self, byKeeping: true)
    found.insert(lost, of: self, byKeeping: false)
    let singles = counts.indices.flatMap { [($0, true), ($0, false)] }.shuffled(using: &random)
    for (index, isKept) in singles where found.list.count < limit {
      var answers = isKept ? lost : kept
      answers[index] = isKept ? kept[index] : 0
      found.insert(answers, of: self, byKeeping: isKept)
    }
    // Bounded, because few distinct answers may be left to find.
    for _ in 0..<min(limit, 1 << 32) * 8 where found.list.count < limit {
      let answers = counts.map { Int.random(in: 0..<$0, using: &random) }
      found.insert(answers, of: self, byKeeping: Bool.random(using: &random))
    }
    return Array(found.list.prefix(limit))
  }
}

/// Normalized answers without duplicates, in the order in which they were found.
private struct Answers {
  private(set) var list: [[Int]] = []
  private var seen: Set<[Int]> = []

  mutating func insert(_ answers: [Int], of disk: UnsyncedDisk, byKeeping: Bool) {
    var normal = answers
    disk.normalize(&normal, byKeeping: byKeeping)
    if seen.insert(normal).inserted { list.append(normal) }
  }
}
