import Heartlog
import HeartlogFiles
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Objects as files in a directory that another program carries from device to device: "The folder" in docs/shipping.md.
///
/// It has no numbers for its changes, so each list has everything, and a cursor is a hash of all names and sizes.
package final class DirectoryObjects: ObjectStore {
  package let path: String
  private let fileSystem: any FileSystem
  private let pauseMilliseconds: Int
  /// What the last list found unfinished.
  private let unfinished = Mutex<[(writer: ReplicaID, path: String, process: Int32)]>([])

  package var description: String { "folder:\(path)" }

  static let temporaryPrefix = ".tmp-"

  /// - Parameter pauseMilliseconds: How often `watch` looks. No notification tells what a program on another machine did.
  package init(
    _ path: String, on fileSystem: any FileSystem = POSIXFileSystem(readers: .everybody),
    pauseMilliseconds: Int = 3_000
  ) {
    self.path = path
    self.fileSystem = fileSystem
    self.pauseMilliseconds = pauseMilliseconds
  }

  /// - Throws: `notAStore` if the directory does not exist, `invalid` if it is a store's own or inside one.
  package func list(after cursor: ObjectCursor?) throws(HeartlogError) -> ObjectList {
    guard try onFolder({ () throws(FileError) in try fileSystem.info(path) })?.kind == .directory else {
      throw HeartlogError(.notAStore, "there is no folder \(path)", file: path)
    }
    for suffix in ["", "/..", "/../.."] {
      guard try !isStore(path + suffix) else {
        throw HeartlogError(
          .invalid,
          "\(path) is \(suffix.isEmpty ? "" : "inside ")the directory of a store, not a folder between stores: "
            + "sync with that store by its directory, without \"folder:\", or name a folder of its own",
          file: path)
      }
    }
    let listing = try onFolder { () throws(FileError) in try DirectoryListing(path, on: fileSystem) }
    unfinished.withLock { $0 = listing.unfinished }
    return ObjectList(
      listing.entries, cursor: listing.cursor, startsOver: true, foreignCount: listing.foreignCount)
  }

  package func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    let path = try path(of: name)
    do throws(FileError) {
      let file = try fileSystem.open(path, .read)
      let size = try file.size()
      guard size <= UInt64(bytesMax) else { return .unreadable }
      // An empty file stands for one that was not downloaded yet.
      return size == 0 ? .absent : .bytes(try file.bytes(Int(size), at: 0))
    } catch {
      // Some placeholders cannot be read.
      return error.isNotFound ? .absent : .unreadable
    }
  }

  /// Writes a file under a temporary name, makes it durable, and renames it.
  ///
  /// Two processes of one device may both find that the file is not there. The last one to rename it replaces the other's: both
  /// have the same bytes, or either will do.
  package func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) {
    let path = try path(of: name)
    let folder = PathParts.parent(of: path)
    try onFolder { () throws(FileError) in
      // A key epoch is in no writer's folder.
      let writer = PathParts.parent(of: folder)
      if writer != self.path { try makeFolder(writer, in: self.path) }
      try makeFolder(folder, in: PathParts.parent(of: folder))
    }
    if let info = try onFolder({ () throws(FileError) in try fileSystem.info(path) }), info.size > 0 {
      guard info.size == UInt64(bytes.count), try get(name, bytesMax: bytes.count) == .bytes(bytes) else {
        throw HeartlogError(.exists, "\(path) exists already, with other bytes", file: path)
      }
      // Whoever wrote it may have been interrupted before it was durable.
      return try onFolder { () throws(FileError) in
        try fileSystem.open(path, .read).synchronize()
        try fileSystem.synchronizeDirectory(folder)
      }
    }
    let temporary =
      "\(folder)/\(Self.temporaryPrefix)\(fileSystem.processID)-\(UInt64.random(in: 0 ... .max))"
    try onFolder { () throws(FileError) in
      let open = try fileSystem.open(temporary, .createNew)
      do throws(FileError) {
        try open.write(bytes, at: 0)
        try open.synchronize()
        try fileSystem.rename(temporary, to: path)
      } catch {
        // If this fails, a later pass removes the temporary file.
        try? fileSystem.remove(temporary)
        throw error
      }
      try fileSystem.synchronizeDirectory(folder)
    }
  }

  package func delete(_ name: String) throws(HeartlogError) { try remove(try path(of: name)) }

  package func watch(after cursor: ObjectCursor, milliseconds: Int) throws(HeartlogError) -> Bool {
    try poll(every: pauseMilliseconds, for: milliseconds) { () throws(HeartlogError) in
      try onFolder { () throws(FileError) in try DirectoryListing(path, on: fileSystem) }.cursor != cursor
    }
  }

  /// Removes unfinished files of a device whose processes no longer exist.
  package func removeRemains(of writer: ReplicaID) throws(HeartlogError) {
    for file in unfinished.withLock({ $0 })
    where file.writer == writer && file.process != fileSystem.processID && !fileSystem.isRunning(file.process)
    {
      try remove(file.path)
    }
  }

  // MARK: - Parts

  private func remove(_ path: String) throws(HeartlogError) {
    try onFolder { () throws(FileError) in
      do throws(FileError) { try fileSystem.remove(path) } catch {
        guard error.isNotFound else { throw error }
      }
    }
  }

  /// - Throws: `invalid` for a name that leads out of the directory.
  private func path(of name: String) throws(HeartlogError) -> String {
    guard FolderPlace(name) != nil || FolderPlace.isKey(name) else {
      throw HeartlogError(.invalid, "\(name) is no name of an object")
    }
    return "\(path)/\(name)"
  }

  private func makeFolder(_ path: String, in parent: String) throws(FileError) {
    do throws(FileError) { try fileSystem.createDirectory(path) } catch {
      guard error.alreadyExists else { throw error }
      return
    }
    try fileSystem.synchronizeDirectory(parent)
  }

  /// Whether a directory looks like that of a store. One of its entries may be damaged or missing.
  private func isStore(_ folder: String) throws(HeartlogError) -> Bool {
    try onFolder { () throws(FileError) in
      let found = [
        try fileSystem.info("\(folder)/store")?.kind == .file,
        try fileSystem.info("\(folder)/lock")?.kind == .file,
        try fileSystem.info("\(folder)/replicas")?.kind == .directory,
      ]
      return found.filter { $0 }.count > 1
    }
  }
}

extension ObjectStore {
  /// Asks a question again and again until the answer is yes, for at most so long. It is asked once at least.
  ///
  /// - Returns: The last answer.
  func poll(
    every pauseMilliseconds: Int, for milliseconds: Int, _ question: () throws(HeartlogError) -> Bool
  ) throws(HeartlogError) -> Bool {
    let start = MonotonicClock.nanoseconds()
    while true {
      if try question() { return true }
      let passed = Int(clamping: (MonotonicClock.nanoseconds() - start) / 1_000_000)
      guard passed < milliseconds else { return false }
      usleep(UInt32(clamping: min(milliseconds - passed, pauseMilliseconds)) * 1_000)
    }
  }
}

/// Runs `body` on files that others may write to as well, and converts its errors to `HeartlogError`.
func onFolder<R>(_ body: () throws(FileError) -> R) throws(HeartlogError) -> R {
  do throws(FileError) { return try body() } catch {
    let code: HeartlogError.Code =
      error.isDiskFull ? .diskFull : error.isReadOnly ? .readOnly : .inputOutput
    throw HeartlogError(code, error.description, file: error.path)
  }
}
