import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

final class POSIXOpenFile: OpenFile {
  private let descriptor: Int32
  private let path: String

  private let bytesPerCallMax: Int

  /// - Parameter bytesPerCallMax: Less than any system's limit for one call: Linux stops at 2 GiB less a page, Apple refuses more than
  ///   2 GiB.
  init(descriptor: Int32, path: String, bytesPerCallMax: Int = 1 << 30) {
    self.descriptor = descriptor
    self.path = path
    self.bytesPerCallMax = bytesPerCallMax
  }

  deinit { close(descriptor) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
    let call = SystemCall("read", path)
    var done = 0
    while done < buffer.count {
      let position = try Self.position(offset, plus: done, call)
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...].prefix(bytesPerCallMax))
      let count = try call.run { pread(descriptor, rest.baseAddress, rest.count, position) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
    let call = SystemCall("write", path)
    var done = 0
    while done < bytes.count {
      let position = try Self.position(offset, plus: done, call)
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(bytesPerCallMax))
      let count = try call.run { pwrite(descriptor, rest.baseAddress, rest.count, position) }
      // No system returns 0 for a regular file, but it must not cause an endless loop.
      if count == 0 { throw call.error(EIO) }
      done += count
    }
  }

  func synchronizeData() throws(FileError) {
    try SystemCall("synchronize", path).run { heartlog_synchronize_data(descriptor) }
  }

  func synchronize() throws(FileError) {
    try SystemCall("synchronize", path).run { heartlog_synchronize(descriptor) }
  }

  func truncate(to size: UInt64) throws(FileError) {
    let call = SystemCall("truncate", path)
    let position = try Self.position(size, plus: 0, call)
    try call.run { ftruncate(descriptor, position) }
  }

  func size() throws(FileError) -> UInt64 {
    UInt64(clamping: try status().st_size)
  }

  func inode() throws(FileError) -> UInt64 {
    UInt64(try status().st_ino)
  }

  func map() throws(FileError) -> FileMapping {
    let call = SystemCall("map", path)
    guard let size = Int(exactly: try status().st_size) else { throw call.error(EFBIG) }
    return try FileMapping(descriptor: descriptor, size: size, call)
  }

  func status() throws(FileError) -> stat {
    var status = stat()
    try SystemCall("inspect", path).run { fstat(descriptor, &status) }
    return status
  }

  /// Converts to the system's signed 64-bit offsets.
  private static func position(
    _ offset: UInt64, plus done: Int, _ call: SystemCall
  ) throws(FileError) -> off_t {
    let (sum, overflow) = offset.addingReportingOverflow(UInt64(done))
    guard !overflow, let position = off_t(exactly: sum) else { throw call.error(EFBIG) }
    return position
  }
}
