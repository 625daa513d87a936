import Heartlog
import HeartlogFiles
import HeartlogFormat

/// Objects as files in a directory that another program carries from device to device: "The folder" in docs/shipping.md.
///
/// It has no numbers for its changes, so each list has everything, and a cursor is a hash of all names and sizes.
package final class DirectoryPlace: Place {
  package let path: String
  private let fileSystem: any FileSystem

  package var description: String { "folder:\(path)" }

  static let temporaryPrefix = ".tmp-"

  package init(_ path: String, on fileSystem: any FileSystem = POSIXFileSystem(readers: .everybody)) {
    self.path = path
    self.fileSystem = fileSystem
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
    let isOfWriter = writer != self.path
    if isOfWriter { try fileSystem.makeFolder(writer) }
    try fileSystem.makeFolder(folder)
    if let info = try fileSystem.info(path), info.size > 0 {
      guard info.size == UInt64(bytes.count), try get(name, bytesMax: bytes.count) == .bytes(bytes) else {
        throw HeartlogError(.exists, "\(path) exists already, with other bytes", file: path)
      }
      // Whoever wrote it may have been interrupted before it was durable.
      try fileSystem.open(path, .read).synchronize()
      return try fileSystem.synchronizeDirectory(folder)
    }
    let start = "\(folder)/\(Self.temporaryPrefix)"
    // Another thread may be putting something there. Among the keys, what is unfinished may be of any device.
    if isOfWriter { try fileSystem.removeUnfinished(start, ofThisProcess: false) }
    try fileSystem.replaceFile(path, with: bytes, through: fileSystem.unfinishedPath(start))
  }

  package func delete(_ name: String) throws(HeartlogError) {
    do throws(HeartlogError) { try fileSystem.remove(try path(of: name)) } catch {
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

/// The contents of a directory of the folder layout, by names and sizes.
struct DirectoryListing {
  private(set) var entries: [ObjectList.Entry] = []
  /// Files and directories that are not of the layout.
  private(set) var foreignCount = 0
  /// The names that were read, foreign ones included. Whoever may write to the directory may make any number.
  private var nameCount = 0

  /// Lists `root`. Entries that vanish meanwhile are skipped.
  ///
  /// - Throws: `tooManyNames` if there are more than `directoryNamesMax` files in all.
  init(_ root: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    for name in try fileSystem.entries(of: root) {
      if name == ObjectPath.keysFolder {
        try add(name, root, fileSystem)
      } else if ObjectPath.replica(name) != nil, let streams = try Self.entries("\(root)/\(name)", fileSystem)
      {
        for stream in streams {
          if ObjectPath.replica(stream) == nil {
            foreignCount += 1
          } else {
            try add("\(name)/\(stream)", root, fileSystem)
          }
        }
      } else {
        foreignCount += 1
      }
    }
  }

  /// Adds what is in a folder of a writer's stream, or in that of the vault's keys.
  private mutating func add(
    _ folder: String, _ root: String, _ fileSystem: any FileSystem
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
      if name.hasPrefix(DirectoryPlace.temporaryPrefix) { continue }
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
