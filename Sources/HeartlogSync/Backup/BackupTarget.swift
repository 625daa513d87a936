import Heartlog
import HeartlogFiles
import HeartlogFormat

/// A backup that is written. Nothing that a finished backup consists of is changed or removed before the next one is finished.
struct BackupTarget {
  private let store: FavoritesStore
  private let path: String
  private let fileSystem: any FileSystem
  private let isFile: Bool
  /// The last finished backup; nil if there is none.
  private var last: BackupArchive?
  /// Where files are written before they get their names.
  private var temporary = ""
  /// The file that replaces the last one; nil for a folder, and before anything is written.
  private var output: (any OpenFile)?
  private var writtenBytes: UInt64 = 0
  private var newCommits: UInt64 = 0

  /// The ending of the names of backups in one file.
  private static let fileEnding = ".backup"
  private static let attemptsMax = 8

  /// - Throws: `invalid` if the path is inside a store or another backup.
  init(_ store: FavoritesStore, to path: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    try fileSystem.refuseNested(path)
    self.store = store
    self.path = path
    self.fileSystem = fileSystem
    isFile = try fileSystem.info(path).map { $0.kind != .directory } ?? path.hasSuffix(Self.fileEnding)
  }

  mutating func backup() throws(HeartlogError) -> BackupReport {
    try fileSystem.createParents(of: path)
    if !isFile {
      try fileSystem.makeFolder(path)
      try fileSystem.synchronizeNames(above: path)
      try BackupArchive.refuseOther(path, on: fileSystem)
    }
    let lock = try isFile ? nil : fileSystem.openLock("\(path)/\(BackupArchive.lockName)")
    guard try lock?.tryLock() ?? true else {
      throw HeartlogError(.locked, "another process is writing the backup at \(path)", file: path)
    }
    defer { lock?.unlock() }
    let start =
      isFile
      ? "\(PathParts.parent(of: path))/.\(PathParts.name(of: path)).tmp-"
      : "\(path)/\(DirectoryPlace.temporaryPrefix)"
    try fileSystem.removeUnfinished(start)
    temporary = fileSystem.unfinishedPath(start)
    if try fileSystem.info(isFile ? path : manifestPath) != nil {
      last = try BackupArchive(at: path, on: fileSystem)
    }
    var report = BackupReport(try whileContentStays())
    report.newCommits = newCommits
    report.writtenBytes = writtenBytes
    return report
  }

  private var manifestPath: String { "\(path)/\(BackupArchive.manifestName)" }

  /// Writes again if the copy differs from the store because content was erased while it was made.
  private mutating func whileContentStays() throws(HeartlogError) -> BackupManifest {
    for _ in 0..<Self.attemptsMax {
      let generation = try store.contentGeneration()
      do throws(HeartlogError) { return try write() } catch {
        let now = try store.contentGeneration()
        guard error.code == .corrupt, now == nil || now != generation else { throw error }
        writtenBytes = 0
        newCommits = 0
        try store.refresh()
      }
    }
    throw HeartlogError(
      .locked, "content is being erased from the store all the time; try again", file: path)
  }

  /// Writes what is durable in the store now and not in the last backup, and checks the copy.
  private mutating func write() throws(HeartlogError) -> BackupManifest {
    defer {
      if output != nil { try? fileSystem.remove(temporary) }
      output = nil
    }
    let heads = try store.durableHeads()
    try refuseLost(heads)
    let state = try store.state(upTo: heads.map { Head(replica: $0.replica, commit: $0.commit) })
    var streams: [BackupManifest.Stream] = []
    for head in heads {
      streams.append(
        BackupManifest.Stream(
          replica: head.replica, files: try files(of: head), root: head.root, isEnded: head.isEnded,
          checkpoint: try store.checkpoint(of: head)))
    }
    let manifest = BackupManifest(
      vault: store.vault, digest: state.digest, events: state.eventCount, streams: streams)
    if let last, manifest == last.manifest {
      try last.check()
      // The backup that wrote it may have been interrupted before it was durable.
      try fileSystem.synchronizeDirectory(isFile ? PathParts.parent(of: path) : path)
    } else if isFile {
      try replaceFile(manifest)
    } else {
      try BackupArchive(manifest, in: path, on: fileSystem).check()
      // Only now is the backup finished.
      try put(manifest.encoded(), manifestPath)
    }
    if !isFile { try removeRunFiles(without: manifest) }
    return manifest
  }

