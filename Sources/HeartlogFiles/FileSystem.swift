import HeartlogFormat

/// How a file is opened.
package enum OpenMode: Sendable {
  /// Read only; the file must exist.
  case read
  /// Read and write; the file must exist.
  case readWrite
  /// Read and write; the file is created and must not exist yet (`O_EXCL`).
  case createNew
}

/// The file at a path. Symbolic links are followed.
package struct FileInfo: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case file
    case directory
    case other
  }

  package var kind: Kind
  /// In bytes; unspecified for a directory.
  package var size: UInt64
  package var inode: UInt64
  /// Since 1970; 0 if the file system does not record it.
  package var birthTimeNanoseconds: Int64
  /// The user id of the owner.
  package var owner: UInt32
  /// The nine permission bits: read, write and execute for owner, group and others.
  package var permissions: UInt16

  package init(
    kind: Kind, size: UInt64, inode: UInt64, birthTimeNanoseconds: Int64, owner: UInt32 = 0,
    permissions: UInt16 = 0o700
  ) {
    self.kind = kind
    self.size = size
    self.inode = inode
    self.birthTimeNanoseconds = birthTimeNanoseconds
    self.owner = owner
    self.permissions = permissions
  }

  /// Whether users other than the owner have any permission.
  package var isOpenToOthers: Bool { permissions & 0o077 != 0 }
}

/// The most names of a directory that are read. No store has as many; a folder that others write to may have any number.
package let directoryNamesMax = 1 << 18

/// The interface to the file system: all system calls that touch files are made through it.
package protocol FileSystem: Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile

  /// Renames `path` to `newPath`, replacing an existing file atomically.
  func rename(_ path: String, to newPath: String) throws(HeartlogError)

  /// Removes the name of a file. Open files stay intact until they are closed.
  func remove(_ path: String) throws(HeartlogError)

  /// Removes an empty directory.
  func removeDirectory(_ path: String) throws(HeartlogError)

  /// Creates one directory, whose parent must exist.
  func createDirectory(_ path: String) throws(HeartlogError)

  /// Creates one directory that is not only for the files of a store. All may read it, where there are others.
  func createDirectoryForEverybody(_ path: String) throws(HeartlogError)

  /// Makes the names in a directory durable: all creations, renames and removals so far.
  func synchronizeDirectory(_ path: String) throws(HeartlogError)

  /// Returns the names in a directory without `.` and `..`, sorted by their bytes. Names that are not UTF-8 are omitted: Heartlog
  /// never creates one and could not open it through a `String`. Throws `tooManyNames` if there are more than `directoryNamesMax`.
  func entries(of directory: String) throws(HeartlogError) -> [String]

  /// Returns information about the file at a path; nil if there is none.
  func info(_ path: String) throws(HeartlogError) -> FileInfo?

  /// Removes all permissions of others from a file or directory owned by `owner`. Does nothing if it has another owner or no longer
  /// exists. A symbolic link is ignored unless `followingLink` is true.
  ///
  /// - Returns: false if the file system does not allow permissions to be changed and others still have some.
  func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(HeartlogError) -> Bool

  /// Opens a lock file of one page. If the file is missing or short and writable, it is extended with zeros to one page. If it is
  /// not writable, words can be loaded, but `tryLock` throws `EROFS` or `EACCES`; if it is also missing or short, the missing words
  /// are 0.
  ///
  /// - Throws: An error that `isBusy` while another process extends it.
  func openLock(_ path: String) throws(HeartlogError) -> any LockFile

  /// Whether locks and shared mappings are unreliable at a path: NFS, SMB, CIFS, AFS, Coda.
  func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool

  /// An identifier of this machine; empty if there is none.
  var machineID: [UInt8] { get }

  /// Read each time, so that a store detects its use after a fork.
  var processID: Int32 { get }

  /// Whether a process with this id exists, as far as this process can tell.
  func isRunning(_ process: Int32) -> Bool

  /// The effective user id of the process; 0 may change everybody's files.
  var userID: UInt32 { get }

  /// Why this process may not write to the existing file or folder at a path, as far as that is known without an attempt; nil if it may.
  func writeRefusal(at path: String) -> HeartlogError?

  /// The number of bytes that this user may still write to the file system of a path; nil if that is unknown.
  func freeBytes(at path: String) -> UInt64?

  /// The process that holds the `flock` on the file at a path; nil if there is none, or if that is unknown.
  func lockHolder(of path: String) -> LockHolder?
}

