import HeartlogFiles

/// A file system in memory that knows how many files are open and how much was read.
final class CountingFiles: FileSystem {
  private let files = MemoryFileSystem(recording: false)
  private let count = Locked(0)
  private let bytes = Locked(0)

  /// Files that are open now, lock files left out.
  var openCount: Int { count.withLock { $0 } }

  /// Bytes read so far.
  var readBytes: Int { bytes.withLock { $0 } }

  fileprivate func read(_ count: Int) { bytes.withLock { $0 += count } }
  fileprivate func change(_ difference: Int) { count.withLock { $0 += difference } }

  func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any OpenFile {
    CountedFile(try files.open(path, mode), self)
  }

  func rename(_ path: String, to newPath: String) throws(FileError) { try files.rename(path, to: newPath) }
  func remove(_ path: String) throws(FileError) { try files.remove(path) }
  func createDirectory(_ path: String) throws(FileError) { try files.createDirectory(path) }
  func synchronizeDirectory(_ path: String) throws(FileError) { try files.synchronizeDirectory(path) }
  func entries(of directory: String) throws(FileError) -> [String] { try files.entries(of: directory) }
  func info(_ path: String) throws(FileError) -> FileInfo? { try files.info(path) }
  func openLock(_ path: String) throws(FileError) -> any LockFile { try files.openLock(path) }
  func isOnNetwork(_ path: String) throws(FileError) -> Bool { try files.isOnNetwork(path) }
  var machineID: [UInt8] { files.machineID }
  var processID: Int32 {
    get { files.processID }
    set { files.processID = newValue }
  }

  func contents(of path: String) throws(FileError) -> [UInt8] { try files.contents(of: path) }
  func replaceContents(of path: String, with bytes: [UInt8]) throws(FileError) {
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

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
    let count = try file.read(into: buffer, at: offset)
    files.read(count)
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
    try file.write(bytes, at: offset)
  }

  func synchronizeData() throws(FileError) { try file.synchronizeData() }
  func synchronize() throws(FileError) { try file.synchronize() }
  func truncate(to size: UInt64) throws(FileError) { try file.truncate(to: size) }
  func size() throws(FileError) -> UInt64 { try file.size() }
  func inode() throws(FileError) -> UInt64 { try file.inode() }
}