  /// Refuses a store that lacks commits of the last backup: they would be lost with it.
  ///
  /// - Throws: `invalid`.
  private func refuseLost(_ heads: [StreamHead]) throws(HeartlogError) {
    let dropped = Set(try store.droppedReplicas())
    for stream in last?.manifest.streams ?? [] where stream.commit > 0 && !dropped.contains(stream.replica) {
      guard heads.contains(where: { $0.replica == stream.replica && $0.commit.rawValue >= stream.commit }),
        try store.streamRoot(of: stream.replica, at: CommitNumber(rawValue: stream.commit)) == stream.root
      else {
        throw HeartlogError(
          .invalid,
          "\(path) is a backup of another store, or has commits of replica \(stream.replica) that the store has lost",
          file: path)
      }
    }
  }

  // MARK: - Run files

  /// The run files of a stream: those of the last backup, with new ones for commits that are missing there or have content that was
  /// erased since, and for those after them.
  private mutating func files(of head: StreamHead) throws(HeartlogError) -> [RunFileName] {
    var files: [RunFileName] = []
    var done: UInt64 = 0
    if let last {
      for name in last.manifest.streams.first(where: { $0.replica == head.replica })?.files ?? [] {
        let isThere = try last.contains(name)
        if !isThere { newCommits += name.commits }
        if isThere, try !hasErased(name, of: head.replica, in: last) {
          files.append(name)
        } else {
          files += try write(name.first...name.last, of: head.replica)
        }
        done = name.last
      }
    }
    guard done < head.commit.rawValue else { return files }
    newCommits += head.commit.rawValue - done
    return files + (try write(done + 1...head.commit.rawValue, of: head.replica))
  }

  /// Whether a run file has content that was erased from the store since.
  private func hasErased(
    _ name: RunFileName, of stream: ReplicaID, in archive: BackupArchive
  ) throws(HeartlogError) -> Bool {
    guard try store.hasErased(in: stream) else { return false }
    for run in try archive.runFile(name, of: stream).content.runs {
      if try store.redacted(run) != nil { return true }
    }
    return false
  }

  /// Writes commits of a stream as run files. A folder may have them from a backup that was interrupted.
  private mutating func write(
    _ commits: ClosedRange<UInt64>, of stream: ReplicaID
  ) throws(HeartlogError) -> [RunFileName] {
    var names: [RunFileName] = []
    var file = RunFile(of: stream, after: commits.lowerBound - 1)
    while file.lastCommit < commits.upperBound {
      _ = try file.takeRun(from: store, upTo: commits.upperBound)
      guard file.isFull || file.lastCommit == commits.upperBound else { continue }
      let (name, bytes) = file.encoded()
      names.append(name)
      file = RunFile(of: stream, after: file.lastCommit)
      let path = BackupArchive.path(of: name, in: path)
      if isFile {
        try append(bytes)
      } else if try fileSystem.info(path)?.size != UInt64(bytes.count) {
        try put(bytes, path)
      } else {
        try fileSystem.synchronizeDirectory(PathParts.parent(of: path))
      }
    }
    return names
  }

  private mutating func put(_ bytes: [UInt8], _ path: String) throws(HeartlogError) {
    try fileSystem.makeFolder(PathParts.parent(of: path))
    try fileSystem.replaceFile(path, with: bytes, through: temporary)
    writtenBytes += UInt64(bytes.count)
  }

