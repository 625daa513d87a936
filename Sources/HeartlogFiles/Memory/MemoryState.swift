#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What stands under a memory file system's mutex.
struct MemoryState: Sendable {
  var volume = Volume()
  /// Nil where nothing is recorded.
  var journal: Journal?
  var trace: [TraceOperation] = []
  var faults: [Fault] = []

  var machineID: [UInt8] = [UInt8]("memory".utf8)
  var processID: Int32 = 1
  var onNetwork = false
  var isReadOnly = false

  /// Opens of a file, so that one without a name goes with its last open.
  private var openCounts: [UInt64: Int] = [:]
  /// Which open of a lock file holds its lock.
  private var lockHolders: [UInt64: UInt64] = [:]
  private var nextLockOpen: UInt64 = 1
  private let root: [Volume.Name]

  /// Keeps a wild offset from taking the machine's memory.
  private static let fileBytesMax: UInt64 = 1 << 32
  /// As the usual systems.
  private static let nameBytesMax = 255

  init(root: String, recording: Bool) {
    let names = Self.names(root)
    self.root = names
    var directory = Volume.root
    for name in names.dropLast() {
      let inode = volume.takeInode()
      volume.linkDirectory(inode, at: Volume.Place(directory: directory, name: name))
      directory = inode
    }
    if recording { journal = Journal(base: volume) }
  }

  mutating func closeEverything() {
    openCounts = [:]
    lockHolders = [:]
    faults = []
    trace = []
  }

  // MARK: - Paths

  private static func names(_ path: String) -> [Volume.Name] {
    var names: [Volume.Name] = []
    for part in path.utf8.split(separator: UInt8(ascii: "/")) {
      let name = Volume.Name(part)
      if name == [UInt8](".".utf8) { continue }
      if name == [UInt8]("..".utf8) { _ = names.popLast() } else { names.append(name) }
    }
    return names
  }

  private func checkedNames(_ call: SystemCall) throws(FileError) -> [Volume.Name] {
    if call.path.isEmpty { throw call.error(ENOENT) }
    if call.path.utf8.contains(0) { throw call.error(EINVAL) }
    let names = Self.names(call.path)
    if names.contains(where: { $0.count > Self.nameBytesMax }) { throw call.error(ENAMETOOLONG) }
    return names
  }

  private func walk(_ names: some Sequence<Volume.Name>, _ call: SystemCall) throws(FileError) -> UInt64 {
    var inode = Volume.root
    for name in names {
      guard let directory = volume.directories[inode] else { throw call.error(ENOTDIR) }
      guard let child = directory[name] else { throw call.error(ENOENT) }
      inode = child
    }
    return inode
  }

  func existing(_ call: SystemCall) throws(FileError) -> UInt64 {
    try walk(try checkedNames(call), call)
  }

