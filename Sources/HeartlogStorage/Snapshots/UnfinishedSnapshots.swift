import HeartlogFiles

/// The temporary paths of the snapshots that this process is writing. An unfinished file with this process's id that is not among
/// them was left by an earlier process with the same id.
final class UnfinishedSnapshots: Sendable {
  static let shared = UnfinishedSnapshots()

  private let paths = Locked<Set<String>>([])

  func begin(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  func end(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Whether a name is that of an unfinished snapshot whose process has ended. If that is wrong, as with a process in another
  /// container, only that snapshot is lost.
  static func isAbandoned(_ name: String, in folder: String, on fileSystem: any FileSystem) -> Bool {
    guard let process = process(of: name) else { return false }
    if process == fileSystem.processID {
      return shared.paths.withLock { !$0.contains("\(folder)/\(name)") }
    }
    return !fileSystem.isRunning(process)
  }

  /// The process id in `….snapshot.tmp-4711-9f8e7d6c`; nil for any other name.
  private static func process(of name: String) -> Int32? {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let last = parts.last, last.starts(with: "tmp-".utf8),
      SnapshotFile(name: String(name.dropLast(last.count + 1))) != nil
    else { return nil }
    return Int32(Substring(last.dropFirst(4).prefix { $0 != UInt8(ascii: "-") }))
  }
}
