import HeartlogCrashModel
import HeartlogFiles

@testable import Heartlog

/// A file system in memory, with what a test says of it.
struct ExaminedFiles: LayeredFileSystem {
  let files: MemoryFileSystem
  var below: any FileSystem { files }
  var isOnNetwork = false
  var freeBytes: UInt64?
  /// The errno of every attempt to write.
  var writeRefusal: Int32?
  /// A file that nobody may read.
  var unreadable: String?
  /// A file or folder that others may read.
  var openToOthers: String?
  var otherMachine = false

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    if path == unreadable { throw HeartlogError(operation: "open", path: path, code: 13) }
    return try files.open(path, mode)
  }

  func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    var info = try files.info(path)
    if path == openToOthers { info?.permissions = 0o755 }
    return info
  }

  func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool { isOnNetwork }
  func freeBytes(at path: String) -> UInt64? { freeBytes }
  func writeRefusal(at path: String) -> HeartlogError? {
    writeRefusal.map { HeartlogError(operation: "write", path: path, code: $0) }
  }
  func lockHolder(of path: String) -> LockHolder? { LockHolder(process: 4_711) }
  var machineID: [UInt8] { otherMachine ? [1] : files.machineID }
}
