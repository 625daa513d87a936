import Heartlog
import HeartlogFiles

/// A backup that is written. Nothing that a finished backup consists of is changed or removed before the next one is finished.
struct BackupTarget {
  let store: FavoritesStore
  let path: String
  let fileSystem: any FileSystem
  private var writtenBytes: UInt64 = 0
  private var newCommits: UInt64 = 0

  static let lockName = "lock"
  static let runsName = "runs"
  /// The ending of the names of backups in one file.
  static let fileEnding = ".backup"

  init(_ store: FavoritesStore, to path: String, on fileSystem: any FileSystem) {
    self.store = store
    self.path = path
    self.fileSystem = fileSystem
  }

  mutating func backUp() throws(HeartlogError) -> BackupReport {
    try fileSystem.refuseNested(path)
    let found = try fileSystem.info(path)
    let isFile = found.map { $0.kind != .directory } ?? path.hasSuffix(Self.fileEnding)
    let manifest = try whileContentStays { (target, isFirst) throws(HeartlogError) in
      let isNew = found == nil && (isFirst || isFile)
      return try isFile ? target.backUpToFile(isNew: isNew) : target.backUpToFolder(isNew: isNew)
    }
    var report = BackupReport(manifest)
    report.newCommits = newCommits
    report.writtenBytes = writtenBytes
    return report
  }

