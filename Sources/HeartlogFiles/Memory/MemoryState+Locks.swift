#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension MemoryState {
  mutating func openLock(_ path: String) throws(FileError) -> MemoryLockFile.Opened {
    let call = SystemCall("open", path)
    guard let location = try location(call) else { throw call.error(EISDIR) }
    let present = volume.inode(at: location)
    if let present, volume.directories[present] != nil { throw call.error(EISDIR) }
    if !faults.isEmpty { try strike(.openLock, [shown(location)], call) }
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
    let operation = traced(.lock(path: shown(inode)))
    if !faults.isEmpty { try strike(.lock, [shown(inode)], call, operation) }
    if let holder = lockHolders[inode] { return holder == number }
    guard try existing(call) == inode else { throw call.error(ESTALE) }
    lockHolders[inode] = number
    record(operation)
    return true
  }

  mutating func unlock(_ inode: UInt64, _ number: UInt64) {
    guard lockHolders[inode] == number else { return }
    lockHolders[inode] = nil
    record(traced(.unlock(path: shown(inode))))
  }

  func loadWord(_ word: Int, _ inode: UInt64) -> UInt64 {
    guard let page = volume.files[inode], page.count >= (word + 1) * 8 else { return 0 }
    return page.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self) }
  }

  mutating func storeWord(_ value: UInt64, _ word: Int, _ inode: UInt64) {
    withUnsafeBytes(of: value) { volume.write($0, to: inode, at: word * 8) }
  }
}
