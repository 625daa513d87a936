/// A file system wholly in memory, which acts as the system's does: inodes, files that stay open when their
/// name goes, one lock a file held by one open. It records what it was asked to do (`trace`), can be told to
/// fail, and knows what a disk might hold after a crash (`crashStates`).
///
/// Paths count from its own root, with or without a leading slash. Safe to use from several threads.
package final class MemoryFileSystem: FileSystem {
  let state: Locked<MemoryState>

  /// An empty file system, but for the directories above `root`.
  ///
  /// - Parameters:
  ///   - root: What the paths in the trace are relative to. The directory itself is not made; it is "." there.
  ///   - recording: Whether to keep the trace and the journal, which grow with every operation.
  package convenience init(root: String = "/", recording: Bool = true) {
    self.init(MemoryState(root: root, recording: recording))
  }

  init(_ initial: MemoryState) {
    state = Locked(initial)
  }

  // MARK: - The seam

  package func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any OpenFile {
    let inode = try state.withLock { (state) throws(FileError) in try state.open(path, mode) }
    return MemoryOpenFile(self, inode, path: path, isWritable: mode != .read)
  }

  package func rename(_ path: String, to newPath: String) throws(FileError) {
    try state.withLock { (state) throws(FileError) in try state.rename(path, to: newPath) }
  }

  package func remove(_ path: String) throws(FileError) {
    try state.withLock { (state) throws(FileError) in try state.remove(path) }
  }

  package func createDirectory(_ path: String) throws(FileError) {
    try state.withLock { (state) throws(FileError) in try state.createDirectory(path) }
  }

  package func synchronizeDirectory(_ path: String) throws(FileError) {
    try state.withLock { (state) throws(FileError) in try state.synchronizeDirectory(path) }
  }

  package func entries(of directory: String) throws(FileError) -> [String] {
    try state.withLock { (state) throws(FileError) in try state.entries(of: directory) }
  }

  package func info(_ path: String) throws(FileError) -> FileInfo? {
    try state.withLock { (state) throws(FileError) in try state.info(path) }
  }

  package func openLock(_ path: String) throws(FileError) -> any LockFile {
    let opened = try state.withLock { (state) throws(FileError) in try state.openLock(path) }
    return MemoryLockFile(self, opened, path: path)
  }

  package func isOnNetwork(_ path: String) throws(FileError) -> Bool {
    try state.withLock { (state) throws(FileError) in
      _ = try state.existing(SystemCall("inspect", path))
      return state.onNetwork
    }
  }

  // MARK: - What a test may set

  package var machineID: [UInt8] {
    get { state.withLock { $0.machineID } }
    set { state.withLock { $0.machineID = newValue } }
  }

  package var processID: Int32 {
    get { state.withLock { $0.processID } }
    set { state.withLock { $0.processID = newValue } }
  }

  /// What `isOnNetwork` says of every path.
  package var onNetwork: Bool {
    get { state.withLock { $0.onNetwork } }
    set { state.withLock { $0.onNetwork = newValue } }
  }

  /// Whether every change is refused with `EROFS`.
  package var isReadOnly: Bool {
    get { state.withLock { $0.isReadOnly } }
    set { state.withLock { $0.isReadOnly = newValue } }
  }

  /// Makes operations of one kind fail: those whose path (as the trace prints it; of a rename either one)
  /// ends in `suffix`, `times` of them after the next `skip`. Nothing of a failed operation is done, but for
  /// the first `partialBytes` of a write. Where several faults match, the one asked for first counts.
  package func failNext(
    _ kind: FaultKind, onPathSuffix suffix: String? = nil, after skip: Int = 0, code: Int32,
    partialBytes: Int? = nil, times: Int = 1
  ) {
    precondition(skip >= 0 && times > 0 && (partialBytes ?? 0) >= 0)
    state.withLock {
      $0.faults.append(
        Fault(
          kind: kind, pathSuffix: suffix, skip: skip, times: times, code: code, partialBytes: partialBytes))
    }
  }

  package func clearFaults() {
    state.withLock { $0.faults = [] }
  }

  // MARK: - What a test may see

  package var trace: [TraceOperation] { state.withLock { $0.trace } }

  package func clearTrace() {
    state.withLock { $0.trace = [] }
  }

  /// The bytes of a file as programs see them.
  package func contents(of path: String) throws(FileError) -> [UInt8] {
    try state.withLock { (state) throws(FileError) in
      let call = SystemCall("read", path)
      return state.volume.files[try state.existingFile(call)] ?? []
    }
  }

  /// Changes a file that exists behind everybody's back: not in the trace, under no fault, on the disk at once.
  package func replaceContents(of path: String, with bytes: [UInt8]) throws(FileError) {
    try state.withLock { (state) throws(FileError) in
      let inode = try state.existingFile(SystemCall("write", path))
      state.note(.replace(inode, bytes: bytes))
      state.volume.files[inode] = bytes
    }
  }

  /// What a program finds that starts anew after this one was killed: everything as it was, nothing open,
  /// nothing locked, no faults, an empty trace. What was not synced is still in danger in `crashStates`.
  package func deepCopy() -> MemoryFileSystem {
    var copy = state.withLock { $0 }
    copy.closeEverything()
    copy.volume.prune()
    return MemoryFileSystem(copy)
  }
}
