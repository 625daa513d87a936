import HeartlogFormat
import HeartlogFiles

/// Whether this process may read and write the log.
struct LogAccess {
  private let fileSystem: any FileSystem
  private let path: String
  private let processID: Int32
  private let isReadOnlyBecause: String?

  static let networkReason = "the store is on a network file system; sync with it as a folder instead"

  init(_ directory: StoreDirectory, _ options: StorageOptions, hasLockPage: Bool) {
    fileSystem = directory.fileSystem
    path = directory.path
    processID = directory.fileSystem.processID
    isReadOnlyBecause =
      if !hasLockPage {
        Self.networkReason
      } else if options.access == .readOnly {
        "the store was opened for reading only"
      } else {
        nil
      }
  }

  /// After a fork, the lock and the unflushed data belong to the parent process.
  var isOfThisProcess: Bool { fileSystem.processID == processID }

  func checkProcess() throws(HeartlogError) {
    guard isOfThisProcess else {
      throw HeartlogError(.misuse, "the store was opened before a fork; open it again in the new process")
    }
  }

  /// Whether the log may be written, as far as it was opened for that.
  var isWritable: Bool { isReadOnlyBecause == nil }

  func checkWritable() throws(HeartlogError) {
    if let isReadOnlyBecause { throw HeartlogError(.readOnly, isReadOnlyBecause, file: path) }
  }
}
