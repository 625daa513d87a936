import HeartlogEvents
import HeartlogFiles

extension CommitLog {
  /// Makes an empty store at `path`, whose parent folder must exist.
  ///
  /// A folder that is there must be empty, or hold what an interrupted creation left.
  ///
  /// - Throws: `exists` where a store or something else is there already.
  public static func create(
    at path: String, on fileSystem: any FileSystem, name: String, options: StorageOptions = StorageOptions()
  ) throws(StorageError) {
    guard StoreIdentity.isName(name) else {
      throw StorageError(
        .malformed, "a name has at most \(SegmentHeader.nameBytesMax) bytes and no control characters")
    }
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    try onFiles { () throws(FileError) in
      if try fileSystem.info(path) == nil {
        try fileSystem.createDirectory(path)
        try fileSystem.synchronizeDirectory(directory.parent)
      }
    }
    let entries: [String]
    do { entries = try fileSystem.entries(of: path) } catch {
      if error.isNotDirectory { throw StorageError(.exists, "a file is at \(path)", file: path) }
      throw StorageError(error)
    }
    if entries.contains("store") { throw StorageError(.exists, "a store is at \(path) already", file: path) }
    guard entries.allSatisfy({ $0 == "lock" || $0 == "replicas" || $0.hasPrefix("store.tmp-") }) else {
      throw StorageError(.exists, "the folder \(path) is not empty", file: path)
    }
    _ = try StoreLock(directory)
    try onFiles { () throws(FileError) in
      if !entries.contains("replicas") { try fileSystem.createDirectory(directory.replicasPath) }
      for name in entries where name.hasPrefix("store.tmp-") { try fileSystem.remove("\(path)/\(name)") }
    }
    var generator = options.generator
    let identity = StoreIdentity(
      replica: .random(using: &generator), name: name, place: try StoreIdentity.Place.of(directory))
    try directory.replaceFile(
      directory.identityPath, with: identity.encoded(), in: path, suffix: generator.next())
  }
}
