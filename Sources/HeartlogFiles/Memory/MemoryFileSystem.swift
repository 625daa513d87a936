import HeartlogFormat

/// A file system in memory that behaves like the operating system's: inodes, open files that outlive their
/// names, and one lock per file, held by one open.
///
/// Paths are relative to its own root, with or without a leading slash. Safe to use from several threads.
package final class MemoryFileSystem: FileSystem {
  package let state: Monitor<MemoryState>

  /// Creates a file system that is empty except for the directories above `root`, which is not created.
  package convenience init(root: String = "/") { self.init(MemoryState(root: root)) }

  package init(_ initial: MemoryState) {
    state = Monitor(initial)
  }

  // MARK: - FileSystem

  package func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    let inode = try state.withLock { (state) throws(HeartlogError) in
      let inode: UInt64
      if mode == .createNew {
        inode = try state.createFile(SystemCall("create", path))
      } else {
        let call = SystemCall("open", path)
        inode = try state.existingFile(call)
        if mode == .readWrite { try state.refuseReadOnly(call) }
        try state.announce(.open(inode), call)
      }
      state.openCounts[inode, default: 0] += 1
      return inode
    }
    return MemoryOpenFile(self, inode, path: path, isWritable: mode != .read)
  }

  package func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try state.withLock { (state) throws(HeartlogError) in try state.rename(path, to: newPath) }
  }

  package func remove(_ path: String) throws(HeartlogError) {
    let call = SystemCall("remove", path)
    try state.withLock { (state) throws(HeartlogError) in
      let inode = try state.existingFile(call)
      guard let location = try state.location(call) else { throw call.error(EISDIR) }
      try state.refuseReadOnly(call)
      try state.announce(.remove(location), call)
      state.volume.unlink(location)
      state.forgetIfGone(inode)
    }
  }

  package func createDirectory(_ path: String) throws(HeartlogError) {
    let call = SystemCall("create", path)
    try state.withLock { (state) throws(HeartlogError) in
      let location = try state.freeLocation(call)
      try state.announce(.createDirectory(location), call)
      state.volume.linkDirectory(state.volume.takeInode(), at: location)
    }
  }

  package func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    let call = SystemCall("synchronize", path)
    try state.withLock { (state) throws(HeartlogError) in
      try state.announce(.synchronizeDirectory(try state.existingDirectory(call)), call)
    }
  }

  package func entries(of directory: String) throws(HeartlogError) -> [String] {
    let call = SystemCall("list", directory)
    return try state.withLock { (state) throws(HeartlogError) in
      let inode = try state.existingDirectory(call)
      try state.announce(.entries(inode), call)
      let names = (state.volume.directories[inode] ?? [:]).keys.sorted()
      return names.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
  }

  package func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    let call = SystemCall("inspect", path)
    do throws(HeartlogError) {
      return try state.withLock { (state) throws(HeartlogError) in
        let inode = try state.existing(call)
        return FileInfo(
          kind: state.volume.directories[inode] != nil ? .directory : .file,
          size: UInt64(state.volume.files[inode]?.count ?? 0), inode: inode,
          // One second apart in order of creation: distinct, and the same in every run.
          birthTimeNanoseconds: Int64(clamping: inode) * 1_000_000_000)
      }
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }

  package func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    let opened = try state.withLock { (state) throws(HeartlogError) in try state.openLock(path) }
    return MemoryLockFile(self, opened, path: path)
  }

  package func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool {
    try state.withLock { (state) throws(HeartlogError) in
      _ = try state.existing(SystemCall("inspect", path))
      return state.onNetwork
    }
  }

  package var machineID: [UInt8] {
    get { state.withLock { $0.machineID } }
    set { state.withLock { $0.machineID = newValue } }
  }

  package var processID: Int32 {
    get { state.withLock { $0.processID } }
    set { state.withLock { $0.processID = newValue } }
  }

  package func freeBytes(at path: String) -> UInt64? {
    state.withLock { $0.freeBytes.map { UInt64(max(0, $0)) } }
  }
}

final class MemoryOpenFile: OpenFile {
  private let fileSystem: MemoryFileSystem
  private let number: UInt64
  private let path: String
  private let isWritable: Bool

  init(_ fileSystem: MemoryFileSystem, _ number: UInt64, path: String, isWritable: Bool) {
    self.fileSystem = fileSystem
    self.number = number
    self.path = path
    self.isWritable = isWritable
  }