  /// Removes the run files of a folder that its last finished backup does not need.
  private func removeRunFiles(without manifest: BackupManifest) throws(HeartlogError) {
    let folder = "\(path)/\(BackupArchive.runsName)"
    let needed = Set(manifest.streams.flatMap(\.files))
    guard try fileSystem.info(folder) != nil else { return }
    for name in try fileSystem.entries(of: folder).compactMap({ RunFileName($0) })
    where !needed.contains(name) {
      try fileSystem.remove(BackupArchive.path(of: name, in: path))
    }
  }

  // MARK: - One file

  private mutating func append(_ bytes: [UInt8]) throws(HeartlogError) {
    var record = ByteWriter(capacity: bytes.count + 16)
    if output == nil {
      output = try fileSystem.open(temporary, .createNew)
      record.raw(BackupArchive.magic)
    }
    record.u64(UInt64(bytes.count))
    record.raw(bytes)
    try output?.write(record.bytes, at: writtenBytes)
    writtenBytes += UInt64(record.count)
  }

  /// Copies the run files of the last backup behind the new ones, checks the copy, and puts it in place of the last one.
  private mutating func replaceFile(_ manifest: BackupManifest) throws(HeartlogError) {
    for stream in manifest.streams {
      for name in stream.files {
        if let last, try last.contains(name) { try append(last.runFile(name, of: stream.replica).bytes) }
      }
    }
    try append(manifest.encoded())
    try output?.synchronize()
    let written = try BackupArchive(at: temporary, on: fileSystem)
    guard written.manifest == manifest else {
      throw written.damaged("its manifest is not what was written")
    }
    try written.check()
    try fileSystem.rename(temporary, to: path)
    output = nil
    try fileSystem.synchronizeDirectory(PathParts.parent(of: path))
  }
}

extension FileSystem {
  /// Whether a folder looks like that of a store. One of its entries may be damaged or missing.
  func isStore(_ folder: String) throws(HeartlogError) -> Bool {
    let found = [
      try info("\(folder)/store")?.kind == .file, try info("\(folder)/lock")?.kind == .file,
      try info("\(folder)/replicas")?.kind == .directory,
    ]
    return found.filter { $0 }.count > 1
  }

  /// Refuses a path inside a store or a backup: what is there would be removed, copied and checked with it.
  ///
  /// - Throws: `invalid`.
  func refuseNested(_ path: String) throws(HeartlogError) {
    var folder = PathParts.parent(of: path)
    while try info(folder) == nil, folder != PathParts.parent(of: folder) {
      folder = PathParts.parent(of: folder)
    }
    // The system knows what is above a folder, whatever links lead to it. At the root, that is the root.
    while let found = try info(folder) {
      let isStore = try isStore(folder)
      let manifest = try info("\(folder)/\(BackupArchive.manifestName)")
      let runs = try info("\(folder)/\(BackupArchive.runsName)")
      guard !isStore, manifest == nil || runs == nil else {
        throw HeartlogError(
          .invalid, "\(path) is inside a \(isStore ? "store" : "backup"), and needs a place of its own",
          file: path)
      }
      guard try info("\(folder)/..")?.inode != found.inode else { break }
      folder += "/.."
    }
  }

  /// A new path that begins with another one, for what is not finished.
  func unfinishedPath(_ start: String) -> String { "\(start)\(processID)-\(UInt64.random(in: 0 ... .max))" }

  /// Removes what processes that no longer exist left at such paths.
  ///
  /// - Parameter isOwnRemoved: Whether what this process left there goes, too.
  func removeUnfinished(_ start: String, ofThisProcess isOwnRemoved: Bool = true) throws(HeartlogError) {
    let (folder, prefix) = (PathParts.parent(of: start), PathParts.name(of: start))
    for name in try info(folder) == nil ? [] : entries(of: folder) where name.hasPrefix(prefix) {
      let process = Int32(name.dropFirst(prefix.count).prefix { $0 != "-" })
      guard let process, process == processID ? isOwnRemoved : !isRunning(process) else { continue }
      // Another process may have removed it meanwhile.
      do throws(HeartlogError) { try removeTree("\(folder)/\(name)") } catch {
        guard error.isNotFound else { throw error }
      }
    }
  }
}
