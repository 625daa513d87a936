import HeartlogFormat
import HeartlogFiles

/// Controls access to a store's files by users other than the owner. Source: docs/format.md, "The folder".
extension StoreDirectory {
  /// Whether other users of the machine can read the store or hold its lock, and this process may change that.
  func isOpenToOthers() throws(HeartlogError) -> Bool {
    try heartlogErrors {
      guard let info = try fileSystem.info(path) else { return false }
      return info.isOpenToOthers && isOwn(info)
    }
  }

  /// Removes all permissions on the store's files for everybody but the owner. Files of other owners are left unchanged, and so is
  /// everything if the file system does not allow permissions to be changed.
  ///
  /// - Returns: Whether others had permissions and now have none.
  @discardableResult
  func closeToOthers() throws(HeartlogError) -> Bool {
    try heartlogErrors {
      guard let info = try fileSystem.info(path), info.isOpenToOthers, isOwn(info) else { return false }
      // The folder is last: while it is open to others, the next writer repeats the whole procedure.
      for file in try storeFiles() {
        guard try fileSystem.restrict(file, of: info.owner, followingLink: false) else { return false }
      }
      return try fileSystem.restrict(path, of: info.owner, followingLink: true)
    }
  }

  private func isOwn(_ info: FileInfo) -> Bool {
    let user = fileSystem.userID
    return user == 0 || user == info.owner
  }

  /// The files and folders of the store, each before the folder that contains it.
  func storeFiles() throws(FileError) -> [String] {
    var files: [String] = []
    for name in try fileSystem.entries(of: path) {
      let entry = "\(path)/\(name)"
      switch name {
      case "replicas":
        for stream in try names(in: entry) where ReplicaID(stream)?.description == stream {
          files += try names(in: "\(entry)/\(stream)").map { "\(entry)/\(stream)/\($0)" }
          files.append("\(entry)/\(stream)")
        }
      case "snapshots", "keys", "evidence", "local":
        files += try names(in: entry).map { "\(entry)/\($0)" }
      case "store", "lock": break
      default:
        let evicted = Self.evictedName(name).map {
          ["store", "lock", "erased", "libraries", "lost"].contains($0)
        }
        guard name.hasPrefix("store.") || evicted == true else { continue }
      }
      files.append(entry)
    }
    return files
  }

  private func names(in folder: String) throws(FileError) -> [String] {
    do { return try fileSystem.entries(of: folder) } catch {
      if error.isNotFound || error.isNotDirectory { return [] }
      throw error
    }
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
