import Heartlog
import HeartlogFiles
import HeartlogFormat

/// A backup that is read: a manifest and run files, in a folder or in one file. The format is specified in "Backups" in docs/format.md.
struct BackupArchive {
  let path: String
  private let fileSystem: any FileSystem
  /// The one file that contains the others; nil for a folder.
  private let file: (any OpenFile)?
  /// The offset in the one file that was read up to.
  private var offset = UInt64(magic.count)

  /// The first bytes of a backup in one file.
  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x41, 0x52, 0x43, 0x0D, 0x0A]
  static let manifestName = "manifest"

  /// Opens a backup.
  ///
  /// - Throws: `notFound` if there is nothing at the path; `invalid` if it is a store or something else that is not a backup.
  init(at path: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    self.path = path
    self.fileSystem = fileSystem
    guard let kind = try fileSystem.info(path)?.kind else {
      throw HeartlogError(.notFound, "there is no backup at \(path)", file: path)
    }
    if kind == .directory {
      file = nil
      guard try Self.isBackup(path, on: fileSystem) else { throw try Self.refusal(of: path, on: fileSystem) }
    } else {
      let file = try fileSystem.open(path, .read)
      let start = try file.bytes(Self.magic.count, at: 0)
      guard start == Self.magic else { throw HeartlogError(.invalid, "\(path) is not a backup", file: path) }
      self.file = file
    }
  }

  /// Whether a folder contains nothing but what a backup writes.
  static func isBackup(_ folder: String, on fileSystem: any FileSystem) throws(HeartlogError) -> Bool {
    try fileSystem.entries(of: folder).allSatisfy { name in
      name == manifestName || name == BackupTarget.lockName
        || name.hasPrefix(DirectoryObjects.temporaryPrefix) || name == BackupTarget.runsName
    }
  }

  /// The error for a folder that is not a backup.
  static func refusal(
    of folder: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> HeartlogError {
    let parts = [try fileSystem.info("\(folder)/store"), try fileSystem.info("\(folder)/replicas")]
    let isStore = parts.contains { $0 != nil }
    return HeartlogError(
      .invalid, "\(folder) is \(isStore ? "a store" : "a folder with other files"), not a backup",
      file: folder)
  }

  func damaged(_ reason: String, _ file: String? = nil) -> HeartlogError {
    HeartlogError(.corrupt, "the backup is damaged: \(reason)", file: file ?? path)
  }

  /// Whether a backup was ever finished here. One file is not there before it is.
  func isFinished() throws(HeartlogError) -> Bool {
    guard file == nil else { return true }
    return try fileSystem.info("\(path)/\(Self.manifestName)") != nil
  }

  /// Reads the manifest.
  ///
  /// - Throws: `notFound` if no backup was finished here; `corrupt`.
  mutating func manifest() throws(HeartlogError) -> BackupManifest {
    guard try isFinished() else {
      throw HeartlogError(.notFound, "the backup at \(path) was never finished", file: path)
    }
    offset = UInt64(Self.magic.count)
    let name = file == nil ? "\(path)/\(Self.manifestName)" : path
    let bytes =
      try file == nil ? bytes(of: name, atMost: BackupManifest.bytesMax) : record(BackupManifest.bytesMax)
    do throws(MalformedError) { return try BackupManifest(bytes) } catch { throw damaged(error.reason, name) }
  }

  /// Calls `body` with the run files of a stream, in order. The streams of a backup in one file must be read in order.
  mutating func readRuns(
    of stream: BackupManifest.Stream, _ body: (RunFile, [UInt8]) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    var last: UInt64 = 0
    let names = try file == nil ? runNames(of: stream.replica) : []
    while last < stream.commit {
      let bytes: [UInt8]
      var source = path
      if file == nil {
        guard let name = names.first(where: { $0.first == last + 1 && $0.last <= stream.commit }) else {
          throw damaged("commit \(last + 1) of replica \(stream.replica) is missing")
        }
        source = Self.path(of: name, of: stream.replica, in: path)
        bytes = try self.bytes(of: source, atMost: RunFile.bytesMax)
        guard let hash = RunFile.contentHash(bytes), RootPrefix(hash) == name.content else {
          throw damaged("a file is not what was written", source)
        }
      } else {
        bytes = try record(RunFile.bytesMax)
      }
      let file: RunFile
      do throws(MalformedError) { file = try RunFile(bytes) } catch { throw damaged(error.reason, source) }
      guard file.replica == stream.replica, file.firstCommit == last + 1, file.lastCommit > last,
        file.lastCommit <= stream.commit
      else { throw damaged("a file contains other commits than those that follow", source) }
      try body(file, bytes)
      last = file.lastCommit
    }
  }

  /// Reads everything, and checks that it is what the manifest says.
  ///
  /// - Parameter restoring: receives the runs after they were checked, stream by stream.
  /// - Throws: `corrupt` if anything differs.
  mutating func check(
    _ manifest: BackupManifest, restoring: (StreamRun) throws(HeartlogError) -> Void = { _ in }
  ) throws(HeartlogError) {
    var state = FavoritesState()
    for stream in manifest.streams {
      var chain = RunChain(replica: stream.replica)
      let damaged = damaged
      try readRuns(of: stream) { (file, _) throws(HeartlogError) in
        for run in file.runs {
          do { state.apply(try chain.extend(by: run)) } catch {
            throw damaged(
              "commits \(run.firstCommit) to \(run.lastCommit) of replica \(stream.replica) break a rule: \(error)",
              nil)
          }
          try restoring(run)
        }
      }
      guard chain.root == stream.root else {
        throw damaged("the commits of replica \(stream.replica) do not lead to their root", nil)
      }
    }
    if let file {
      let size = try file.size()
      guard offset == size else { throw damaged("there are bytes behind its end") }
    }
    guard state.digest == manifest.digest, state.eventCount == manifest.events,
      state.commitCount == manifest.commits
    else { throw damaged("its commits lead to another state") }
  }

  // MARK: - Files

  static func path(of name: RunFileName, of stream: ReplicaID, in folder: String) -> String {
    "\(self.folder(of: stream, in: folder))/\(name.text)"
  }

  static func folder(of stream: ReplicaID, in folder: String) -> String {
    "\(folder)/\(BackupTarget.runsName)/\(stream)"
  }

  /// The names of the run files of a stream in a folder, sorted.
  func runNames(of stream: ReplicaID) throws(HeartlogError) -> [RunFileName] {
    do throws(HeartlogError) {
      return try fileSystem.entries(of: Self.folder(of: stream, in: path)).compactMap { RunFileName($0) }
    } catch {
      guard error.isNotFound else { throw error }
      return []
    }
  }

  /// The content of a run file in a folder.
  func runFile(_ name: RunFileName, of stream: ReplicaID) throws(HeartlogError) -> RunFile {
    let source = Self.path(of: name, of: stream, in: path)
    let bytes = try bytes(of: source, atMost: RunFile.bytesMax)
    do throws(MalformedError) { return try RunFile(bytes) } catch { throw damaged(error.reason, source) }
  }

  private func bytes(of path: String, atMost most: Int) throws(HeartlogError) -> [UInt8] {
    let file = try fileSystem.open(path, .read)
    let size = try file.size()
    guard size <= UInt64(most) else { throw damaged("a file is too large", path) }
    return try file.bytes(Int(size), at: 0)
  }

  /// Reads the next file in the one file: its length, `u64`, and its bytes.
  private mutating func record(_ most: Int) throws(HeartlogError) -> [UInt8] {
    guard let file else { preconditionFailure("a folder has no records") }
    let start = offset
    let length = try file.bytes(8, at: start)
    let count = length.reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard length.count == 8, count <= UInt64(most) else { throw damaged("it ends too early") }
    let size = try file.size()
    guard count <= size - min(size, start + 8) else { throw damaged("it ends too early") }
    let bytes = try file.bytes(Int(count), at: start + 8)
    offset = start + 8 + count
    return bytes
  }
}

