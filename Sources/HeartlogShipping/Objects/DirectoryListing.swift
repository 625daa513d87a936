import Heartlog
import HeartlogFiles
import HeartlogFormat

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
  init(_ root: String, on fileSystem: any FileSystem) throws(FileError) {
    for writerName in try fileSystem.entries(of: root) {
      if writerName == FolderPlace.keysFolder {
        try addEpochs(root, fileSystem)
        continue
      }
      guard let writer = FolderPlace.replica(writerName),
        let streams = try Self.entries("\(root)/\(writerName)", fileSystem)
      else {
        foreignCount += 1
        continue
      }
      for streamName in streams {
        let folder = "\(writerName)/\(streamName)"
        guard FolderPlace.replica(streamName) != nil,
          let names = try Self.entries("\(root)/\(folder)", fileSystem)
        else {
          foreignCount += 1
          continue
        }
        for name in names { try add(name, in: folder, of: writer, root, fileSystem) }
      }
    }
  }

  /// Adds the objects of key epochs and admissions.
  private mutating func addEpochs(_ root: String, _ fileSystem: any FileSystem) throws(FileError) {
    guard let names = try Self.entries("\(root)/\(FolderPlace.keysFolder)", fileSystem) else {
      foreignCount += 1
      return
    }
    for name in names {
      try count(name, in: FolderPlace.keysFolder, root)
      let path = "\(FolderPlace.keysFolder)/\(name)"
      // What is unfinished may be of any device.
      if name.hasPrefix(DirectoryObjects.temporaryPrefix) { continue }
      if name.hasPrefix("."), name.hasSuffix(".icloud") {
        let hidden = "\(FolderPlace.keysFolder)/\(name.dropFirst().dropLast(".icloud".count))"
        if FolderPlace.isKey(hidden) { entries.append(ObjectList.Entry(hidden, byteCount: nil)) }
        continue
      }
      guard FolderPlace.isKey(path) else {
        foreignCount += 1
        continue
      }
      guard let info = try fileSystem.info("\(root)/\(path)") else { continue }
      guard info.kind == .file else {
        foreignCount += 1
        continue
      }
      entries.append(ObjectList.Entry(path, byteCount: info.size == 0 ? nil : info.size))
    }
  }

  private mutating func count(_ name: String, in folder: String, _ root: String) throws(FileError) {
    nameCount += 1
    guard nameCount <= directoryNamesMax else {
      throw FileError(operation: "list", path: "\(root)/\(folder)", code: FileError.tooManyNames)
    }
  }

  private mutating func add(
    _ name: String, in folder: String, of writer: ReplicaID, _ root: String, _ fileSystem: any FileSystem
  ) throws(FileError) {
    try count(name, in: folder, root)
    if let hidden = RunFileName(placeholder: name) {
      entries.append(ObjectList.Entry("\(folder)/\(hidden.text)", byteCount: nil))
    } else if FolderPlace.File(name) != nil {
      guard let info = try fileSystem.info("\(root)/\(folder)/\(name)") else { return }
      guard info.kind == .file else {
        foreignCount += 1
        return
      }
      // Some file-syncing programs create empty files for what they have not downloaded yet.
      entries.append(ObjectList.Entry("\(folder)/\(name)", byteCount: info.size == 0 ? nil : info.size))
    } else if name.hasPrefix(DirectoryObjects.temporaryPrefix) {
      let process = name.dropFirst(DirectoryObjects.temporaryPrefix.count).prefix { $0 != "-" }
      if let process = Int32(process) { unfinished.append((writer, "\(root)/\(folder)/\(name)", process)) }
    } else {
      foreignCount += 1
    }
  }

  /// A hash of the names and sizes.
  var cursor: ObjectCursor {
    var hasher = SHA256Hasher()
    for entry in entries {
      hasher.update(Array("\(entry.name)\n\(entry.byteCount.map { String($0) } ?? "")\n".utf8))
    }
    return ObjectCursor(hasher.finish().description)
  }

  /// The entries of a directory; `nil` if it is not one or does not exist.
  private static func entries(_ path: String, _ fileSystem: any FileSystem) throws(FileError) -> [String]? {
    do throws(FileError) { return try fileSystem.entries(of: path) } catch {
      if error.isNotDirectory || error.isNotFound { return nil }
      throw error
    }
  }
}
