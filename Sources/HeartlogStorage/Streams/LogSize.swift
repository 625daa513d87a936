import HeartlogFormat
import HeartlogFiles

extension CommitLog {
  /// The size of the segments that begin after these positions: most of what is read if a log is opened at them. Streams without a position
  /// count as a whole. Reads no file and takes no lock; nil if there is no store, or none that can be opened without creating a file.
  package static func bytes(
    behind positions: [StreamPosition], at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> UInt64? {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let lock = try heartlogErrors { try fileSystem.info(directory.lockPath) }
    guard let lock, lock.size >= UInt64(lockPageBytes) else { return nil }
    var bytes: UInt64 = 0
    for replica in try directory.replicas() {
      let known = positions.first { $0.replica == replica }?.commit
      for segment in try directory.segments(of: replica) where known.map({ segment.firstCommit > $0 }) ?? true
      {
        let file = directory.path(of: segment, in: replica)
        bytes += try heartlogErrors { try fileSystem.info(file)?.size ?? 0 }
      }
    }
    return bytes
  }
}