  /// Repeats `body` if the copy differs from the store because content was erased while it was made.
  private mutating func whileContentStays(
    _ body: (inout BackupTarget, Bool) throws(HeartlogError) -> BackupManifest
  ) throws(HeartlogError) -> BackupManifest {
    for attempt in 0..<Self.attemptsMax {
      let generation = try store.contentGeneration()
      do throws(HeartlogError) { return try body(&self, attempt == 0) } catch {
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

  private static let attemptsMax = 8

  // MARK: - What there is to write

  /// The manifest of everything that is durable in the store now.
  ///
  /// - Throws: `invalid` if the store lacks commits of the last backup, which would be lost with it.
  private func manifest(after last: BackupManifest?) throws(HeartlogError) -> BackupManifest {
    let heads = try store.durableHeads()
    let dropped = Set(try store.droppedReplicas())
    for stream in last?.streams ?? [] where stream.commit > 0 && !dropped.contains(stream.replica) {
      let head = heads.first { $0.replica == stream.replica }
      guard let head, head.commit.rawValue >= stream.commit,
        try store.streamRoot(of: stream.replica, at: CommitNumber(rawValue: stream.commit)) == stream.root
      else {
        throw HeartlogError(
          .invalid,
          "\(path) is a backup of another store, or has commits of replica \(stream.replica) that the store has lost",
          file: path)
      }
    }
    var streams: [BackupManifest.Stream] = []
    for head in heads {
      streams.append(
        BackupManifest.Stream(
          replica: head.replica, name: head.name, commit: head.commit.rawValue, root: head.root,
          isEnded: head.isEnded, checkpoint: try store.checkpoint(of: head)))
    }
    let state = try store.state(upTo: heads.map { Head(replica: $0.replica, commit: $0.commit) })
    return BackupManifest(
      replica: store.replica, name: store.name, vault: store.vault,
      digest: state.digest, events: state.eventCount, streams: streams)
  }

  /// Writes commits of a stream as run files.
  private mutating func write(
    _ commits: ClosedRange<UInt64>, of stream: ReplicaID,
    _ write: (inout BackupTarget, (name: RunFileName, bytes: [UInt8])) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    var file = RunFile(of: stream, after: commits.lowerBound - 1)
    while file.lastCommit < commits.upperBound {
      let run = try file.takeRun(from: store, upTo: commits.upperBound)
      newCommits += UInt64(run.commitCount)
      guard file.isFull || file.lastCommit == commits.upperBound else { continue }
      try write(&self, file.encoded())
      file = RunFile(of: stream, after: file.lastCommit)
    }
  }

  // MARK: - A folder

  private mutating func backUpToFolder(isNew: Bool) throws(HeartlogError) -> BackupManifest {
    if isNew {
      try makeParents()
      try make(path, in: PathParts.parent(of: path))
    } else if try !BackupArchive.isBackup(path, on: fileSystem) {
      throw try BackupArchive.refusal(of: path, on: fileSystem)
    }
    let lock = try fileSystem.openLock("\(path)/\(Self.lockName)")
    guard try lock.tryLock() else {
      throw HeartlogError(.locked, "another process is writing the backup at \(path)", file: path)
    }
    defer { lock.unlock() }
    try fileSystem.removeUnfinished(in: path, startingWith: DirectoryObjects.temporaryPrefix)
    var archive = try BackupArchive(at: path, on: fileSystem)
    let last = try archive.isFinished() ? archive.manifest() : nil
    let manifest = try manifest(after: last)
    for stream in last?.streams ?? [] where try store.hasErased(in: stream.replica) {
      try archive.readRuns(of: stream) { (file, _) throws(HeartlogError) in
        guard try hasErased(file.runs) else { return }
        throw HeartlogError(
          .invalid,
          "the backup at \(path) has content that was erased from the store since: remove it, or back up to another folder",
          file: path)
      }
    }
    for stream in manifest.streams {
      let done = last?.streams.first { $0.replica == stream.replica }?.commit ?? 0
      for range in try missing(of: stream, in: archive, done: done) {
        try write(range, of: stream.replica) { (target, file) throws(HeartlogError) in
          try target.write(file, of: stream.replica)
        }
      }
    }
    try archive.check(manifest)
    // Only now is the backup finished.
    if manifest != last {
      try write(manifest.encoded(), "\(path)/\(BackupArchive.manifestName)", in: path)
    }
    return manifest
  }

  /// Whether runs have content that was erased since.
  private func hasErased(_ runs: [StreamRun]) throws(HeartlogError) -> Bool {
    for run in runs {
      if try store.redacted(run) != nil { return true }
    }
    return false
  }

  /// Whether a run file in a folder has content that was erased since.
  private func isStale(
    _ name: RunFileName, of stream: ReplicaID, in archive: BackupArchive
  ) throws(HeartlogError) -> Bool {
    guard try store.hasErased(in: stream) else { return false }
    return try hasErased(archive.runFile(name, of: stream).runs)
  }

  /// The commits of a stream that no file has. Removes what an unfinished backup left, if the store has another history now.
  private func missing(
    of stream: BackupManifest.Stream, in archive: BackupArchive, done: UInt64
  ) throws(HeartlogError) -> [ClosedRange<UInt64>] {
    var missing: [ClosedRange<UInt64>] = []
    var next: UInt64 = 1
    for name in try archive.runNames(of: stream.replica) {
      if name.first > done {
        let root =
          try name.last <= stream.commit ? store.streamRoot(of: stream.replica, at: name.lastNumber) : nil
        guard name.first >= next, let root, RootPrefix(root) == name.root,
          try !isStale(name, of: stream.replica, in: archive)
        else {
          let path = BackupArchive.path(of: name, of: stream.replica, in: path)
          try fileSystem.remove(path)
          continue
        }
      }
      if name.first > next { missing.append(next...name.first - 1) }
      next = max(next, name.last + 1)
    }
    if next <= stream.commit { missing.append(next...stream.commit) }
    return missing
  }

  private mutating func write(
    _ file: (name: RunFileName, bytes: [UInt8]), of stream: ReplicaID
  ) throws(HeartlogError) {
    let runs = "\(path)/\(Self.runsName)"
    let folder = BackupArchive.folder(of: stream, in: path)
    try make(runs, in: path)
    try make(folder, in: runs)
    try write(file.bytes, BackupArchive.path(of: file.name, of: stream, in: path), in: folder)
  }

  /// Writes a file under a temporary name, makes it durable, and renames it.
  private mutating func write(_ bytes: [UInt8], _ name: String, in folder: String) throws(HeartlogError) {
    let temporary = "\(path)/\(temporaryName(DirectoryObjects.temporaryPrefix))"
    let file = try fileSystem.open(temporary, .createNew)
    do throws(HeartlogError) {
      try file.write(bytes, at: 0)
      try file.synchronize()
      try fileSystem.rename(temporary, to: name)
    } catch {
      // If this fails, the next backup removes the temporary file.
      try? fileSystem.remove(temporary)
      throw error
    }
    try fileSystem.synchronizeDirectory(folder)
    writtenBytes += UInt64(bytes.count)
  }

  private func makeParents() throws(HeartlogError) {
    try fileSystem.createParents(of: path)
  }

  private func make(_ folder: String, in parent: String) throws(HeartlogError) {
    do throws(HeartlogError) { try fileSystem.createDirectory(folder) } catch {
      guard error.alreadyExists else { throw error }
      return
    }
    try fileSystem.synchronizeDirectory(parent)
  }

  // MARK: - One file

  private mutating func backUpToFile(isNew: Bool) throws(HeartlogError) -> BackupManifest {
    if isNew { try makeParents() }
    let parent = PathParts.parent(of: path)
    let prefix = ".\(PathParts.name(of: path)).tmp-"
    var archive = try isNew ? nil : BackupArchive(at: path, on: fileSystem)
    try fileSystem.removeUnfinished(in: parent, startingWith: prefix)
    let last = try archive?.manifest()
    let manifest = try manifest(after: last)
    if manifest == last {
      var isErased = false
      try archive?.check(manifest) { (run) throws(HeartlogError) in
        if !isErased { isErased = try store.redacted(run) != nil }
      }
      if !isErased { return manifest }
      // Reads it from its start again.
      _ = try archive?.manifest()
    }
    let temporary = "\(parent)/\(temporaryName(prefix))"
    let file = try fileSystem.open(temporary, .createNew)
    do throws(HeartlogError) {
      try file.write(BackupArchive.magic, at: 0)
      writtenBytes = UInt64(BackupArchive.magic.count)
      try append(manifest.encoded(), to: file)
      for stream in manifest.streams {
        var next: UInt64 = 1
        if let done = last?.streams.first(where: { $0.replica == stream.replica }) {
          // What the last backup has is not read from the store again, except for what was erased since.
          try archive?.readRuns(of: done) { (runs, bytes) throws(HeartlogError) in
            if try hasErased(runs.runs) {
              let new = newCommits
              defer { newCommits = new }
              try write(next...runs.lastCommit, of: stream.replica) { (target, run) throws(HeartlogError) in
                try target.append(run.bytes, to: file)
              }
            } else {
              try append(bytes, to: file)
            }
            next = runs.lastCommit + 1
          }
        }
        guard next <= stream.commit else { continue }
        try write(next...stream.commit, of: stream.replica) { (target, run) throws(HeartlogError) in
          try target.append(run.bytes, to: file)
        }
      }
      try file.synchronize()
      var written = try BackupArchive(at: temporary, on: fileSystem)
      let read = try written.manifest()
      guard read == manifest else { throw written.damaged("its manifest is not what was written") }
      try written.check(read)
      try fileSystem.rename(temporary, to: path)
      try fileSystem.synchronizeDirectory(parent)
    } catch {
      try? fileSystem.remove(temporary)
      throw error
    }
    return manifest
  }

  private mutating func append(_ bytes: [UInt8], to file: any OpenFile) throws(HeartlogError) {
    var record = ByteWriter(capacity: bytes.count + 8)
    record.u64(UInt64(bytes.count))
    record.raw(bytes)
    let offset = writtenBytes
    try file.write(record.bytes, at: offset)
    writtenBytes += UInt64(record.count)
  }

  // MARK: - Unfinished files

  private func temporaryName(_ prefix: String) -> String {
    "\(prefix)\(fileSystem.processID)-\(UInt64.random(in: 0 ... .max))"
  }
}

extension FileSystem {
  /// Refuses a path inside a store or a backup: what is there would be removed, copied and checked with it.
  ///
  /// - Throws: `invalid`.
  func refuseNested(_ path: String) throws(HeartlogError) {
    guard let found = try container(of: path) else { return }
    throw HeartlogError(.invalid, "\(path) is inside \(found), and needs a place of its own", file: path)
  }

  /// A store or a backup that a path is in; nil if it is in neither.
  private func container(of path: String) throws(HeartlogError) -> String? {
    var folder = PathParts.parent(of: path)
    while try info(folder) == nil, folder != PathParts.parent(of: folder) {
      folder = PathParts.parent(of: folder)
    }
    // The system knows what is above a folder, whatever links lead to it. At the root, that is the root.
    while let found = try info(folder) {
      if try info("\(folder)/store") != nil, try info("\(folder)/replicas") != nil { return "a store" }
      if try info("\(folder)/\(BackupArchive.manifestName)") != nil,
        try info("\(folder)/\(BackupTarget.runsName)") != nil
      {
        return "a backup"
      }
      guard try info("\(folder)/..")?.inode != found.inode else { break }
      folder += "/.."
    }
    return nil
  }

  /// Removes the files and folders that processes left unfinished that no longer exist, and those of this process.
  func removeUnfinished(in folder: String, startingWith prefix: String) throws(HeartlogError) {
    guard try info(folder) != nil else { return }
    for name in try entries(of: folder) where name.hasPrefix(prefix) {
      let process = Int32(name.dropFirst(prefix.count).prefix { $0 != "-" })
      guard let process, process == processID || !isRunning(process) else { continue }
      try removeTree("\(folder)/\(name)")
    }
  }
}

extension RunFileName {
  fileprivate var lastNumber: CommitNumber { CommitNumber(rawValue: last) }
}
