import HeartlogFiles
import HeartlogFormat

/// A file system over another one, to which it passes on each call that it does not answer itself.
package protocol LayeredFileSystem: FileSystem {
  var below: any FileSystem { get }
}

extension LayeredFileSystem {
  package func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    try below.open(path, mode)
  }
  package func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try below.rename(path, to: newPath)
  }
  package func remove(_ path: String) throws(HeartlogError) { try below.remove(path) }
  package func createDirectory(_ path: String) throws(HeartlogError) { try below.createDirectory(path) }
  package func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    try below.synchronizeDirectory(path)
  }
  package func entries(of directory: String) throws(HeartlogError) -> [String] {
    try below.entries(of: directory)
  }
  package func info(_ path: String) throws(HeartlogError) -> FileInfo? { try below.info(path) }
  package func openLock(_ path: String) throws(HeartlogError) -> any LockFile { try below.openLock(path) }
  package func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool { try below.isOnNetwork(path) }
  package var machineID: [UInt8] { below.machineID }
  package var processID: Int32 { below.processID }
}

/// A file of such a file system.
package protocol LayeredFile: OpenFile {
  var below: any OpenFile { get }
}

extension LayeredFile {
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError)
    -> Int
  {
    try below.read(into: buffer, at: offset)
  }
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    try below.write(bytes, at: offset)
  }
  package func synchronizeData() throws(HeartlogError) { try below.synchronizeData() }
  package func synchronize() throws(HeartlogError) { try below.synchronize() }
  package func truncate(to size: UInt64) throws(HeartlogError) { try below.truncate(to: size) }
  package func size() throws(HeartlogError) -> UInt64 { try below.size() }
  package func inode() throws(HeartlogError) -> UInt64 { try below.inode() }
}

/// A lock file of such a file system.
package protocol LayeredLockFile: LockFile {
  var below: any LockFile { get }
}

extension LayeredLockFile {
  package func tryLock() throws(HeartlogError) -> Bool { try below.tryLock() }
  package func unlock() { below.unlock() }
  package func load(_ word: Int) -> UInt64 { below.load(word) }
  package func store(_ value: UInt64, _ word: Int) { below.store(value, word) }
}