/// What a finished backup contains. The format is specified in "Backups" in docs/format.md.
package struct BackupManifest: Hashable {
  struct Stream: Hashable {
    let replica: ReplicaID
    let name: String
    /// The last commit; 0 for a stream that was forked at its start.
    let commit: UInt64
    let root: Digest
    let isEnded: Bool
    let checkpoint: SignedCheckpoint?
  }

  /// The replica that the store wrote as.
  let replica: ReplicaID
  let name: String
  let vault: VaultMembership?
  /// The digest of the state of all commits.
  let digest: Digest
  let events: UInt64
  /// Sorted by replica.
  let streams: [Stream]

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x42, 0x41, 0x4B, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let bytesMax = 320 << 20
  /// A store takes half as many, and may have more that branched.
  private static let streamsMax = 2 * Limits.streamsMax

  var commits: UInt64 { streams.reduce(0) { $0 + $1.commit } }
  var heads: [Head] {
    streams.map { Head(replica: $0.replica, commit: CommitNumber(rawValue: $0.commit)) }
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.replica(replica)
    writer.text(name)
    writer.vault(vault)
    writer.varint(0)
    writer.raw(digest)
    writer.varint(events)
    writer.varint(streams.count)
    for stream in streams {
      writer.replica(stream.replica)
      writer.text(stream.name)
      writer.varint(stream.commit)
      writer.raw(stream.root)
      writer.u8((stream.isEnded ? 1 : 0) | (stream.checkpoint == nil ? 0 : 2))
      if let checkpoint = stream.checkpoint {
        writer.raw(checkpoint.key.bytes)
        writer.lengthAndBytes(checkpoint.note.bytes)
      }
    }
    writer.raw(SHA256Hasher.digest(of: writer.bytes))
    return writer.bytes
  }
}

