#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension MemoryState {
  mutating func open(_ path: String, _ mode: OpenMode) throws(FileError) -> UInt64 {
    let inode: UInt64
    if mode == .createNew {
      inode = try createFile(SystemCall("create", path))
    } else {
      let call = SystemCall("open", path)
      inode = try existingFile(call)
      if mode == .readWrite { try refuseReadOnly(call) }
      if !faults.isEmpty { try strike(.open, [shown(inode)], call) }
    }
    openCounts[inode, default: 0] += 1
    return inode
  }

  mutating func createFile(_ call: SystemCall) throws(FileError) -> UInt64 {
    guard let location = try location(call), volume.inode(at: location) == nil else {
      throw call.error(EEXIST)
    }
    try refuseReadOnly(call)
    let operation = traced(.createFile(path: shown(location)))
    if !faults.isEmpty { try strike(.createFile, [shown(location)], call, operation) }
    let inode = volume.takeInode()
    note(.createFile(inode, location))
    volume.linkFile(inode, at: location)
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
    let operation = traced(.rename(from: shown(source), to: shown(target)))
    if !faults.isEmpty { try strike(.rename, [shown(source), shown(target)], call, operation) }
    note(.rename(source, to: target))
    volume.move(source, to: target)
    if let replaced { forgetIfGone(replaced) }
    record(operation)
  }

  private func isInside(_ inode: UInt64, _ directory: UInt64) -> Bool {
    var current = inode
    while current != directory {
      guard let location = volume.locations[current] else { return false }
      current = location.directory
    }
    return true
  }

  mutating func remove(_ path: String) throws(FileError) {
    let call = SystemCall("remove", path)
    let inode = try existingFile(call)
    guard let location = try location(call) else { throw call.error(EISDIR) }
    try refuseReadOnly(call)
    let operation = traced(.remove(path: shown(location)))
    if !faults.isEmpty { try strike(.remove, [shown(location)], call, operation) }
    note(.remove(location))
    volume.unlink(location)
    forgetIfGone(inode)
    record(operation)
  }

  mutating func createDirectory(_ path: String) throws(FileError) {
    let call = SystemCall("create", path)
    guard let location = try location(call), volume.inode(at: location) == nil else {
      throw call.error(EEXIST)
    }
    try refuseReadOnly(call)
    let operation = traced(.createDirectory(path: shown(location)))
    if !faults.isEmpty { try strike(.createDirectory, [shown(location)], call, operation) }
    let inode = volume.takeInode()
    note(.createDirectory(inode, location))
    volume.linkDirectory(inode, at: location)
    record(operation)
  }

  mutating func synchronizeDirectory(_ path: String) throws(FileError) {
    let call = SystemCall("synchronize", path)
    let inode = try existingDirectory(call)
    let operation = traced(.synchronizeDirectory(path: shown(inode)))
    if !faults.isEmpty { try strike(.synchronizeDirectory, [shown(inode)], call, operation) }
    note(.synchronizeDirectory(inode))
    record(operation)
  }

  mutating func entries(of directory: String) throws(FileError) -> [String] {
    let call = SystemCall("list", directory)
    let inode = try existingDirectory(call)
    if !faults.isEmpty { try strike(.entries, [shown(inode)], call) }
    let names = (volume.directories[inode] ?? [:]).keys.sorted()
    return names.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  func info(_ path: String) throws(FileError) -> FileInfo? {
    do throws(FileError) {
      let inode = try existing(SystemCall("inspect", path))
      return FileInfo(
        kind: volume.directories[inode] != nil ? .directory : .file,
        size: UInt64(volume.files[inode]?.count ?? 0), inode: inode,
        // One second apart in order of creation: distinct, and the same in every run.
        birthTimeNanoseconds: Int64(clamping: inode) * 1_000_000_000)
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }
}
