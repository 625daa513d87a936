/// A file that is open, which closes itself when the last reference goes. Offsets are absolute: there is no
/// current position, and calls from several threads do not disturb each other.
package protocol OpenFile: AnyObject, Sendable {
  /// Fills the buffer from `offset` as far as the file goes; the number of bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int

  /// Writes all of `bytes`. Where it throws, a first part may be in place.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError)

  /// Makes the contents and the size durable (`fdatasync`, `F_FULLFSYNC` on Apple). After an error it is
  /// unknown what is on the disk, and a second call that succeeds says nothing about the first.
  func synchronizeData() throws(FileError)

  /// As `synchronizeData`, with the file's metadata (`fsync`, `F_FULLFSYNC` on Apple).
  func synchronize() throws(FileError)

  func truncate(to size: UInt64) throws(FileError)

  func size() throws(FileError) -> UInt64

  /// Of the open file, whatever its name stands for by now.
  func inode() throws(FileError) -> UInt64

  /// Maps the whole file to be read. It must be one that nobody shortens or writes to again.
  func map() throws(FileError) -> FileMapping
}

extension OpenFile {
  /// A copy of the bytes, for files that are no files of the system.
  package func map() throws(FileError) -> FileMapping { try FileMapping(copying: self) }

  /// Writes all of `bytes`.
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(FileError) {
    let result: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
      Result { () throws(FileError) in try write(buffer, at: offset) }
    }
    try result.get()
  }

  /// Fills `bytes` as far as the file goes.
  ///
  /// - Returns: how many bytes there were.
  package func read(into bytes: inout [UInt8], at offset: UInt64) throws(FileError) -> Int {
    let result: Result<Int, FileError> = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(FileError) in try read(into: buffer, at: offset) }
    }
    return try result.get()
  }

  /// Up to `count` bytes from `offset` on, fewer where the file ends before.
  package func bytes(_ count: Int, at offset: UInt64) throws(FileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.removeLast(count - (try read(into: &bytes, at: offset)))
    return bytes
  }
}
