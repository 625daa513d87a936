import HeartlogFormat
import HeartlogFiles

/// The folder `snapshots` of a store: files whose contents are opaque to this layer, each for a position in the log.
///
/// Every file is disposable: a missing one costs time and nothing else. Files are only created complete and removed, so that a mapped
/// file never changes. Several processes may use the folder at once.
package struct SnapshotFolder: Sendable {
  let fileSystem: any FileSystem
  let store: String
  let options: StorageOptions
  /// The number of bytes written between synchronizations: while no caller waits for the snapshot, and while one does.
  var pieceBytes = (unhurried: 1 << 15, hurried: 1 << 17)

  /// Creates the folder of the store at `path` without accessing it.
  package init(at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions()) {
    self.fileSystem = fileSystem
    self.options = options
    store = path
  }

  var path: String { "\(store)/snapshots" }

  /// Returns the path of a snapshot.
  package func path(of file: SnapshotFile) -> String { "\(path)/\(file.name)" }

  /// Returns the snapshots, those with the most events first; none if there is no folder.
  package func files() throws(HeartlogError) -> [SnapshotFile] {
    // The names are sorted, and so are the numbers in them.
    try names().reversed().compactMap(SnapshotFile.init(name:))
  }

  /// Maps a snapshot; nil if it no longer exists.
  package func map(_ file: SnapshotFile) throws(HeartlogError) -> FileMapping? {
    do throws(FileError) { return try fileSystem.open(path(of: file), .read).map() } catch {
      if error.isNotFound { return nil }
      throw HeartlogError(error)
    }
  }

  /// Returns the note stored beside a snapshot: see `note`. Nil if there is none.
  package func note(of file: SnapshotFile) throws(HeartlogError) -> [UInt8]? {
    do throws(FileError) {
      let note = try fileSystem.open(notePath(of: file), .read)
      return try note.bytes(Int(clamping: min(note.size(), Self.noteBytesMax)), at: 0)
    } catch {
      if error.isNotFound { return nil }
      throw HeartlogError(error)
    }
  }

  /// Stores a note beside a snapshot, replacing an earlier one. It is removed with the snapshot.
  package func note(_ bytes: [UInt8], of file: SnapshotFile) throws(HeartlogError) {
    guard try isWritable() else { return }
    let directory = StoreDirectory(fileSystem: fileSystem, path: store)
    try directory.replaceFile(notePath(of: file), with: bytes, in: path, suffix: options.random())
  }

  /// A note has a few hundred bytes per stream.
  private static let noteBytesMax: UInt64 = 16 << 20
  static let noteEnding = ".places"

  private func notePath(of file: SnapshotFile) -> String { path(of: file) + Self.noteEnding }

  /// Deletes a snapshot; existing mappings stay valid. Does nothing if it no longer exists, or if the store must not be written.
  package func remove(_ file: SnapshotFile) throws(HeartlogError) {
    guard try isWritable() else { return }
    try removeFile(path(of: file))
    try removeNotes()
  }

  /// Returns the generation of the store's list of erased events; nil while they are being erased. A snapshot of another one may contain
  /// what was erased.
  package func erasedGeneration() throws(HeartlogError) -> UInt64? {
    let list = try ErasedList.read(StoreDirectory(fileSystem: fileSystem, path: store))
    return list.isPending ? nil : list.generation
  }

  /// Removes all snapshots, also unfinished ones and those that were set aside, durably. A process that is writing one finds it gone.
  func removeAll() throws(HeartlogError) {
    let names = try names().filter { $0.contains(SnapshotFile.ending) }
    guard !names.isEmpty else { return }
    for name in names { try removeFile("\(path)/\(name)") }
    try heartlogErrors { try fileSystem.synchronizeDirectory(path) }
  }

  /// Whether snapshots may be written: not on a network file system, and not if the store was opened read-only.
  package func isWritable() throws(HeartlogError) -> Bool {
    guard options.access == .readWrite else { return false }
    return try heartlogErrors { try !fileSystem.isOnNetwork(store) }
  }

  func names() throws(HeartlogError) -> [String] {
    do throws(FileError) { return try fileSystem.entries(of: path) } catch {
      if error.isNotFound || error.isNotDirectory { return [] }
      throw HeartlogError(error)
    }
  }

  /// Removes unfinished notes and the notes of snapshots that no longer exist.
  func removeNotes() throws(HeartlogError) {
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

  func removeFile(_ path: String) throws(HeartlogError) {
    do throws(FileError) { try fileSystem.remove(path) } catch {
      if error.isNotFound { return }
      throw HeartlogError(error)
    }
  }
}
