/// A file that is open, which closes itself when the last reference goes. Offsets are absolute: there is no
/// current position, and calls from several threads do not disturb each other.
public protocol OpenFile: AnyObject, Sendable {
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
}
