import Heartlog
import HeartlogFiles

/// A run file known by its name; its content has not been read.
struct FolderFile: Hashable {
  enum Kind: Hashable {
    case run
    /// Kept by a file-syncing program under another name.
    case copy
    /// In the cloud, and not downloaded yet.
    case placeholder
  }

  let writer: ReplicaID
  let stream: ReplicaID
  let name: RunFileName
  let kind: Kind
  let path: String
  let bytes: UInt64
}

/// The contents of a folder, by names and sizes.
struct FolderListing {
  private(set) var files: [FolderFile] = []
  /// Checkpoint files. One whose name has no commits stands alone; any other is beside the run file of the same name.
  private(set) var checkpoints: [FolderFile] = []
  private(set) var counts = SyncReport.FolderFiles()
  /// Proofs that a stream's device signed two histories.
  private(set) var evidence: [FolderFile] = []
  /// Unfinished files, with the writer in whose folder they are and the process that wrote them.
  private(set) var unfinished: [(writer: ReplicaID, path: String, process: Int32)] = []

  static let temporaryPrefix = ".tmp-"
  /// The names that were read, foreign ones included. Whoever may write to the folder may make any number.
  private var nameCount = 0

  /// Lists `root`. Entries that vanish meanwhile are skipped.
  ///
  /// - Throws: `tooManyNames` if there are more than `directoryNamesMax` files in all.
  init(_ root: String, on fileSystem: any FileSystem) throws(FileError) {
    for writerName in try fileSystem.entries(of: root) {
      guard let writer = Self.replica(writerName),
        let streams = try Self.entries("\(root)/\(writerName)", fileSystem)
      else {
        counts.foreign += 1
        continue
      }
      for streamName in streams {
        let folder = "\(root)/\(writerName)/\(streamName)"
        guard let stream = Self.replica(streamName), let names = try Self.entries(folder, fileSystem) else {
          counts.foreign += 1
          continue
        }
        for name in names { try add(name, in: folder, writer, stream, fileSystem) }
      }
    }
  }

  private mutating func add(
    _ name: String, in folder: String, _ writer: ReplicaID, _ stream: ReplicaID, _ fileSystem: any FileSystem
  ) throws(FileError) {
    nameCount += 1
    guard nameCount <= directoryNamesMax else {
      throw FileError(operation: "list", path: folder, code: FileError.tooManyNames)
    }
    let path = "\(folder)/\(name)"
    func file(_ runName: RunFileName, _ kind: FolderFile.Kind, _ bytes: UInt64) -> FolderFile {
      FolderFile(writer: writer, stream: stream, name: runName, kind: kind, path: path, bytes: bytes)
    }
    if let runName = RunFileName(placeholder: name) {
      counts.placeholders += 1
      files.append(file(runName, .placeholder, 0))
    } else if let runName = RunFileName(name) ?? RunFileName(copy: name) {
      guard let info = try fileSystem.info(path) else { return }
      let isCopy = RunFileName(name) == nil
      if info.kind != .file {
        counts.foreign += 1
      } else if info.size == 0 {
        // Some file-syncing programs create empty files for what they have not downloaded yet.
        counts.placeholders += 1
        if !isCopy { files.append(file(runName, .placeholder, 0)) }
      } else if isCopy {
        counts.copies += 1
        files.append(file(runName, .copy, info.size))
      } else {
        counts.runs += 1
        files.append(file(runName, .run, info.size))
      }
    } else if let checkpoint = RunFileName(name, ending: CheckpointFile.ending) {
      guard let info = try fileSystem.info(path), info.kind == .file, info.size > 0 else { return }
      checkpoints.append(file(checkpoint, .run, info.size))
    } else if let proof = RunFileName(name, ending: FolderSyncPass.evidenceEnding) {
      guard let info = try fileSystem.info(path), info.kind == .file else { return }
      evidence.append(file(proof, .run, info.size))
    } else if name.hasPrefix(Self.temporaryPrefix) {
      let process = name.dropFirst(Self.temporaryPrefix.count).prefix { $0 != "-" }
      if let process = Int32(process) { unfinished.append((writer, path, process)) }
    } else {
      counts.foreign += 1
    }
  }

  /// Parses a folder name of 32 lower-case hexadecimal digits.
  private static func replica(_ name: String) -> ReplicaID? {
    guard name.utf8.count == 32, let replica = ReplicaID(name), replica.description == name else {
      return nil
    }
    return replica
  }

  /// The entries of a folder; `nil` if it is not a folder or does not exist.
  private static func entries(_ path: String, _ fileSystem: any FileSystem) throws(FileError) -> [String]? {
    do throws(FileError) { return try fileSystem.entries(of: path) } catch {
      if error.isNotDirectory || error.isNotFound { return nil }
      throw error
    }
  }
}