extension BackupManifest {
  /// Decodes a manifest. The signatures are verified.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a manifest.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    let content = Array(bytes.dropLast(32))
    guard bytes.count > Self.magic.count + 32, bytes.starts(with: Self.magic),
      SHA256Hasher.digest(of: content).bytes == Array(bytes.suffix(32))
    else { throw MalformedError("an incomplete manifest") }
    self = try content.withBytes { (bytes) throws(MalformedError) in try BackupManifest(content: bytes) }
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a manifest of version \(version)") }
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    vault = try reader.vaultMembership()
    guard try reader.varint() == 0 else {
      throw MalformedError("a backup of a store that took only some libraries")
    }
    digest = try reader.digest()
    events = try reader.varint()
    var streams: [Stream] = []
    for _ in 0..<(try reader.count(atMost: min(Self.streamsMax, reader.remaining / 51), "streams")) {
      let stream = try Self.stream(&reader)
      guard streams.last.map({ $0.replica < stream.replica }) ?? true else {
        throw MalformedError("streams that are not in order")
      }
      streams.append(stream)
    }
    self.streams = streams
    try reader.end()
  }

  private static func stream(_ reader: inout ByteReader) throws(MalformedError) -> Stream {
    let replica = try reader.replica()
    let name = try reader.text()
    try ShippedName.check(name)
    let commit = try reader.varint()
    guard commit <= Limits.numberMax else { throw MalformedError("a stream of \(commit) commits") }
    let root = try reader.digest()
    let flags = try reader.u8()
    guard flags <= 3 else { throw MalformedError("flags \(flags)") }
    var checkpoint: SignedCheckpoint?
    if flags & 2 != 0 {
      let key = try reader.publicKey()
      let signed = try SignedCheckpoint(try SignedNote(Array(try reader.lengthAndBytes())), key: key)
      guard signed.checkpoint.replica == replica, signed.checkpoint.size <= commit else {
        throw MalformedError("a checkpoint that does not belong to its stream")
      }
      checkpoint = signed
    }
    return Stream(
      replica: replica, name: name, commit: commit, root: root, isEnded: flags & 1 != 0,
      checkpoint: checkpoint)
  }
}
