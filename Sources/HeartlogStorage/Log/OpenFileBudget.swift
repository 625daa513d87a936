import HeartlogFiles
import Synchronization

/// Bounds the files that logs keep open while nobody uses them, however many logs there are: those that were not used for longest rest.
///
/// Files that a call needs while it runs come on top: the lock of a log at rest, a folder, a segment or two.
final class OpenFileBudget: Sendable {
  /// A quarter of what the process may open, at least 16 and at most 1,024: the rest is the app's.
  static let process = OpenFileBudget { min(max(16, POSIXFileSystem.openFilesMax / 4), 1_024) }

  /// As many streams of one log keep their files open from one reading to the next; the others open theirs each time.
  static let streamsMax = 16

  private struct Use {
    weak var log: CommitLog?
    var files: Int
    /// When it was used last, as a count of all uses.
    var lastUse: UInt64
  }

  private struct State {
    var uses: [ObjectIdentifier: Use] = [:]
    var files = 0
    var useCount: UInt64 = 0
    /// What was noted last: said again, it changes nothing.
    var last: (log: ObjectIdentifier, files: Int)?
    /// There are too many still: those that were to rest were in use.
    var isOver = false

    /// - Returns: whether there are more than before.
    mutating func set(_ count: Int, for log: CommitLog) -> Bool {
      let key = ObjectIdentifier(log)
      let before = uses[key]?.files ?? 0
      files += count - before
      uses[key] = count == 0 ? nil : Use(log: log, files: count, lastUse: useCount)
      last = (key, count)
      return count > before
    }
  }

  private let state = Locked(State())
  /// The address of the log that was noted last, so that a log that is used again need not take the lock.
  private let lastLog = Atomic<UInt>(0)
  /// Asked each time that files come on top: the limit of a process can be raised.
  private let filesMax: @Sendable () -> Int

  init(filesMax: @escaping @Sendable () -> Int) { self.filesMax = filesMax }

  /// How many files the logs keep open.
  var files: Int { state.withLock(\.files) }

  /// Whether `log` was noted last: if its count is what it was, there is nothing to note.
  func wasLast(_ log: CommitLog) -> Bool { lastLog.load(ordering: .relaxed) == Self.address(of: log) }

  private static func address(of log: CommitLog) -> UInt { UInt(bitPattern: ObjectIdentifier(log)) }

  /// Notes that a log was used and keeps so many files open. Called in its monitor, so that what was noted last is what is true.
  ///
  /// - Returns: whether there may be too many now: then `makeRoom` is to be called, outside of the monitor.
  func note(_ log: CommitLog, files: Int) -> Bool {
    state.withLock { state in
      if let last = state.last, last.log == ObjectIdentifier(log), last.files == files { return false }
      state.useCount += 1
      lastLog.store(Self.address(of: log), ordering: .relaxed)
      return state.set(files, for: log) || state.isOver
    }
  }

  /// Makes other logs rest where there are too many files in all. What is in use at this moment stays; its log calls this when it is done.
  func makeRoom(besides log: CommitLog) {
    let filesMax = filesMax()
    // Some more than has to be, so that not every call has to look for others.
    let wanted = filesMax - filesMax / 4
    let isOver = state.withLock { state in
      // Said first: whoever is done with a log while others are looked at makes room himself.
      state.isOver = state.files > filesMax
      return state.isOver
    }
    guard isOver else { return }
    for other in longestUnused(but: log) {
      if files <= wanted { break }
      other.rest()
    }
    state.withLock { $0.isOver = $0.files > filesMax }
  }

  /// Notes that a log rests. Called in its monitor: what it opens next is noted after this.
  func didRest(_ log: CommitLog) { state.withLock { _ = $0.set(0, for: log) } }

  /// Notes that a log is going: it cannot be referred to any more.
  func forget(_ log: CommitLog) {
    let key = ObjectIdentifier(log)
    state.withLock { state in
      if let use = state.uses.removeValue(forKey: key) { state.files -= use.files }
      // Another log may be made in its place.
      if state.last?.log == key {
        state.last = nil
        lastLog.store(0, ordering: .relaxed)
      }
    }
  }

  private func longestUnused(but log: CommitLog) -> [CommitLog] {
    let key = ObjectIdentifier(log)
    // The last reference to a log must not go in here: it forgets itself.
    let uses = state.withLock { state in Array(state.uses) }
    return uses.filter { $0.key != key }.sorted { $0.value.lastUse < $1.value.lastUse }.compactMap(
      \.value.log)
  }
}