  func existingFile(_ call: SystemCall) throws(FileError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] != nil { throw call.error(EISDIR) }
    return inode
  }

  private func existingDirectory(_ call: SystemCall) throws(FileError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] == nil { throw call.error(ENOTDIR) }
    return inode
  }

  /// Where a name is or could be; the directory exists. Nil of the root.
  private func place(_ call: SystemCall) throws(FileError) -> Volume.Place? {
    let names = try checkedNames(call)
    guard let name = names.last else { return nil }
    let directory = try walk(names.dropLast(), call)
    if volume.directories[directory] == nil { throw call.error(ENOTDIR) }
    return Volume.Place(directory: directory, name: name)
  }

  private func shown(_ names: [Volume.Name]) -> String {
    let isInside = names.starts(with: root)
    let rest = isInside ? names.dropFirst(root.count) : names[...]
    if isInside && rest.isEmpty { return "." }
    let joined = rest.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    return isInside ? joined : "/" + joined
  }

  private func shown(_ place: Volume.Place) -> String {
    shown(volume.names(of: place.directory) + [place.name])
  }

  private func shown(_ inode: UInt64) -> String {
    shown(volume.names(of: inode)) + (volume.isLinked(inode) ? "" : " (removed)")
  }

  // MARK: - Records

  private mutating func record(_ operation: TraceOperation) {
    if journal != nil { trace.append(operation) }
  }

  mutating func note(_ change: @autoclosure () -> Journal.Change) {
    if journal == nil { return }
    let pages = lockPages
    let entry = Journal.Entry(change: change(), lockPages: pages)
    journal?.entries.append(entry)
  }

  var lockPages: [UInt64: [UInt8]] {
    volume.files.filter { volume.lockFiles.contains($0.key) }
  }

  private mutating func strike(
    _ kind: FaultKind, _ paths: [String], _ call: SystemCall, _ operation: TraceOperation? = nil
  ) throws(FileError) {
    if faults.isEmpty { return }
    guard let fault = faults.strike(kind, paths) else { return }
    if let operation { record(.failed(operation)) }
    throw call.error(fault.code)
  }

  private func refuseReadOnly(_ call: SystemCall) throws(FileError) {
    if isReadOnly { throw call.error(EROFS) }
  }

  // MARK: - Names

  mutating func open(_ path: String, _ mode: OpenMode) throws(FileError) -> UInt64 {
    let inode: UInt64
    if mode == .createNew {
      inode = try createFile(SystemCall("create", path))
    } else {
      let call = SystemCall("open", path)
      inode = try existingFile(call)
      if mode == .readWrite { try refuseReadOnly(call) }
      try strike(.open, [shown(inode)], call)
    }
    openCounts[inode, default: 0] += 1
    return inode
  }

  private mutating func createFile(_ call: SystemCall) throws(FileError) -> UInt64 {
    guard let place = try place(call), volume.inode(at: place) == nil else { throw call.error(EEXIST) }
    try refuseReadOnly(call)
    let operation = TraceOperation.createFile(path: shown(place))
    try strike(.createFile, [shown(place)], call, operation)
    let inode = volume.takeInode()
    note(.createFile(inode, place))
    volume.linkFile(inode, at: place)
    record(operation)
    return inode
  }

  mutating func close(_ inode: UInt64) {
    let count = openCounts[inode, default: 1] - 1
    openCounts[inode] = count == 0 ? nil : count
    forgetIfGone(inode)
  }

  private mutating func forgetIfGone(_ inode: UInt64) {
    if openCounts[inode] == nil && !volume.isLinked(inode) { volume.forgetFile(inode) }
  }

  mutating func rename(_ path: String, to newPath: String) throws(FileError) {
    let call = SystemCall("rename", path)
    guard let source = try place(call), let target = try place(SystemCall("rename", newPath)) else {
      throw call.error(EBUSY)
    }
    guard let inode = volume.inode(at: source) else { throw call.error(ENOENT) }
    let replaced = volume.inode(at: target)
    let isDirectory = volume.directories[inode] != nil
    if let replaced, replaced != inode {
      let children = volume.directories[replaced]
      if isDirectory && children == nil { throw call.error(ENOTDIR) }
      if !isDirectory && children != nil { throw call.error(EISDIR) }
      if let children, !children.isEmpty { throw call.error(ENOTEMPTY) }
    }
    if isDirectory, inode != replaced, isInside(target.directory, inode) { throw call.error(EINVAL) }
    try refuseReadOnly(call)
    let operation = TraceOperation.rename(from: shown(source), to: shown(target))
    try strike(.rename, [shown(source), shown(target)], call, operation)
    note(.rename(source, to: target))
    volume.move(source, to: target)
    if let replaced { forgetIfGone(replaced) }
    record(operation)
  }

  private func isInside(_ inode: UInt64, _ directory: UInt64) -> Bool {
    var current = inode
    while current != directory {
      guard let place = volume.places[current] else { return false }
      current = place.directory
    }
    return true
  }

  mutating func remove(_ path: String) throws(FileError) {
    let call = SystemCall("remove", path)
    let inode = try existingFile(call)
    guard let place = try place(call) else { throw call.error(EISDIR) }
    try refuseReadOnly(call)
    let operation = TraceOperation.remove(path: shown(place))
    try strike(.remove, [shown(place)], call, operation)
    note(.remove(place))
    volume.unlink(place)
    forgetIfGone(inode)
    record(operation)
  }

  mutating func createDirectory(_ path: String) throws(FileError) {
    let call = SystemCall("create", path)
    guard let place = try place(call), volume.inode(at: place) == nil else { throw call.error(EEXIST) }
    try refuseReadOnly(call)
    let operation = TraceOperation.createDirectory(path: shown(place))
    try strike(.createDirectory, [shown(place)], call, operation)
    let inode = volume.takeInode()
    note(.createDirectory(inode, place))
    volume.linkDirectory(inode, at: place)
    record(operation)
  }

  mutating func synchronizeDirectory(_ path: String) throws(FileError) {
    let call = SystemCall("synchronize", path)
    let inode = try existingDirectory(call)
    let operation = TraceOperation.synchronizeDirectory(path: shown(inode))
    try strike(.synchronizeDirectory, [shown(inode)], call, operation)
    note(.synchronizeDirectory(inode))
    record(operation)
  }

  mutating func entries(of directory: String) throws(FileError) -> [String] {
    let call = SystemCall("list", directory)
    let inode = try existingDirectory(call)
    try strike(.entries, [shown(inode)], call)
    let names = (volume.directories[inode] ?? [:]).keys.sorted { $0.lexicographicallyPrecedes($1) }
    return names.map { String(decoding: $0, as: UTF8.self) }
  }

  func info(_ path: String) throws(FileError) -> FileInfo? {
    do throws(FileError) {
      let inode = try existing(SystemCall("inspect", path))
      return FileInfo(
        kind: volume.directories[inode] != nil ? .directory : .file,
        size: UInt64(volume.files[inode]?.count ?? 0), inode: inode,
        // One second each, in the order of birth: different, and the same in every run.
        birthTimeNanoseconds: Int64(clamping: inode) * 1_000_000_000)
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }

  // MARK: - Contents

  mutating func read(
    _ inode: UInt64, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, _ call: SystemCall
  ) throws(FileError) -> Int {
    if Int64(exactly: offset) == nil { throw call.error(EFBIG) }
    try strike(.read, [shown(inode)], call)
    let bytes = volume.files[inode] ?? []
    guard let start = Int(exactly: offset), start < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - start)
    bytes.withUnsafeBytes { source in
      UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
    }
    return count
  }

  mutating func write(
    _ inode: UInt64, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ call: SystemCall
  ) throws(FileError) {
    try refuseReadOnly(call)
    let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow, end <= Self.fileBytesMax, let start = Int(exactly: offset) else {
      throw call.error(EFBIG)
    }
    let path = faults.isEmpty && journal == nil ? "" : shown(inode)
    if let fault = faults.strike(.write, [path]) {
      if let partial = fault.partialBytes, partial > 0 {
        put(UnsafeRawBufferPointer(rebasing: bytes.prefix(partial)), inode, at: start, path)
      }
      record(.failed(.write(path: path, offset: offset, length: bytes.count)))
      throw call.error(fault.code)
    }
    put(bytes, inode, at: start, path)
  }

  private mutating func put(_ bytes: UnsafeRawBufferPointer, _ inode: UInt64, at offset: Int, _ path: String)
  {
    note(.write(inode, offset: offset, bytes: [UInt8](bytes)))
    volume.write(bytes, to: inode, at: offset)
    record(.write(path: path, offset: UInt64(offset), length: bytes.count))
  }

  mutating func synchronize(_ inode: UInt64, dataOnly: Bool, _ call: SystemCall) throws(FileError) {
    if journal == nil && faults.isEmpty { return }
    let path = shown(inode)
    let operation: TraceOperation = dataOnly ? .synchronizeData(path: path) : .synchronize(path: path)
    do throws(FileError) {
      try strike(dataOnly ? .synchronizeData : .synchronize, [path], call, operation)
    } catch {
      note(.failedSynchronize(inode))
      throw error
    }
    note(.synchronize(inode))
    record(operation)
  }

  mutating func truncate(_ inode: UInt64, to size: UInt64, _ call: SystemCall) throws(FileError) {
    try refuseReadOnly(call)
    guard size <= Self.fileBytesMax, let count = Int(exactly: size) else { throw call.error(EFBIG) }
    let operation = TraceOperation.truncate(path: shown(inode), size: size)
    try strike(.truncate, [shown(inode)], call, operation)
    note(.truncate(inode, size: count))
    volume.truncate(inode, to: count)
    record(operation)
  }

  // MARK: - Locks

  mutating func openLock(_ path: String) throws(FileError) -> MemoryLockFile.Opened {
    let call = SystemCall("open", path)
    guard let place = try place(call) else { throw call.error(EISDIR) }
    let present = volume.inode(at: place)
    if let present, volume.directories[present] != nil { throw call.error(EISDIR) }
    try strike(.openLock, [shown(place)], call)
    defer { nextLockOpen += 1 }
    if isReadOnly {
      if let present { openCounts[present, default: 0] += 1 }
      return MemoryLockFile.Opened(inode: present, number: nextLockOpen, refusal: EROFS)
    }
    let inode = if let present { present } else { try createFile(call) }
    volume.lockFiles.insert(inode)
    let size = volume.files[inode]?.count ?? 0
    if size < lockPageBytes {
      var failure: FileError?
      [UInt8](repeating: 0, count: lockPageBytes - size).withUnsafeBytes { zeros in
        do throws(FileError) {
          try write(inode, zeros, at: UInt64(size), call)
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
    }
    openCounts[inode, default: 0] += 1
    return MemoryLockFile.Opened(inode: inode, number: nextLockOpen, refusal: nil)
  }

  mutating func tryLock(_ inode: UInt64, _ number: UInt64, _ call: SystemCall) throws(FileError) -> Bool {
    let operation = TraceOperation.lock(path: shown(inode))
    try strike(.lock, [shown(inode)], call, operation)
    if let holder = lockHolders[inode] { return holder == number }
    lockHolders[inode] = number
    record(operation)
    return true
  }

  mutating func unlock(_ inode: UInt64, _ number: UInt64) {
    guard lockHolders[inode] == number else { return }
    lockHolders[inode] = nil
    record(.unlock(path: shown(inode)))
  }

  func loadWord(_ word: Int, _ inode: UInt64) -> UInt64 {
    guard let page = volume.files[inode], page.count >= (word + 1) * 8 else { return 0 }
    return page.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self) }
  }

  mutating func storeWord(_ value: UInt64, _ word: Int, _ inode: UInt64) {
    withUnsafeBytes(of: value) { volume.write($0, to: inode, at: word * 8) }
  }
}