  deinit {
    fileSystem.state.withLock { $0.close(number) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    let call = SystemCall("read", path)
    return try fileSystem.state.withLock { (state) throws(HeartlogError) in
      if Int64(exactly: offset) == nil { throw call.error(EFBIG) }
      try state.announce(.read(number), call)
      let bytes = state.volume.files[number] ?? []
      guard let start = Int(exactly: offset), start < bytes.count else { return 0 }
      let count = min(buffer.count, bytes.count - start)
      bytes.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
      }
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    let call = SystemCall("write", path)
    if !isWritable { throw call.error(EBADF) }
    if bytes.isEmpty { return }
    try fileSystem.state.withLock { (state) throws(HeartlogError) in
      try state.write(number, bytes, at: offset, call)
    }
  }

  func synchronizeData() throws(HeartlogError) { try synchronize(dataOnly: true) }

  func synchronize() throws(HeartlogError) { try synchronize(dataOnly: false) }

  private func synchronize(dataOnly: Bool) throws(HeartlogError) {
    let call = SystemCall("synchronize", path)
    try fileSystem.state.withLock { (state) throws(HeartlogError) in
      try state.announce(.synchronize(number, dataOnly: dataOnly), call)
    }
  }

  func truncate(to size: UInt64) throws(HeartlogError) {
    let call = SystemCall("truncate", path)
    // The error of `ftruncate` for a read-only descriptor.
    if !isWritable { throw call.error(EINVAL) }
    try fileSystem.state.withLock { (state) throws(HeartlogError) in
      try state.refuseReadOnly(call)
      guard size <= MemoryState.fileBytesMax, let count = Int(exactly: size) else { throw call.error(EFBIG) }
      try state.announce(.truncate(number, size: count), call)
      state.volume.truncate(number, to: count)
    }
  }

  func size() throws(HeartlogError) -> UInt64 {
    fileSystem.state.withLock { UInt64($0.volume.files[number]?.count ?? 0) }
  }

  func inode() throws(HeartlogError) -> UInt64 { number }
}

final class MemoryLockFile: LockFile {
  struct Opened: Sendable {
    /// Nil if there is no file.
    var inode: UInt64?
    /// The number of this open. Locks belong to opens.
    var number: UInt64
    /// The `errno` that prevents writing.
    var refusal: Int32?
  }

  private let fileSystem: MemoryFileSystem
  private let opened: Opened
  private let path: String

  init(_ fileSystem: MemoryFileSystem, _ opened: Opened, path: String) {
    self.fileSystem = fileSystem
    self.opened = opened
    self.path = path
  }

  deinit {
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock {
      $0.unlock(inode, opened.number)
      $0.close(inode)
    }
  }

  func tryLock() throws(HeartlogError) -> Bool {
    let call = SystemCall("lock", path)
    if let refusal = opened.refusal { throw call.error(refusal) }
    guard let inode = opened.inode else { return false }
    return try fileSystem.state.withLock { (state) throws(HeartlogError) in
      try state.announce(.lock(inode), call)
      if let holder = state.lockHolders[inode] { return holder == opened.number }
      guard try state.existing(call) == inode else { throw call.error(ESTALE) }
      state.lockHolders[inode] = opened.number
      state.watcher?.didLock(inode, isHeld: true, on: state.volume)
      return true
    }
  }

  func unlock() {
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.unlock(inode, opened.number) }
  }

  var isWritable: Bool { opened.refusal == nil && opened.inode != nil }

  func increment(_ word: Int) {
    precondition(word >= 0 && word < lockPageWords && opened.refusal == nil)
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.storeWord($0.loadWord(word, inode) &+ 1, word, inode) }
  }

  func announce() {
    guard let inode = opened.inode else { return }
    let watches = fileSystem.state.withLock { $0.watches[inode] ?? [:] }
    for changed in watches.values { changed() }
  }

  func watch(_ changed: @escaping @Sendable () -> Void) throws(HeartlogError) -> any LockFileWatch {
    let call = SystemCall("watch", path)
    guard let inode = opened.inode else { throw call.error(ENOENT) }
    let watch = Watch(fileSystem, inode)
    try fileSystem.state.withLock { (state) throws(HeartlogError) in
      try state.announce(.watch(inode), call)
      state.watches[inode, default: [:]][ObjectIdentifier(watch)] = changed
    }
    return watch
  }

  private final class Watch: LockFileWatch {
    let fileSystem: MemoryFileSystem
    let inode: UInt64

    init(_ fileSystem: MemoryFileSystem, _ inode: UInt64) {
      self.fileSystem = fileSystem
      self.inode = inode
    }

    deinit {
      fileSystem.state.withLock {
        $0.watches[inode]?[ObjectIdentifier(self)] = nil
        if $0.watches[inode]?.isEmpty == true { $0.watches[inode] = nil }
      }
    }
  }

  func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < lockPageWords)
    guard let inode = opened.inode else { return 0 }
    return fileSystem.state.withLock { $0.loadWord(word, inode) }
  }

  func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < lockPageWords && opened.refusal == nil)
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.storeWord(value, word, inode) }
  }
}
