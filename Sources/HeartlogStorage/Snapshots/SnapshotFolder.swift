import HeartlogFiles

/// The folder `snapshots` of a store: files of bytes that somebody else understands, each for a place in the log.
///
/// All of it is disposable: whatever is missing costs time, and nothing else. Files are only ever made whole and removed, so that what is
/// mapped stays what it is. Several processes may use the folder at once.
package struct SnapshotFolder: Sendable {
  let fileSystem: any FileSystem
  let store: String
  let options: StorageOptions
  /// As much is written before it is made durable: where nobody waits for the snapshot, and where somebody does.
  var pieceBytes = (unhurried: 1 << 15, hurried: 1 << 17)

  /// The folder of the store at `path`; nothing is looked at yet.
  package init(at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions()) {
    self.fileSystem = fileSystem
    self.options = options
    store = path
  }

  var path: String { "\(store)/snapshots" }

  /// Where a snapshot lies.
  package func path(of file: SnapshotFile) -> String { "\(path)/\(file.name)" }

  /// The snapshots that are there, those of the most events first; none where there is no folder.
  package func files() throws(StorageError) -> [SnapshotFile] {
    // The names are in order, and so are the numbers in them.
    try names().reversed().compactMap(SnapshotFile.init(name:))
  }

  /// Maps a snapshot; nil where it is gone.
  package func map(_ file: SnapshotFile) throws(StorageError) -> FileMapping? {
    do throws(FileError) { return try fileSystem.open(path(of: file), .read).map() } catch {
      if error.isNotFound { return nil }
      throw StorageError(error)
    }
  }

  /// What was noted beside a snapshot: see `note`. Nil where nothing was.
  package func note(of file: SnapshotFile) throws(StorageError) -> [UInt8]? {
    do throws(FileError) {
      let note = try fileSystem.open(notePath(of: file), .read)
      return try note.bytes(Int(clamping: min(note.size(), Self.noteBytesMax)), at: 0)
    } catch {
      if error.isNotFound { return nil }
      throw StorageError(error)
    }
  }

  /// Notes something beside a snapshot, in place of what was noted before. It goes with the snapshot.
  package func note(_ bytes: [UInt8], of file: SnapshotFile) throws(StorageError) {
    guard try isWritable() else { return }
    let directory = StoreDirectory(fileSystem: fileSystem, path: store)
    try directory.replaceFile(notePath(of: file), with: bytes, in: path, suffix: options.random())
  }

  /// A few hundred bytes a stream.
  private static let noteBytesMax: UInt64 = 16 << 20
  static let noteEnding = ".places"

  private func notePath(of file: SnapshotFile) -> String { path(of: file) + Self.noteEnding }

  /// Removes a snapshot; whoever has it mapped keeps it. Nothing happens where it is gone, or where the store is not to be written.
  package func remove(_ file: SnapshotFile) throws(StorageError) {
    guard try isWritable() else { return }
    try removeFile(path(of: file))
    try removeNotes()
  }

  /// Whether snapshots may be written: not on a network, and not where the store was opened for reading only.
  package func isWritable() throws(StorageError) -> Bool {
    guard options.access == .readWrite else { return false }
    return try onFiles { () throws(FileError) in try !fileSystem.isOnNetwork(store) }
  }

  func names() throws(StorageError) -> [String] {
    do throws(FileError) { return try fileSystem.entries(of: path) } catch {
      if error.isNotFound || error.isNotDirectory { return [] }
      throw StorageError(error)
    }
  }

  /// Removes the notes of snapshots that are gone, and unfinished ones.
  func removeNotes() throws(StorageError) {
    let names = Set(try names())
    for name in names {
      if name.hasSuffix(Self.noteEnding) {
        let snapshot = String(name.dropLast(Self.noteEnding.utf8.count))
        if !names.contains(snapshot) { try removeFile("\(path)/\(name)") }
      } else if name.contains(Self.noteEnding + ".tmp-") {
        try removeFile("\(path)/\(name)")
      }
    }
  }

  func removeFile(_ path: String) throws(StorageError) {
    do throws(FileError) { try fileSystem.remove(path) } catch {
      if error.isNotFound { return }
      throw StorageError(error)
    }
  }
}