extension FileSystem {
  /// The default for file systems other than the operating system's, which know only this process.
  package func isRunning(_ process: Int32) -> Bool { process == processID }

  /// The default for file systems other than the operating system's, which have no users.
  package var userID: UInt32 { 0 }
  package func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(HeartlogError) -> Bool {
    true
  }

  package func createDirectoryForEverybody(_ path: String) throws(HeartlogError) { try createDirectory(path) }

  /// The default for file systems whose empty folders are left.
  package func removeDirectory(_ path: String) throws(HeartlogError) {}

  // Defaults for file systems without these limits.
  package func writeRefusal(at path: String) -> HeartlogError? { nil }
  package func freeBytes(at path: String) -> UInt64? { nil }
  package func lockHolder(of path: String) -> LockHolder? { nil }

  /// The contents of a small file; nil if there is none.
  package func contents(of path: String) throws(HeartlogError) -> [UInt8]? {
    do throws(HeartlogError) {
      let file = try open(path, .read)
      return try file.bytes(Int(clamping: try file.size()), at: 0)
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }

  /// Writes a new file and makes its contents durable, not yet its name.
  package func prepareFile(_ path: String, with bytes: [UInt8]) throws(HeartlogError) {
    do throws(HeartlogError) {
      let file = try open(path, .createNew)
      try file.write(bytes, at: 0)
      try file.synchronize()
    } catch {
      try? remove(path)
      throw error
    }
  }

  /// Renames a prepared file to its final name, durably.
  package func giveName(_ path: String, to temporary: String) throws(HeartlogError) {
    do throws(HeartlogError) { try rename(temporary, to: path) } catch {
      try? remove(temporary)
      throw error
    }
    try synchronizeDirectory(PathParts.parent(of: path))
  }

  /// Writes a file under a temporary name, makes it durable, and renames it.
  package func replaceFile(
    _ path: String, with bytes: [UInt8], through temporary: String
  ) throws(HeartlogError) {
    try prepareFile(temporary, with: bytes)
    try giveName(path, to: temporary)
  }

  /// Creates a folder in another one, durably, unless it is there.
  package func makeFolder(_ path: String) throws(HeartlogError) {
    guard try info(path) == nil else { return }
    do throws(HeartlogError) { try createDirectory(path) } catch {
      guard error.alreadyExists else { throw error }
    }
    try synchronizeDirectory(PathParts.parent(of: path))
  }

  /// Creates the missing folders above a path, durably.
  package func createParents(of path: String) throws(HeartlogError) {
    let parent = PathParts.parent(of: path)
    guard parent != path, try info(parent) == nil else { return }
    try createParents(of: parent)
    do throws(HeartlogError) { try createDirectoryForEverybody(parent) } catch {
      guard error.alreadyExists else { throw error }
    }
    try synchronizeNames(above: parent)
  }

  /// Removes a folder with everything in it, or a file. Does nothing if there is none.
  package func removeTree(_ path: String) throws(HeartlogError) {
    guard let found = try info(path) else { return }
    guard found.kind == .directory else { return try remove(path) }
    for name in try entries(of: path) { try removeTree("\(path)/\(name)") }
    try removeDirectory(path)
  }

  /// Makes the name of a folder durable, also if another process created it, which may have died before it did so. A parent that may be
  /// traversed but not read contains folders created by others.
  package func synchronizeNames(above path: String) throws(HeartlogError) {
    do throws(HeartlogError) { try synchronizeDirectory(PathParts.parent(of: path)) } catch {
      guard error.code == .readOnly else { throw error }
    }
  }
}

/// An open file, which is closed when the last reference is released. Offsets are absolute: there is no
/// current position, and calls from several threads do not interfere.
package protocol OpenFile: AnyObject, Sendable {
  /// Reads from `offset` into the buffer, up to the end of the file. Returns the number of bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int

  /// Writes all of `bytes`. If it throws, a first part may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError)

  /// Makes the contents and the size durable (`fdatasync`, `F_FULLFSYNC` on Apple). After an error the
  /// contents of the disk are unknown, and the success of a later call says nothing about the failed one.
  func synchronizeData() throws(HeartlogError)

  /// As `synchronizeData`, including the file's metadata (`fsync`, `F_FULLFSYNC` on Apple).
  func synchronize() throws(HeartlogError)

  func truncate(to size: UInt64) throws(HeartlogError)

  func size() throws(HeartlogError) -> UInt64

  /// Returns the inode number of the open file, even if its name now refers to another file.
  func inode() throws(HeartlogError) -> UInt64

  /// Maps the whole file for reading. It must never be truncated or written again.
  func map() throws(HeartlogError) -> FileMapping
}

extension OpenFile {
  /// Copies the bytes, for files that the operating system cannot map.
  package func map() throws(HeartlogError) -> FileMapping { try FileMapping(copying: self) }

