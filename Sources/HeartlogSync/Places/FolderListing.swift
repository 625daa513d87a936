import Heartlog
import HeartlogFormat
import HeartlogFiles

/// A file of the folder layout, known by its name; its content has not been read.
struct FolderFile: Hashable {
  enum Kind: Hashable {
    case run
    /// Kept by a file-syncing program under another name.
    case copy
    /// It exists elsewhere, and is not here yet.
    case placeholder
  }

  let writer: ReplicaID
  let stream: ReplicaID
  let name: RunFileName
  let kind: Kind
  /// The name of the object, from the writer on.
  let path: String
  let bytes: UInt64

  /// The name that the writer gave the object.
  var objectName: String {
    kind == .copy ? "\(Self.folder(of: stream, by: writer))/\(name.text)" : path
  }

  /// Where a writer keeps its files of a stream.
  static func folder(of stream: ReplicaID, by writer: ReplicaID) -> String { "\(writer)/\(stream)" }
}

/// The objects of a store, by names and sizes, as what they are in the folder layout.
struct FolderListing {
  private(set) var files: [FolderFile] = []
  /// Checkpoint files, whose names have no commits.
  private(set) var checkpoints: [FolderFile] = []
  /// The names of key epochs and admissions: those of docs/encryption.md.
  private(set) var keys: [String] = []
  /// Proofs that a stream's device signed two histories.
  private(set) var evidence: [FolderFile] = []
  private(set) var counts = SyncReport.FolderFiles()

  init(_ catalogue: ObjectCatalogue) {
    counts.foreign = catalogue.foreignCount
    for entry in catalogue.entries.values.sorted(by: { $0.name < $1.name }) { add(entry) }
  }

  /// Leaves out what revoked devices wrote after the last commit that counts.
  ///
  /// - Returns: The number of run files that were left out.
  mutating func leaveOut(_ revoked: [ReplicaID: UInt64]) -> Int {
    guard !revoked.isEmpty else { return 0 }
    func counts(_ file: FolderFile) -> Bool { revoked[file.stream].map { file.name.last <= $0 } ?? true }
    let before = files.count
    files.removeAll { !counts($0) }
    checkpoints.removeAll { !counts($0) }
    return before - files.count
  }

  private mutating func add(_ entry: ObjectList.Entry) {
    if ObjectPath.isKey(entry.name) {
      if entry.byteCount == nil { counts.placeholders += 1 } else { keys.append(entry.name) }
      return
    }
    guard let path = ObjectPath(entry.name) else {
      counts.foreign += 1
      return
    }
    func file(_ name: RunFileName, _ kind: FolderFile.Kind) -> FolderFile {
      FolderFile(
        writer: path.writer, stream: path.stream, name: name,
        kind: entry.byteCount == nil ? .placeholder : kind,
        path: entry.name, bytes: entry.byteCount ?? 0)
    }
    switch path.file {
    case .run(let name):
      files.append(file(name, .run))
      if entry.byteCount == nil { counts.placeholders += 1 } else { counts.runs += 1 }
    case .copy(let name):
      // Nothing is known of a copy that is not here.
      if entry.byteCount == nil {
        counts.placeholders += 1
      } else {
        files.append(file(name, .copy))
        counts.copies += 1
      }
    case .checkpoint(let name) where name.isEnd:
      if entry.byteCount != nil { checkpoints.append(file(name, .run)) }
    case .evidence(let name): evidence.append(file(name, .run))
    case .checkpoint, nil: counts.foreign += 1
    }
  }
}
