import HeartlogFormat

/// The state of a memory file system, guarded by its mutex.
package struct MemoryState: Sendable {
  package var volume = Volume()
  /// Nil if nobody watches.
  package var watcher: (any MemoryWatcher)?

  var machineID: [UInt8] = [UInt8]("memory".utf8)
  var processID: Int32 = 1
  /// The result of `isOnNetwork` for every path.
  package var onNetwork = false
  /// Whether every change fails with `EROFS`.
  package var isReadOnly = false
  /// The bytes that all files together may have; nil for any number.
  package var capacity: Int?

  /// The number of opens of each file, so that a file without a name is freed with its last open.
  package var openCounts: [UInt64: Int] = [:]
  /// The open that holds each file's lock.
  package var lockHolders: [UInt64: UInt64] = [:]
  var nextLockOpen: UInt64 = 1
  /// What watches of each file call.
  package var watches: [UInt64: [ObjectIdentifier: @Sendable () -> Void]] = [:]

  /// Prevents a wrong offset from using up the machine's memory.
  static let fileBytesMax: UInt64 = 1 << 32
  /// The limit of common file systems.
  private static let nameBytesMax = 255

  init(root: String) {
    var directory = Volume.root
    for name in Self.names(root).dropLast() {
      let inode = volume.takeInode()
      volume.linkDirectory(inode, at: Volume.Location(directory: directory, name: name))
      directory = inode
    }
  }

  // MARK: - Paths

  package static func names(_ path: String) -> [Volume.Name] {
    var path = path
    // Much of what a simulation does, and of what tests do in a debug build.
    return path.withUTF8 { path in
      var names: [Volume.Name] = []
      var rest = UnsafeRawBufferPointer(path)
      while let start = rest.baseAddress {
        let slash = memchr(start, Int32(UInt8(ascii: "/")), rest.count)
        let count = slash.map { UnsafeRawPointer($0) - start } ?? rest.count
        let bytes = [UInt8](UnsafeRawBufferPointer(start: start, count: count))
        if bytes == [UInt8(ascii: "."), UInt8(ascii: ".")] {
          _ = names.popLast()
        } else if !bytes.isEmpty, bytes != [UInt8(ascii: ".")] {
          names.append(Volume.Name(bytes: bytes))
        }
        if slash == nil { break }
        rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...])
      }
      return names
    }
  }

  func checkedNames(_ call: SystemCall) throws(HeartlogError) -> [Volume.Name] {
    if call.path.isEmpty { throw call.error(ENOENT) }
    var path = call.path
    let hasZero = path.withUTF8 { path in path.baseAddress.map { memchr($0, 0, path.count) != nil } ?? false }
    if hasZero { throw call.error(EINVAL) }
    let names = Self.names(call.path)
    if names.contains(where: { $0.bytes.count > Self.nameBytesMax }) { throw call.error(ENAMETOOLONG) }
    return names
  }

  private func walk(_ names: some Sequence<Volume.Name>, _ call: SystemCall) throws(HeartlogError) -> UInt64 {
    var inode = Volume.root
    for name in names {
      guard let directory = volume.directories[inode] else { throw call.error(ENOTDIR) }
      guard let child = directory[name] else { throw call.error(ENOENT) }
      inode = child
    }
    return inode
  }

  func existing(_ call: SystemCall) throws(HeartlogError) -> UInt64 {
    try walk(try checkedNames(call), call)
  }

  package func existingFile(_ call: SystemCall) throws(HeartlogError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] != nil { throw call.error(EISDIR) }
    return inode
  }

  func existingDirectory(_ call: SystemCall) throws(HeartlogError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] == nil { throw call.error(ENOTDIR) }
    return inode
  }

  /// Returns the directory and the name of a path, whose last component need not exist; nil for the root.
  func location(_ call: SystemCall) throws(HeartlogError) -> Volume.Location? {
    let names = try checkedNames(call)
    guard let name = names.last else { return nil }
    let directory = try walk(names.dropLast(), call)
    if volume.directories[directory] == nil { throw call.error(ENOTDIR) }
    return Volume.Location(directory: directory, name: name)
  }

  mutating func announce(_ operation: MemoryOperation, _ call: SystemCall) throws(HeartlogError) {
    try watcher?.willPerform(operation, on: &volume, call)
  }

  func refuseReadOnly(_ call: SystemCall) throws(HeartlogError) {
    if isReadOnly { throw call.error(EROFS) }
  }

  mutating func write(
    _ inode: UInt64, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ call: SystemCall
  ) throws(HeartlogError) {
    try refuseReadOnly(call)
    let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow, end <= Self.fileBytesMax, let start = Int(exactly: offset) else {
      throw call.error(EFBIG)
    }
    let fitting = UnsafeRawBufferPointer(
      rebasing: bytes.prefix(
        freeBytes.map { max(0, (volume.files[inode]?.count ?? 0) + $0 - start) } ?? bytes.count))
    if !fitting.isEmpty {
      try announce(.write(inode, offset: start, bytes: fitting), call)
      volume.write(fitting, to: inode, at: start)
    }
    if fitting.count < bytes.count { throw call.error(ENOSPC) }
  }

  /// The bytes that all files have together.
  package var fileBytes: Int { volume.files.present.reduce(0) { $0 + $1.count } }

  var freeBytes: Int? { capacity.map { $0 - fileBytes } }

  /// Returns where a file or a directory can be created.
  func freeLocation(_ call: SystemCall) throws(HeartlogError) -> Volume.Location {
    guard let location = try location(call), volume.inode(at: location) == nil else {
      throw call.error(EEXIST)
    }
    try refuseReadOnly(call)
    return location
  }

  mutating func createFile(_ call: SystemCall) throws(HeartlogError) -> UInt64 {
    let location = try freeLocation(call)
    try announce(.createFile(location), call)
    let inode = volume.takeInode()
    volume.linkFile(inode, at: location)
    return inode
  }

  mutating func close(_ inode: UInt64) {
    let count = openCounts[inode, default: 1] - 1
    openCounts[inode] = count == 0 ? nil : count
    forgetIfGone(inode)
  }

  mutating func forgetIfGone(_ inode: UInt64) {
    if openCounts[inode] == nil && !volume.isLinked(inode) { volume.forgetFile(inode) }
  }

  mutating func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    let call = SystemCall("rename", path)
    guard let source = try location(call), let target = try location(SystemCall("rename", newPath)) else {
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
    try announce(.rename(source, to: target), call)
    volume.move(source, to: target)
    if let replaced { forgetIfGone(replaced) }
  }

  private func isInside(_ inode: UInt64, _ directory: UInt64) -> Bool {
    var current = inode
    while current != directory {
      guard let location = volume.locations[current] else { return false }
      current = location.directory
    }
    return true
  }

  mutating func openLock(_ path: String) throws(HeartlogError) -> MemoryLockFile.Opened {
    let call = SystemCall("open", path)
    guard let location = try location(call) else { throw call.error(EISDIR) }
    let present = volume.inode(at: location)
    if let present, volume.directories[present] != nil { throw call.error(EISDIR) }
    try announce(.openLock(location), call)
    defer { nextLockOpen += 1 }
    if isReadOnly {
      if let present { openCounts[present, default: 0] += 1 }
      return MemoryLockFile.Opened(inode: present, number: nextLockOpen, refusal: EROFS)
    }
    let inode = if let present { present } else { try createFile(call) }
    volume.lockFiles.insert(inode)
    let size = volume.files[inode]?.count ?? 0
    if size < lockPageBytes {
      let zeros = [UInt8](repeating: 0, count: lockPageBytes - size)
      try zeros.withBytes { (zeros) throws(HeartlogError) in
        try write(inode, zeros, at: UInt64(size), call)
      }
    }
    openCounts[inode, default: 0] += 1
    return MemoryLockFile.Opened(inode: inode, number: nextLockOpen, refusal: nil)
  }

  mutating func unlock(_ inode: UInt64, _ number: UInt64) {
    guard lockHolders[inode] == number else { return }
    lockHolders[inode] = nil
    watcher?.didLock(inode, isHeld: false, on: volume)
  }

  func loadWord(_ word: Int, _ inode: UInt64) -> UInt64 {
    guard let page = volume.files[inode], page.count >= (word + 1) * 8 else { return 0 }
    return page.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self) }
  }

  mutating func storeWord(_ value: UInt64, _ word: Int, _ inode: UInt64) {
    withUnsafeBytes(of: value) { volume.write($0, to: inode, at: word * 8) }
  }
}

