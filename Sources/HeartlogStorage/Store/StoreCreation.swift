import HeartlogFormat
import HeartlogFiles

extension CommitLog {
  /// Creates an empty store at `path`, and the missing folders above it.
  ///
  /// If the folder exists, it must be empty or contain only the remains of an interrupted creation.
  ///
  /// - Parameter vault: The vault that the store belongs to; a new one if nil.
  /// - Throws: `exists` if a store or something else is already there.
  package static func create(
    at path: String, on fileSystem: any FileSystem, name: String, vault: VaultMembership? = nil,
    options: StorageOptions = StorageOptions()
  ) throws(HeartlogError) {
    try StoreIdentity.checkName(name)
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    try directory.refuseEvicted()
    let isOnNetwork = try heartlogErrors {
      try fileSystem.createParents(of: path)
      return try fileSystem.isOnNetwork(directory.parent)
    }
    guard !isOnNetwork else {
      throw HeartlogError(.readOnly, LogAccess.networkReason, file: path)
    }
    try makeFolder(directory)
    try checkIsFree(directory)
    try directory.closeToOthers()
    let lock = try StoreLock(directory, options)
    try lock.acquire(waitingAtMost: options.lockMillisecondsMax)
    defer { lock.release() }
    // Another process may have created a store in the meantime.
    let leftovers = try checkIsFree(directory)
    try heartlogErrors {
      if try fileSystem.info(directory.replicasPath) == nil {
        try fileSystem.createDirectory(directory.replicasPath)
      }
      for name in leftovers { try fileSystem.remove("\(path)/\(name)") }
      // The identity is written last: if it exists, everything else does.
      try fileSystem.synchronizeDirectory(path)
    }
    var generator = options.generator
    let key = try DeviceKeys(directory, options).makeKey()
    let identity = StoreIdentity(
      replica: key?.publicKey.replica ?? .random(using: &generator), name: name,
      location: try StoreIdentity.Location.of(directory),
      vault: key.map { _ in vault ?? VaultMembership(.random(using: &generator)) })
    try directory.replaceFile(
      directory.identityPath, with: identity.encoded(), in: path, suffix: generator.next())
  }

  private static func makeFolder(_ directory: StoreDirectory) throws(HeartlogError) {
    let fileSystem = directory.fileSystem
    try heartlogErrors {
      do throws(FileError) { try fileSystem.createDirectory(directory.path) } catch {
        guard error.alreadyExists else { throw error }
      }
      try fileSystem.synchronizeNames(above: directory.path)
    }
  }

  /// Checks that the folder contains nothing but the remains of an interrupted creation. Returns its
  /// unfinished files.
  @discardableResult
  private static func checkIsFree(_ directory: StoreDirectory) throws(HeartlogError) -> [String] {
    let path = directory.path
    let entries: [String]
    do { entries = try directory.fileSystem.entries(of: path) } catch {
      if error.isNotDirectory { throw HeartlogError(.exists, "\(path) is a file", file: path) }
      throw HeartlogError(error)
    }
    if entries.contains("store") {
      throw HeartlogError(.exists, "there is already a store at \(path)", file: path)
    }
    if try StoreIdentity.isMissing(in: directory) { throw StoreIdentity.missing(directory.identityPath) }
    let unfinished = entries.filter { $0.hasPrefix("store.tmp-") }
    guard entries.allSatisfy({ ["lock", "replicas", "keys"].contains($0) || unfinished.contains($0) }) else {
      throw HeartlogError(.exists, "the folder \(path) is not empty", file: path)
    }
    return unfinished
  }
}
