import HeartlogFiles
import HeartlogFormat

/// Whether a store is opened for writing.
public enum StoreAccess: Sendable {
  /// Reads and writes.
  case readWrite
  /// Read only: takes no lock and creates no store; every write throws `readOnly`.
  case readOnly
}

/// How a store's log is opened.
package struct StorageOptions: Sendable {
  package var access = StoreAccess.readWrite
  /// The longest time that a writer waits for another process's lock.
  package var lockMillisecondsMax = 10_000
  /// The size at which a segment is full; the next commit starts a new one.
  package var segmentBytesMax: UInt64 = 1 << 20
  /// The number of streams from which on no others are received.
  package var streamsMax = Limits.streamsMax
  /// The number of events at which a run that is shipped is full; a stored block is shipped whole.
  package var runEventsMax = Limits.blockEventsMax
  /// Whether a background thread seals segments as soon as they are full.
  package var sealsInBackground = true
  /// Whether the lock is kept while durable commits follow each other at once. It depends on the time, so tests that compare the order of
  /// operations switch it off.
  package var keepsLockInSeries = true
  /// Where the key is that signs the store's own stream.
  package var keys = DeviceKeyPlace.none
  /// The number of files that logs may keep open between calls, shared by all logs that use it.
  var budget = OpenFileBudget.process
  /// Where the log reports its work.
  package var trace = StoreTrace()
  /// The clock and the threads of the log.
  package var scheduler: any Scheduler = SystemScheduler()
  /// The source of ids and secrets.
  package var random: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

  package init() {}

  /// `random` as a `RandomNumberGenerator`.
  var generator: some RandomNumberGenerator { Generator(random: random) }

  private struct Generator: RandomNumberGenerator {
    let random: @Sendable () -> UInt64
    mutating func next() -> UInt64 { random() }
  }
}

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

/// Controls access to a store's files by users other than the owner. Source: docs/format.md, "The folder".
extension StoreDirectory {
  /// Whether other users of the machine can read the store or hold its lock, and this process may change that.
  func isOpenToOthers() throws(HeartlogError) -> Bool {
    guard let info = try fileSystem.info(path) else { return false }
    return info.isOpenToOthers && isOwn(info)
  }

  /// Removes all permissions on the store's files for everybody but the owner. Files of other owners are left unchanged, and so is
  /// everything if the file system does not allow permissions to be changed.
  ///
  /// - Returns: Whether others had permissions and now have none.
  @discardableResult
  func closeToOthers() throws(HeartlogError) -> Bool {
    guard let info = try fileSystem.info(path), info.isOpenToOthers, isOwn(info) else { return false }
    // The folder is last: while it is open to others, the next writer repeats the whole procedure.
    for file in try storeFiles() {
      guard try fileSystem.restrict(file, of: info.owner, followingLink: false) else { return false }
    }
    return try fileSystem.restrict(path, of: info.owner, followingLink: true)
  }

  private func isOwn(_ info: FileInfo) -> Bool {
    let user = fileSystem.userID
    return user == 0 || user == info.owner
  }

  /// The files and folders of the store, each before the folder that contains it.
  func storeFiles() throws(HeartlogError) -> [String] {
    var files: [String] = []
    for name in try fileSystem.entries(of: path) {
      let entry = "\(path)/\(name)"
      switch name {
      case "replicas":
        for stream in try paths(in: entry) where Self.isStreamFolder(String(PathParts.name(of: stream))) {
          files += try paths(in: stream) + [stream]
        }
      case "snapshots", "keys", "evidence", "local": files += try paths(in: entry)
      case "store", "lock": break
      default:
        let evicted = Self.evictedName(name).map {
          ["store", "lock", "erased", "lost"].contains($0)
        }
        guard name.hasPrefix("store.") || evicted == true else { continue }
      }
      files.append(entry)
    }
    return files
  }

  private func paths(in folder: String) throws(HeartlogError) -> [String] {
    (try ifPresent(fileSystem.entries(of: folder)) ?? []).map { "\(folder)/\($0)" }
  }
}

extension CommitLog {
  /// Whether other users of this machine can read the store at `path`, or hold its lock, until its owner next writes to it.
  package static func isOpenToOthers(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> Bool {
    try StoreDirectory(fileSystem: fileSystem, path: path).isOpenToOthers()
  }
}

extension HeartlogError {
  /// Whether `FavoritesStore.repair` can rebuild the file that the error is about, which is no segment.
  public var isRepairable: Bool {
    guard code == .corrupt, let file else { return false }
    return file.hasSuffix("/store") || file.hasSuffix("/\(StreamEnd.name)")
  }

  /// Whether the error concerns a file that a cloud client keeps elsewhere: nothing is lost.
  package var isNotDownloaded: Bool {
    code == .corrupt && file?.hasSuffix(StoreDirectory.placeholderEnding) == true
  }

  /// Whether the error concerns a segment, which can be repaired from another copy.
  package var isOfSegment: Bool {
    guard code == .corrupt, let name = file?.split(separator: "/").last else { return false }
    return SegmentFile(name: String(name)) != nil
  }
}