/// What is about to be done to a memory file system.
package enum MemoryOperation {
  /// Opening a file that exists.
  case open(UInt64)
  case createFile(Volume.Location)
  case createDirectory(Volume.Location)
  case read(UInt64)
  case write(UInt64, offset: Int, bytes: UnsafeRawBufferPointer)
  case truncate(UInt64, size: Int)
  case synchronize(UInt64, dataOnly: Bool)
  case synchronizeDirectory(UInt64)
  case rename(Volume.Location, to: Volume.Location)
  case remove(Volume.Location)
  case entries(UInt64)
  case openLock(Volume.Location)
  /// Trying to take a lock.
  case lock(UInt64)
  case watch(UInt64)
}

/// Learns of each operation on a memory file system. Tests record them, and let some fail.
package protocol MemoryWatcher: Sendable {
  /// - Throws: What the operation fails with. What is done of it all the same was done to `volume` before.
  mutating func willPerform(
    _ operation: MemoryOperation, on volume: inout Volume, _ call: SystemCall
  ) throws(HeartlogError)

  /// A lock was taken or released.
  mutating func didLock(_ inode: UInt64, isHeld: Bool, on volume: Volume)
}

/// Values by inode. Inodes are small numbers that are not used again, so a value is found without hashing: every word that is read from a
/// lock page is looked up here.
package struct InodeTable<Value: Sendable>: Sendable {
  private var values: [Value?] = []

  package subscript(inode: UInt64) -> Value? {
    get { inode < UInt64(values.count) ? values[Int(inode)] : nil }
    _modify {
      makeRoom(for: inode)
      yield &values[Int(inode)]
    }
  }

  /// The values of all inodes that have one.
  package var present: some Sequence<Value> { values.lazy.compactMap { $0 } }

  private mutating func makeRoom(for inode: UInt64) {
    while UInt64(values.count) <= inode { values.append(nil) }
  }

  /// Drops the values of all other inodes.
  package mutating func keep(_ inodes: Set<UInt64>) {
    for index in values.indices where !inodes.contains(UInt64(index)) { values[index] = nil }
  }
}
