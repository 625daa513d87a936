/// What a disk may hold after the power went.
///
/// The model, exactly. A *sector* is `sectorBytes` of a file at a multiple of that offset.
///
/// - **Contents.** Since a file's last sync (`synchronizeData` or `synchronize` on any open of it), every
///   sector whose bytes changed holds, independently of all others, what it held at that sync or after any
///   one write since. A sector is never found half old, half new, and one that nothing wrote is as it was.
/// - **Size.** It is the size at the last sync or after any one change since, independently of the contents.
///   Bytes that are in the file by its size but were never written, or whose write is lost, are zeros or what
///   the last sync left there. A truncation that happened takes with it what was written before it behind its
///   end; one that did not leaves that in place.
/// - **Names.** Making, renaming and removing are lost or kept independently until the directory is synced; a
///   rename from one directory to another until both are. Operations on one name keep their order: one is
///   kept only where all earlier ones on its names (unsynced, too) are. A rename is one step: either name is
///   there, never both or none, and a file that it replaces is there until then. A synced file whose name is
///   not synced may be missing; a removed one that comes back has whatever its own contents allow. A directory
///   whose own name is lost takes with it what is in it.
/// - **A failed sync** makes nothing certain, and the system takes the sectors (and the size) that were
///   dirty for clean: a later sync that succeeds makes only those certain that were written again in between.
/// - **The lock page** is not synced: zeros, or as it was just before or just after the last operation (its
///   words change between operations). Sectors of it are not told apart. Locks and open files are gone.
///
/// What this assumes of disks: a sync that returned has reached the medium; a sector is written as one piece,
/// and writing it leaves its neighbours alone; nothing rots. What it leaves out although real file systems
/// promise it: any order between operations on different names or files, data that comes before its name.
///
/// The start of the journal counts as synced.
extension MemoryFileSystem {
  /// Forgets what happened so far: all that is there now counts as on the disk.
  package func startJournal() {
    state.withLock { $0.journal = Journal(base: $0.volume) }
  }

  /// How many operations the journal holds: a crash can come after 0 of them, or after all. Locking and
  /// storing words are none; failed syncs and `replaceContents` are each one.
  package var crashPoints: Int { state.withLock { $0.journal?.entries.count ?? 0 } }

  /// The file systems that may be found after a crash that came right after the first `operations` of the
  /// journal, different choices each, in an order that depends on the arguments only.
  ///
  /// Where there are more than `limit`: what programs saw (all kept), all lost, each one thing lost, each one
  /// thing kept (with what it needs), in a random order, then random ones, `limit` in all.
  ///
  /// - Parameters:
  ///   - operations: 0...`crashPoints`.
  ///   - sectorBytes: What the disk writes in one piece.
  package func crashStates(
    after operations: Int, sectorBytes: Int = 4096, limit: Int, seed: UInt64
  ) -> [MemoryFileSystem] {
    precondition(sectorBytes > 0 && limit > 0)
    var live = state.withLock { $0 }
    guard let journal = live.journal else { preconditionFailure("a file system that records nothing") }
    precondition((0...journal.entries.count).contains(operations))
    let disk = UnsyncedDisk(journal, after: operations, live: live, sectorBytes: sectorBytes)
    let answers = disk.allAnswers(limit: limit) ?? disk.someAnswers(limit: limit, seed: seed)
    live.closeEverything()
    return answers.map { answers in
      var found = live
      found.volume = disk.volume(answers)
      // A number is not given a second time, so that tests can tell files apart.
      found.volume.nextInode = live.volume.nextInode
      found.journal = Journal(base: found.volume)
      return MemoryFileSystem(found)
    }
  }
}

extension UnsyncedDisk {
  /// Every answer that differs, kept before lost; nil where there are more than `limit`, or too many to try.
  func allAnswers(limit: Int) -> [[Int]]? {
    // Answers that fall together are tried in vain; beyond so many of them picking is better.
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

  func someAnswers(limit: Int, seed: UInt64) -> [[Int]] {
    var random = SplitMix64(state: seed)
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
    // Few that differ may be left to find.
    for _ in 0..<min(limit, 1 << 32) * 8 where found.list.count < limit {
      let answers = counts.map { Int.random(in: 0..<$0, using: &random) }
      found.insert(answers, of: self, byKeeping: Bool.random(using: &random))
    }
    return Array(found.list.prefix(limit))
  }
}

/// Normal answers, each once, in the order they were found.
private struct Answers {
  private(set) var list: [[Int]] = []
  private var seen: Set<[Int]> = []

  mutating func insert(_ answers: [Int], of disk: UnsyncedDisk, byKeeping: Bool) {
    var normal = answers
    disk.normalize(&normal, byKeeping: byKeeping)
    if seen.insert(normal).inserted { list.append(normal) }
  }
}

/// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014).
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
