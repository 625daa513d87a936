import HeartlogFormat
import HeartlogCrashModel
import HeartlogFiles

/// A file system in memory that knows how many files are open and how much was read.
final class CountingFiles: LayeredFileSystem {
  private let files = MemoryFileSystem()
  var below: any FileSystem { files }
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

  var processID: Int32 {
    get { files.processID }
    set { files.processID = newValue }
  }

  func contents(of path: String) throws(HeartlogError) -> [UInt8] { try files.contents(of: path) }
  func replaceContents(of path: String, with bytes: [UInt8]) throws(HeartlogError) {
    try files.replaceContents(of: path, with: bytes)
  }
}

private final class CountedFile: LayeredFile {
  let below: any OpenFile
  let files: CountingFiles

  init(_ file: any OpenFile, _ files: CountingFiles) {
    below = file
    self.files = files
    files.change(1)
  }

  deinit { files.change(-1) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    let count = try below.read(into: buffer, at: offset)
    files.read(count)
    return count
  }
}
