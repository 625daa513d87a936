import Heartlog
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// Objects as files in a directory that another program carries from device to device: "The folder" in docs/shipping.md.
///
/// It has no numbers for its changes, so each list has everything, and a cursor is a hash of all names and sizes.
package final class DirectoryPlace: Place {
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
  package func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    guard try fileSystem.info(path)?.kind == .directory else {
      throw HeartlogError(.notAStore, "there is no folder \(path)", file: path)
    }
    for suffix in ["", "/..", "/../.."] {
      guard try !fileSystem.isStore(path + suffix) else {
        throw HeartlogError(
          .invalid,
          "\(path) is \(suffix.isEmpty ? "" : "inside ")the directory of a store, not a folder between stores: "
            + "sync with that store by its directory, without \"folder:\", or name a folder of its own",
          file: path)
      }
    }
    let listing = try DirectoryListing(path, on: fileSystem)
    unfinished.withLock { $0 = listing.unfinished }
    return ObjectList(
      listing.entries, cursor: listing.cursor, startsOver: true, foreignCount: listing.foreignCount)
  }

  package func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    let path = try path(of: name)
    do throws(HeartlogError) {
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
    // A key epoch is in no writer's folder.
    let writer = PathParts.parent(of: folder)
    if writer != self.path { try fileSystem.makeFolder(writer) }
    try fileSystem.makeFolder(folder)
    if let info = try fileSystem.info(path), info.size > 0 {
      guard info.size == UInt64(bytes.count), try get(name, bytesMax: bytes.count) == .bytes(bytes) else {
        throw HeartlogError(.exists, "\(path) exists already, with other bytes", file: path)
      }
      // Whoever wrote it may have been interrupted before it was durable.
      try fileSystem.open(path, .read).synchronize()
      return try fileSystem.synchronizeDirectory(folder)
    }
    let temporary =
      "\(folder)/\(Self.temporaryPrefix)\(fileSystem.processID)-\(UInt64.random(in: 0 ... .max))"
    // If it stays, a later pass removes the temporary file.
    try fileSystem.replaceFile(path, with: bytes, through: temporary)
  }

  package func delete(_ name: String) throws(HeartlogError) { try remove(try path(of: name)) }

  package func watch(after cursor: PlaceCursor, milliseconds: Int) throws(HeartlogError) -> Bool {
    try poll(every: pauseMilliseconds, for: milliseconds) { () throws(HeartlogError) in
      try DirectoryListing(path, on: fileSystem).cursor != cursor
    }
  }

  /// Removes unfinished files of a device whose processes no longer exist.
  package func removeLeftovers(of writer: ReplicaID) throws(HeartlogError) {
    for file in unfinished.withLock({ $0 })
    where file.writer == writer && file.process != fileSystem.processID && !fileSystem.isRunning(file.process)
    {
      try remove(file.path)
    }
  }

  // MARK: - Parts

  private func remove(_ path: String) throws(HeartlogError) {
    do throws(HeartlogError) { try fileSystem.remove(path) } catch {
      guard error.isNotFound else { throw error }
    }
  }

  /// - Throws: `invalid` for a name that leads out of the directory.
  private func path(of name: String) throws(HeartlogError) -> String {
    guard ObjectPath.isObjectOrCopy(name) else {
      throw HeartlogError(.invalid, "\(name) is no name of an object")
    }
    return "\(path)/\(name)"
  }
}

extension Place {
  /// Asks a question again and again until the answer is yes, for at most so long. It is asked once at least.
  ///
  /// - Returns: The last answer.
  package func poll(
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

/// The contents of a directory of the folder layout, by names and sizes.
struct DirectoryListing {
  private(set) var entries: [ObjectList.Entry] = []
  /// Files and directories that are not of the layout.
  private(set) var foreignCount = 0
  /// Unfinished files, with the writer in whose directory they are and the process that wrote them.
  private(set) var unfinished: [(writer: ReplicaID, path: String, process: Int32)] = []
  /// The names that were read, foreign ones included. Whoever may write to the directory may make any number.
  private var nameCount = 0

  /// Lists `root`. Entries that vanish meanwhile are skipped.
  ///
  /// - Throws: `tooManyNames` if there are more than `directoryNamesMax` files in all.
  init(_ root: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    for name in try fileSystem.entries(of: root) {
      if name == ObjectPath.keysFolder {
        try add(name, of: nil, root, fileSystem)
      } else if let writer = ObjectPath.replica(name),
        let streams = try Self.entries("\(root)/\(name)", fileSystem)
      {
        for stream in streams {
          if ObjectPath.replica(stream) == nil {
            foreignCount += 1
          } else {
            try add("\(name)/\(stream)", of: writer, root, fileSystem)
          }
        }
      } else {
        foreignCount += 1
      }
    }
  }

  /// Adds what is in a folder of a writer's stream, or in that of the vault's keys.
  private mutating func add(
    _ folder: String, of writer: ReplicaID?, _ root: String, _ fileSystem: any FileSystem
  ) throws(HeartlogError) {
    guard let names = try Self.entries("\(root)/\(folder)", fileSystem) else {
      foreignCount += 1
      return
    }
    for name in names {
      nameCount += 1
      guard nameCount <= directoryNamesMax else {
        throw HeartlogError(operation: "list", path: "\(root)/\(folder)", code: HeartlogError.tooManyNames)
      }
      if name.hasPrefix(DirectoryPlace.temporaryPrefix) {
        let process = Int32(name.dropFirst(DirectoryPlace.temporaryPrefix.count).prefix { $0 != "-" })
        // Among the keys, it may be of any device.
        if let writer, let process { unfinished.append((writer, "\(root)/\(folder)/\(name)", process)) }
        continue
      }
      // A file that is in the cloud and not downloaded: ".….icloud".
      let isHidden = name.hasPrefix(".") && name.hasSuffix(".icloud")
      let object = "\(folder)/\(isHidden ? name.dropFirst().dropLast(".icloud".count) : name[...])"
      guard ObjectPath.isObjectOrCopy(object) else {
        foreignCount += 1
        continue
      }
      var byteCount: UInt64?
      if !isHidden {
        guard let info = try fileSystem.info("\(root)/\(object)") else { continue }
        guard info.kind == .file else {
          foreignCount += 1
          continue
        }
        // Some file-syncing programs create empty files for what they have not downloaded yet.
        byteCount = info.size == 0 ? nil : info.size
      }
      entries.append(ObjectList.Entry(object, byteCount: byteCount))
    }
  }

  var cursor: PlaceCursor { PlaceCursor(hashing: entries) }

  /// The entries of a directory; `nil` if it is not one or does not exist.
  private static func entries(_ path: String, _ fileSystem: any FileSystem) throws(HeartlogError) -> [String]?
  {
    do throws(HeartlogError) { return try fileSystem.entries(of: path) } catch {
      if error.isNotDirectory || error.isNotFound { return nil }
      throw error
    }
  }
}
