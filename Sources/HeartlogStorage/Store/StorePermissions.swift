import HeartlogEvents
import HeartlogFiles

/// Who besides its owner can get at a store's files. Source: docs/format.md, "The folder".
extension StoreDirectory {
  /// Whether other users of the machine may read the store, or hold its lock, and this process may end that.
  func isOpenToOthers() throws(StorageError) -> Bool {
    try onFiles { () throws(FileError) in
      guard let info = try fileSystem.info(path) else { return false }
      return info.isOpenToOthers && isOwn(info)
    }
  }

  /// Takes all permissions for a store from everybody but its owner. What belongs to somebody else is left as it is, and so is everything
  /// where the file system does not let permissions be changed.
  ///
  /// - Returns: whether others had some, and have none now.
  @discardableResult
  func closeToOthers() throws(StorageError) -> Bool {
    try onFiles { () throws(FileError) in
      guard let info = try fileSystem.info(path), info.isOpenToOthers, isOwn(info) else { return false }
      // The folder comes last: while it is open, the next writer goes through all of it again.
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

  /// The files and folders inside that are the store's, each before what it lies in.
  private func storeFiles() throws(FileError) -> [String] {
    var files: [String] = []
    for name in try fileSystem.entries(of: path) {
      let entry = "\(path)/\(name)"
      switch name {
      case "replicas":
        for stream in try names(in: entry) where ReplicaID(stream)?.description == stream {
          files += try names(in: "\(entry)/\(stream)").map { "\(entry)/\(stream)/\($0)" }
          files.append("\(entry)/\(stream)")
        }
      case "snapshots":
        files += try names(in: entry).map { "\(entry)/\($0)" }
      case "store", "lock": break
      default:
        guard name.hasPrefix("store.") else { continue }
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
  /// Whether other users of this machine may read the store at `path`, or hold its lock, until its owner writes to it next.
  package static func isOpenToOthers(
    at path: String, on fileSystem: any FileSystem
  ) throws(StorageError) -> Bool {
    try StoreDirectory(fileSystem: fileSystem, path: path).isOpenToOthers()
  }
}
