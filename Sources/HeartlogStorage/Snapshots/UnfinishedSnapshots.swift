import HeartlogFiles

/// The snapshots that this process is writing, by their temporary paths: a file that carries its number and is not among them was left by
/// an earlier process of that number.
final class UnfinishedSnapshots: Sendable {
  static let shared = UnfinishedSnapshots()

  private let paths = Locked<Set<String>>([])

  func begin(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  func end(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Whether a name is that of an unfinished snapshot whose process is no more. One that is taken for that by mistake, as in another
  /// container, loses its snapshot and nothing else.
  static func isAbandoned(_ name: String, in folder: String, on fileSystem: any FileSystem) -> Bool {
    guard let process = process(of: name) else { return false }
    if process == fileSystem.processID {
      return shared.paths.withLock { !$0.contains("\(folder)/\(name)") }
    }
    return !fileSystem.isRunning(process)
  }

  /// The process in `….snapshot.tmp-4711-9f8e7d6c`; nil for any other name.
  private static func process(of name: String) -> Int32? {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let last = parts.last, last.starts(with: "tmp-".utf8),
      SnapshotFile(name: String(name.dropLast(last.count + 1))) != nil
    else { return nil }
    return Int32(Substring(last.dropFirst(4).prefix { $0 != UInt8(ascii: "-") }))
  }
}