  /// Writes all of `bytes`.
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(HeartlogError) {
    try bytes.withBytes { (bytes) throws(HeartlogError) in try write(bytes, at: offset) }
  }

  /// Reads from `offset` into `bytes`, up to the end of the file.
  ///
  /// - Returns: The number of bytes read.
  package func read(into bytes: inout [UInt8], at offset: UInt64) throws(HeartlogError) -> Int {
    try bytes.withUnsafeMutableBufferPointer { (bytes) throws(HeartlogError) in
      try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset)
    }
  }

  /// Returns up to `count` bytes from `offset`, fewer at the end of the file.
  package func bytes(_ count: Int, at offset: UInt64) throws(HeartlogError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.removeLast(count - (try read(into: &bytes, at: offset)))
    return bytes
  }
}

/// A read-only mapping of a whole file. The bytes stay valid and unchanged while the mapping exists, even if the file is renamed or
/// removed. Unmapped when the last reference is released.
///
/// The file must never be truncated or written again: accessing a page that it lost is a fault.
///
/// Unchecked: the memory is never written.
package final class FileMapping: @unchecked Sendable {
  /// The bytes that the file had when it was mapped, page-aligned. They must not be used after the mapping is released.
  package let bytes: UnsafeRawBufferPointer
  private let isMapped: Bool

  /// Maps an open file. The file may be closed afterwards.
  init(descriptor: Int32, size: Int, _ call: SystemCall) throws(HeartlogError) {
    isMapped = true
    guard size > 0 else {
      // mmap rejects a length of 0.
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      return
    }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw call.error(errno)
    }
    bytes = UnsafeRawBufferPointer(start: start, count: size)
  }

  /// Copies the contents of an open file.
  init(copying file: some OpenFile) throws(HeartlogError) {
    // The alignment that a mapping would have.
    let alignment = 4_096
    let copy = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(try file.size()), alignment: alignment)
    do throws(HeartlogError) {
      let count = try file.read(into: copy, at: 0)
      bytes = UnsafeRawBufferPointer(start: copy.baseAddress, count: count)
      isMapped = false
    } catch {
      copy.deallocate()
      throw error
    }
  }

  deinit {
    if !isMapped {
      bytes.baseAddress?.deallocate()
    } else if let start = bytes.baseAddress {
      munmap(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}
