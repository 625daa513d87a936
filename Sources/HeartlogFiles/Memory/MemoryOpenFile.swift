#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
    let call = SystemCall("read", path)
    return try fileSystem.state.withLock { (state) throws(FileError) in
      try state.read(number, into: buffer, at: offset, call)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
    let call = SystemCall("write", path)
    if !isWritable { throw call.error(EBADF) }
    if bytes.isEmpty { return }
    try fileSystem.state.withLock { (state) throws(FileError) in
      try state.write(number, bytes, at: offset, call)
    }
  }

  func synchronizeData() throws(FileError) {
    let call = SystemCall("synchronize", path)
    try fileSystem.state.withLock { (state) throws(FileError) in
      try state.synchronize(number, dataOnly: true, call)
    }
  }

  func synchronize() throws(FileError) {
    let call = SystemCall("synchronize", path)
    try fileSystem.state.withLock { (state) throws(FileError) in
      try state.synchronize(number, dataOnly: false, call)
    }
  }

  func truncate(to size: UInt64) throws(FileError) {
    let call = SystemCall("truncate", path)
    // The error of `ftruncate` for a read-only descriptor.
    if !isWritable { throw call.error(EINVAL) }
    try fileSystem.state.withLock { (state) throws(FileError) in
      try state.truncate(number, to: size, call)
    }
  }

  func size() throws(FileError) -> UInt64 {
    fileSystem.state.withLock { UInt64($0.volume.files[number]?.count ?? 0) }
  }

  func inode() throws(FileError) -> UInt64 { number }
}
