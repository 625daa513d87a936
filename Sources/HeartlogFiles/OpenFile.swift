/// An open file, which is closed when the last reference is released. Offsets are absolute: there is no
/// current position, and calls from several threads do not interfere.
package protocol OpenFile: AnyObject, Sendable {
  /// Reads from `offset` into the buffer, up to the end of the file. Returns the number of bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int

  /// Writes all of `bytes`. If it throws, a first part may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

  /// Makes the contents and the size durable (`fdatasync`, `F_FULLFSYNC` on Apple). After an error the
  /// contents of the disk are unknown, and the success of a later call says nothing about the failed one.
  func synchronizeData() throws(FileError)

  /// As `synchronizeData`, including the file's metadata (`fsync`, `F_FULLFSYNC` on Apple).
  func synchronize() throws(FileError)

  func truncate(to size: UInt64) throws(FileError)

  func size() throws(FileError) -> UInt64

  /// Returns the inode number of the open file, even if its name now refers to another file.
  func inode() throws(FileError) -> UInt64

  /// Maps the whole file for reading. It must never be truncated or written again.
  func map() throws(FileError) -> FileMapping
}

extension OpenFile {
  /// Copies the bytes, for files that the operating system cannot map.
  package func map() throws(FileError) -> FileMapping { try FileMapping(copying: self) }

  /// Writes all of `bytes`.
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(FileError) {
    try bytes.withUnsafeBufferPointer { (bytes) throws(FileError) in
      try write(UnsafeRawBufferPointer(bytes), at: offset)
    }
  }

  /// Reads from `offset` into `bytes`, up to the end of the file.
  ///
  /// - Returns: The number of bytes read.
  package func read(into bytes: inout [UInt8], at offset: UInt64) throws(FileError) -> Int {
    try bytes.withUnsafeMutableBufferPointer { (bytes) throws(FileError) in
      try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset)
    }
  }

  /// Returns up to `count` bytes from `offset`, fewer at the end of the file.
  package func bytes(_ count: Int, at offset: UInt64) throws(FileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.removeLast(count - (try read(into: &bytes, at: offset)))
    return bytes
  }
}
