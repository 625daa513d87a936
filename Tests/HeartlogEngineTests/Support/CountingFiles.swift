import HeartlogFormat
import HeartlogCrashModel
import HeartlogFiles

/// A file system in memory that knows how many files are open and how much was read.
final class CountingFiles: FileSystem {
  private let files = MemoryFileSystem()
  private let count = Monitor(0)
  private let bytes = Monitor(0)

  /// Files that are open now, lock files left out.
  var openCount: Int { count.withLock { $0 } }

  /// Bytes read so far.
  var readBytes: Int { bytes.withLock { $0 } }

  fileprivate func read(_ count: Int) { bytes.withLock { $0 += count } }
  fileprivate func change(_ difference: Int) { count.withLock { $0 += difference } }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    CountedFile(try files.open(path, mode), self)
  }

  func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try files.rename(path, to: newPath)
  }
  func remove(_ path: String) throws(HeartlogError) { try files.remove(path) }
  func createDirectory(_ path: String) throws(HeartlogError) { try files.createDirectory(path) }
  func synchronizeDirectory(_ path: String) throws(HeartlogError) { try files.synchronizeDirectory(path) }
  func entries(of directory: String) throws(HeartlogError) -> [String] { try files.entries(of: directory) }
  func info(_ path: String) throws(HeartlogError) -> FileInfo? { try files.info(path) }
  func openLock(_ path: String) throws(HeartlogError) -> any LockFile { try files.openLock(path) }
  func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool { try files.isOnNetwork(path) }
  var machineID: [UInt8] { files.machineID }
  var processID: Int32 {
    get { files.processID }
    set { files.processID = newValue }
  }

  func contents(of path: String) throws(HeartlogError) -> [UInt8] { try files.contents(of: path) }
  func replaceContents(of path: String, with bytes: [UInt8]) throws(HeartlogError) {
    try files.replaceContents(of: path, with: bytes)
  }
}

private final class CountedFile: OpenFile {
  let file: any OpenFile
  let files: CountingFiles

  init(_ file: any OpenFile, _ files: CountingFiles) {
    self.file = file
    self.files = files
    files.change(1)
  }

  deinit { files.change(-1) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    let count = try file.read(into: buffer, at: offset)
    files.read(count)
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    try file.write(bytes, at: offset)
  }

  func synchronizeData() throws(HeartlogError) { try file.synchronizeData() }
  func synchronize() throws(HeartlogError) { try file.synchronize() }
  func truncate(to size: UInt64) throws(HeartlogError) { try file.truncate(to: size) }
  func size() throws(HeartlogError) -> UInt64 { try file.size() }
  func inode() throws(HeartlogError) -> UInt64 { try file.inode() }
}
