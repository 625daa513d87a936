/// A file system in memory that behaves like the operating system's: inodes, open files that outlive their
/// names, and one lock per file, held by one open. It records the operations (`trace`), can inject failures,
/// and keeps a journal, from which the contents follow that a disk might have after a crash.
///
/// Paths are relative to its own root, with or without a leading slash. Safe to use from several threads.
package final class MemoryFileSystem: FileSystem {
  package let state: Locked<MemoryState>

  /// Creates a file system that is empty except for the directories above `root`.
  ///
  /// - Parameters:
  ///   - root: The directory to which the paths in the trace are relative. The directory itself is not created;
  ///     the trace prints it as ".".
  ///   - recording: Whether to keep the trace and the journal, which grow with every operation.
  package convenience init(root: String = "/", recording: Bool = true) {
    self.init(MemoryState(root: root, recording: recording))
  }

  package init(_ initial: MemoryState) {
    state = Locked(initial)
  }

  // MARK: - FileSystem

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

  // MARK: - Settings for tests

  package var machineID: [UInt8] {
    get { state.withLock { $0.machineID } }
    set { state.withLock { $0.machineID = newValue } }
  }

  package var processID: Int32 {
    get { state.withLock { $0.processID } }
    set { state.withLock { $0.processID = newValue } }
  }

  /// The result of `isOnNetwork` for every path.
  package var onNetwork: Bool {
    get { state.withLock { $0.onNetwork } }
    set { state.withLock { $0.onNetwork = newValue } }
  }

  /// Whether operations are added to `trace`.
  package var keepsTrace: Bool {
    get { state.withLock { $0.keepsTrace } }
    set { state.withLock { $0.keepsTrace = newValue } }
  }

  /// Whether every change fails with `EROFS`.
  package var isReadOnly: Bool {
    get { state.withLock { $0.isReadOnly } }
    set { state.withLock { $0.isReadOnly = newValue } }
  }

  /// Lets all files together grow by this many bytes from now on; nil for any number.
  package func setFreeBytes(_ count: Int?) {
    state.withLock { state in state.capacity = count.map { $0 + state.fileBytes } }
  }

  package func freeBytes(at path: String) -> UInt64? {
    state.withLock { $0.freeBytes.map { UInt64(max(0, $0)) } }
  }

  /// Makes operations of one kind fail: those whose path (as printed in the trace; for a rename, either path)
  /// ends in `suffix`, `times` of them after the next `skip`. A failed operation has no effect, except for the
  /// first `partialBytes` of a write. If several faults match, the first one added counts.
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

  /// The number of watches on lock files.
  package var watchCount: Int { state.withLock { $0.watches.values.reduce(0) { $0 + $1.count } } }

  package func clearFaults() {
    state.withLock { $0.faults = [] }
  }

  // MARK: - Inspection by tests

  package var trace: [TraceOperation] { state.withLock { $0.trace } }

  package func clearTrace() {
    state.withLock { $0.trace = [] }
  }

  /// Returns the contents of a file as programs see them.
  package func contents(of path: String) throws(FileError) -> [UInt8] {
    try state.withLock { (state) throws(FileError) in
      let call = SystemCall("read", path)
      return state.volume.files[try state.existingFile(call)] ?? []
    }
  }

  /// Replaces the contents of an existing file without recording or faults. The new contents are on disk at
  /// once.
  package func replaceContents(of path: String, with bytes: [UInt8]) throws(FileError) {
    try state.withLock { (state) throws(FileError) in
      let inode = try state.existingFile(SystemCall("write", path))
      state.note(.replace(inode, bytes: bytes))
      state.volume.files[inode] = bytes
    }
  }

  /// Returns what a new program finds after this one was killed: the same files, nothing open or locked, no
  /// faults, an empty trace. Unsynced changes can still be lost in `crashStates`.
  package func deepCopy() -> MemoryFileSystem {
    var copy = state.withLock { $0 }
    copy.closeEverything()
    copy.volume.prune()
    return MemoryFileSystem(copy)
  }
}
