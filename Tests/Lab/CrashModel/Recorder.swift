import HeartlogFormat
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What tests see of a memory file system, and what they let it do: the operations (`trace`), failures, and a journal, from which the
/// contents follow that a disk might have after a crash.
extension MemoryFileSystem {
  /// Creates a file system that is empty except for the directories above `root`.
  ///
  /// - Parameters:
  ///   - root: The directory to which the paths in the trace are relative. The directory itself is not created;
  ///     the trace prints it as ".".
  ///   - recording: Whether to keep the trace and the journal, which grow with every operation.
  package convenience init(root: String = "/", recording: Bool) {
    self.init(root: root)
    state.withLock {
      $0.watcher = Recorder(root: root, journal: recording ? Journal(base: $0.volume) : nil)
    }
  }

  /// The result of `isOnNetwork` for every path.
  package var onNetwork: Bool {
    get { state.withLock { $0.onNetwork } }
    set { state.withLock { $0.onNetwork = newValue } }
  }

  /// Whether operations are added to `trace`, if there is a journal.
  package var keepsTrace: Bool {
    get { recorder { $0.keepsTrace } }
    set { recorder { $0.keepsTrace = newValue } }
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

  /// Makes operations of one kind fail: those whose path (as printed in the trace; for a rename, either path)
  /// ends in `suffix`, `times` of them after the next `skip`. A failed operation has no effect, except for the
  /// first `partialBytes` of a write. If several faults match, the first one added counts.
  package func failNext(
    _ kind: FaultKind, onPathSuffix suffix: String? = nil, after skip: Int = 0, code: Int32,
    partialBytes: Int? = nil, times: Int = 1
  ) {
    precondition(skip >= 0 && times > 0 && (partialBytes ?? 0) >= 0)
    recorder {
      $0.faults.append(
        Fault(
          kind: kind, pathSuffix: suffix, skip: skip, times: times, code: code, partialBytes: partialBytes))
    }
  }

  package func clearFaults() { recorder { $0.faults = [] } }

  /// The number of watches on lock files.
  package var watchCount: Int { state.withLock { $0.watches.values.reduce(0) { $0 + $1.count } } }

  package var trace: [TraceOperation] { recorder { $0.trace } }

  package func clearTrace() { recorder { $0.trace = [] } }

  /// Returns the contents of a file as programs see them.
  package func contents(of path: String) throws(HeartlogError) -> [UInt8] {
    try state.withLock { (state) throws(HeartlogError) in
      state.volume.files[try state.existingFile(SystemCall("read", path))] ?? []
    }
  }

  /// Replaces the contents of an existing file without recording or faults. The new contents are on disk at
  /// once.
  package func replaceContents(of path: String, with bytes: [UInt8]) throws(HeartlogError) {
    try state.withLock { (state) throws(HeartlogError) in
      let inode = try state.existingFile(SystemCall("write", path))
      state.recorder.note(.replace(inode, bytes: bytes), on: state.volume)
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

  private func recorder<R>(_ body: (inout Recorder) -> R) -> R { state.withLock { body(&$0.recorder) } }
}

extension MemoryState {
  /// The recorder; one without a journal if there was none.
  var recorder: Recorder {
    get { watcher as? Recorder ?? Recorder(root: "/", journal: nil) }
    set { watcher = newValue }
  }

  mutating func closeEverything() {
    openCounts = [:]
    lockHolders = [:]
    watches = [:]
    recorder.faults = []
    recorder.trace = []
  }
}

extension Volume {
  /// The contents of the lock files.
  var lockPages: [UInt64: [UInt8]] {
    var pages: [UInt64: [UInt8]] = [:]
    for inode in lockFiles { pages[inode] = files[inode] }
    return pages
  }

  /// Returns all inodes that have a path from the root.
  func reachable() -> Set<UInt64> {
    var found: Set<UInt64> = [Self.root]
    var waiting = [Self.root]
    while let inode = waiting.popLast() {
      for child in (directories[inode] ?? [:]).values where found.insert(child).inserted {
        waiting.append(child)
      }
    }
    return found
  }

  /// Drops all inodes that have no path from the root.
  mutating func prune() {
    let kept = reachable()
    files.keep(kept)
    directories.keep(kept)
    locations.keep(kept)
    lockFiles.formIntersection(kept)
  }
}

/// Records the operations on a memory file system, and lets some fail.
struct Recorder: MemoryWatcher {
  private let root: [Volume.Name]
  /// Nil if nothing is recorded.
  var journal: Journal?
  var trace: [TraceOperation] = []
  var keepsTrace = true
  var faults: [Fault] = []

  init(root: String, journal: Journal?) {
    self.root = MemoryState.names(root)
    self.journal = journal
  }

  private var isTracing: Bool { journal != nil && keepsTrace }

  mutating func willPerform(
    _ operation: MemoryOperation, on volume: inout Volume, _ call: SystemCall
  ) throws(HeartlogError) {
    // Finding the paths takes longer than most operations.
    if isTracing || !faults.isEmpty {
      let (kind, paths, traced) = described(operation, on: volume)
      if let fault = faults.strike(kind, paths) {
        if case .synchronize(let inode, _) = operation { note(.failedSynchronize(inode), on: volume) }
        if case .write(let inode, let offset, let bytes) = operation, let count = fault.partialBytes,
          count > 0
        {
          let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
          note(.write(inode, offset: offset, bytes: Array(part)), on: volume)
          volume.write(part, to: inode, at: offset)
          record(.write(path: paths[0], offset: UInt64(offset), length: part.count))
        }
        if let traced { record(.failed(traced)) }
        throw call.error(fault.code)
      }
      if case .lock = operation {} else if let traced { record(traced) }
    }
    noteChange(by: operation, on: volume)
  }

  mutating func didLock(_ inode: UInt64, isHeld: Bool, on volume: Volume) {
    guard isTracing else { return }
    let path = shown(inode, on: volume)
    record(isHeld ? .lock(path: path) : .unlock(path: path))
  }

  private mutating func record(_ operation: TraceOperation) {
    if isTracing { trace.append(operation) }
  }

  mutating func note(_ change: @autoclosure () -> Journal.Change, on volume: Volume) {
    guard journal != nil else { return }
    journal?.entries.append(Journal.Entry(change: change(), lockPages: volume.lockPages))
  }

  private mutating func noteChange(by operation: MemoryOperation, on volume: Volume) {
    switch operation {
    case .open, .read, .entries, .openLock, .lock, .watch: break
    case .createFile(let location): note(.createFile(volume.nextInode, location), on: volume)
    case .createDirectory(let location): note(.createDirectory(volume.nextInode, location), on: volume)
    case .write(let inode, let offset, let bytes):
      note(.write(inode, offset: offset, bytes: Array(bytes)), on: volume)
    case .truncate(let inode, let size): note(.truncate(inode, size: size), on: volume)
    case .synchronize(let inode, _): note(.synchronize(inode), on: volume)
    case .synchronizeDirectory(let inode): note(.synchronizeDirectory(inode), on: volume)
    case .rename(let source, let target): note(.rename(source, to: target), on: volume)
    case .remove(let location): note(.remove(location), on: volume)
    }
  }

  /// What a fault must match, and what the trace says.
  private func described(
    _ operation: MemoryOperation, on volume: Volume
  ) -> (kind: FaultKind, paths: [String], traced: TraceOperation?) {
    func path(_ inode: UInt64) -> String { shown(inode, on: volume) }
    func path(_ location: Volume.Location) -> String {
      shown(volume.names(of: location.directory) + [location.name])
    }
    switch operation {
    case .open(let inode): return (.open, [path(inode)], nil)
    case .read(let inode): return (.read, [path(inode)], nil)
    case .entries(let inode): return (.entries, [path(inode)], nil)
    case .openLock(let location): return (.openLock, [path(location)], nil)
    case .watch(let inode): return (.watch, [path(inode)], nil)
    case .lock(let inode):
      let path = path(inode)
      return (.lock, [path], .lock(path: path))
    case .createFile(let location):
      let path = path(location)
      return (.createFile, [path], .createFile(path: path))
    case .createDirectory(let location):
      let path = path(location)
      return (.createDirectory, [path], .createDirectory(path: path))
    case .write(let inode, let offset, let bytes):
      let path = path(inode)
      return (.write, [path], .write(path: path, offset: UInt64(offset), length: bytes.count))
    case .truncate(let inode, let size):
      let path = path(inode)
      return (.truncate, [path], .truncate(path: path, size: UInt64(size)))
    case .synchronize(let inode, let dataOnly):
      let path = path(inode)
      return dataOnly
        ? (.synchronizeData, [path], .synchronizeData(path: path))
        : (.synchronize, [path], .synchronize(path: path))
    case .synchronizeDirectory(let inode):
      let path = path(inode)
      return (.synchronizeDirectory, [path], .synchronizeDirectory(path: path))
    case .rename(let source, let target):
      let (from, to) = (path(source), path(target))
      return (.rename, [from, to], .rename(from: from, to: to))
    case .remove(let location):
      let path = path(location)
      return (.remove, [path], .remove(path: path))
    }
  }

  private func shown(_ names: [Volume.Name]) -> String {
    let isInside = names.starts(with: root)
    let rest = isInside ? names.dropFirst(root.count) : names[...]
    if isInside && rest.isEmpty { return "." }
    let joined = rest.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: "/")
    return isInside ? joined : "/" + joined
  }

  private func shown(_ inode: UInt64, on volume: Volume) -> String {
    shown(volume.names(of: inode)) + (volume.isLinked(inode) ? "" : " (removed)")
  }
}

/// The operations for which a memory file system can inject a failure.
package enum FaultKind: Equatable, Sendable, CaseIterable {
  /// Opening a file that exists.
  case open
  /// Creating a file.
  case createFile
  case read
  case write
  case synchronizeData
  case synchronize
  case truncate
  case rename
  case remove
  case createDirectory
  case synchronizeDirectory
  case entries
  /// `openLock`.
  case openLock
  /// `tryLock`.
  case lock
  /// `watch` of a lock file.
  case watch
}

/// A failure to be injected.
struct Fault: Sendable {
  var kind: FaultKind
  var pathSuffix: String?
  /// The number of matching operations that still succeed.
  var skip: Int
  /// The number of matching operations that fail after those.
  var times: Int
  var code: Int32
  /// For a write, the number of bytes that are written before it fails.
  var partialBytes: Int?
}

extension [Fault] {
  /// Counts the operation against the first fault that matches it, and returns that fault if the operation
  /// must fail.
  mutating func strike(_ kind: FaultKind, _ paths: [String]) -> Fault? {
    let match = firstIndex { fault in
      fault.kind == kind
        && (fault.pathSuffix.map { suffix in paths.contains { $0.hasSuffix(suffix) } } ?? true)
    }
    guard let match else { return nil }
    if self[match].skip > 0 {
      self[match].skip -= 1
      return nil
    }
    let fault = self[match]
    self[match].times -= 1
    if self[match].times == 0 { remove(at: match) }
    return fault
  }
}

/// An operation that was requested of a memory file system. Opens of existing files and reads are
/// not recorded. The path of an operation on an open file is the file's name at that moment.
package enum TraceOperation: Equatable, Sendable, CustomStringConvertible {
  case createFile(path: String)
  case write(path: String, offset: UInt64, length: Int)
  case synchronizeData(path: String)
  case synchronize(path: String)
  case truncate(path: String, size: UInt64)
  case rename(from: String, to: String)
  case remove(path: String)
  case createDirectory(path: String)
  case synchronizeDirectory(path: String)
  case lock(path: String)
  case unlock(path: String)
  /// One of the above that failed because of an injected fault. If part of a write was made, that part is
  /// recorded before it as a write.
  indirect case failed(TraceOperation)

  /// One line in a stable format: "write replicas/1.open 4096+73".
  package var description: String {
    switch self {
    case .createFile(let path): "createFile \(path)"
    case .write(let path, let offset, let length): "write \(path) \(offset)+\(length)"
    case .synchronizeData(let path): "synchronizeData \(path)"
    case .synchronize(let path): "synchronize \(path)"
    case .truncate(let path, let size): "truncate \(path) \(size)"
    case .rename(let from, let to): "rename \(from) \(to)"
    case .remove(let path): "remove \(path)"
    case .createDirectory(let path): "createDirectory \(path)"
    case .synchronizeDirectory(let path): "synchronizeDirectory \(path)"
    case .lock(let path): "lock \(path)"
    case .unlock(let path): "unlock \(path)"
    case .failed(let operation): "failed \(operation)"
    }
  }
}

/// The changes to a memory file system since a moment at which everything was on disk.
package struct Journal: Sendable {
  package enum Change: Sendable {
    case createFile(UInt64, Volume.Location)
    case createDirectory(UInt64, Volume.Location)
    case rename(Volume.Location, to: Volume.Location)
    case remove(Volume.Location)
    case synchronizeDirectory(UInt64)
    case write(UInt64, offset: Int, bytes: [UInt8])
    case truncate(UInt64, size: Int)
    case synchronize(UInt64)
    /// The system has given up on the dirty pages; a later success says nothing about them.
    case failedSynchronize(UInt64)
    /// Contents replaced by a test, which are on disk at once.
    case replace(UInt64, bytes: [UInt8])
  }

  package struct Entry: Sendable {
    package var change: Change
    /// The contents of the lock files just before the change. Their words change without an entry.
    package var lockPages: [UInt64: [UInt8]]
  }

  package var base: Volume
  package var entries: [Entry] = []

  package init(base: Volume) { self.base = base }
}
