import Heartlog
import HeartlogFiles
import HeartlogFormat

/// A backup that is read: a manifest and run files, in a folder or in one file. The format is specified in "Backups" in docs/format.md.
struct BackupArchive {
  let path: String
  let manifest: BackupManifest
  private let fileSystem: any FileSystem
  /// The one file that contains the others, and where they are in it, by the prefixes of their hashes; nil for a folder.
  private var parts: (file: any OpenFile, extents: [RootPrefix: (offset: UInt64, count: Int)])?

  /// The first bytes of a backup in one file.
  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x41, 0x52, 0x43, 0x0D, 0x0A]
  static let (manifestName, lockName, runsName) = ("manifest", "lock", "runs")

  /// The run files of a manifest that is not written yet, in a folder.
  init(_ manifest: BackupManifest, in folder: String, on fileSystem: any FileSystem) {
    self.manifest = manifest
    path = folder
    self.fileSystem = fileSystem
  }

  /// Opens a finished backup.
  ///
  /// - Throws: `notFound` if there is none at the path; `invalid` if there is a store or something else that is not a backup; `corrupt`.
  init(at path: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    guard let kind = try fileSystem.info(path)?.kind else {
      throw HeartlogError(.notFound, "there is no backup at \(path)", file: path)
    }
    self.path = path
    self.fileSystem = fileSystem
    var source = path
    let bytes: [UInt8]
    if kind == .directory {
      try Self.refuseOther(path, on: fileSystem)
      source = "\(path)/\(Self.manifestName)"
      guard try fileSystem.info(source) != nil else {
        throw HeartlogError(.notFound, "the backup at \(path) was never finished", file: path)
      }
      bytes = try Self.bytes(of: source, atMost: BackupManifest.bytesMax, on: fileSystem)
    } else {
      let file = try fileSystem.open(path, .read)
      guard try file.bytes(Self.magic.count, at: 0) == Self.magic else {
        throw HeartlogError(.invalid, "\(path) is not a backup", file: path)
      }
      var (extents, last) = ([RootPrefix: (offset: UInt64, count: Int)](), (offset: UInt64(0), count: 0))
      var offset = UInt64(Self.magic.count)
      let size = try file.size()
      while offset < size {
        guard let count = try Self.number(in: file, at: offset), count >= Digest.byteCount,
          count <= BackupManifest.bytesMax, count <= size - min(size, offset + 8),
          let hash = try Self.number(in: file, at: offset + 8 + count - UInt64(Digest.byteCount))
        else { throw Self.damaged("it ends too early", path) }
        last = (offset + 8, Int(count))
        extents[RootPrefix(word: hash)] = last
        offset += 8 + count
      }
      parts = (file, extents)
      bytes = try file.bytes(last.count, at: last.offset)
    }
    do throws(MalformedError) { manifest = try BackupManifest(bytes) } catch {
      throw Self.damaged(error.reason, source)
    }
  }

  /// Refuses a folder with anything but what a backup writes.
  ///
  /// - Throws: `invalid`.
  static func refuseOther(_ folder: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    let names = try fileSystem.entries(of: folder)
    guard
      !names.allSatisfy({
        [manifestName, lockName, runsName].contains($0) || $0.hasPrefix(DirectoryPlace.temporaryPrefix)
      })
    else { return }
    let isStore = try fileSystem.isStore(folder)
    throw HeartlogError(
      .invalid, "\(folder) is \(isStore ? "a store" : "a folder with other files"), not a backup",
      file: folder)
  }

  private static func damaged(_ reason: String, _ file: String) -> HeartlogError {
    HeartlogError(.corrupt, "the backup is damaged: \(reason)", file: file)
  }

  func damaged(_ reason: String) -> HeartlogError { Self.damaged(reason, path) }

  /// Where a run file is in the folder of a backup.
  static func path(of name: RunFileName, in folder: String) -> String {
    "\(folder)/\(runsName)/\(name.text)"
  }

  /// Whether a run file is there. Its content is not read.
  func contains(_ name: RunFileName) throws(HeartlogError) -> Bool {
    guard let parts else { return try fileSystem.info(Self.path(of: name, in: path)) != nil }
    return parts.extents[name.content] != nil
  }

  /// Reads a run file.
  ///
  /// - Throws: `corrupt` if it is not there, or not what was written.
  func runFile(
    _ name: RunFileName, of stream: ReplicaID
  ) throws(HeartlogError) -> (content: RunFile, bytes: [UInt8]) {
    let source = parts == nil ? Self.path(of: name, in: path) : path
    guard try contains(name) else {
      throw Self.damaged("commits \(name.first) to \(name.last) of replica \(stream) are missing", source)
    }
    let bytes =
      if let parts, let extent = parts.extents[name.content] {
        try parts.file.bytes(min(extent.count, RunFile.bytesMax), at: extent.offset)
      } else {
        try Self.bytes(of: source, atMost: RunFile.bytesMax, on: fileSystem)
      }
    guard let content = try? RunFile(bytes), content.replica == stream,
      content.isCalled(name, bytes, checksContent: true)
    else { throw Self.damaged("a file is not what was written", source) }
    return (content, bytes)
  }

  private static func number(in file: any OpenFile, at offset: UInt64) throws(HeartlogError) -> UInt64? {
    let bytes = try file.bytes(8, at: offset)
    return bytes.count == 8 ? bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
  }

  private static func bytes(
    of path: String, atMost most: Int, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> [UInt8] {
    let file = try fileSystem.open(path, .read)
    let size = try file.size()
    guard size <= UInt64(most) else { throw damaged("a file is too large", path) }
    return try file.bytes(Int(size), at: 0)
  }

  /// Reads everything, and checks that it is what the manifest says.
  ///
  /// - Parameter restoring: receives the runs after they were checked, stream by stream.
  /// - Throws: `corrupt` if anything differs.
  func check(
    restoring: (StreamRun) throws(HeartlogError) -> Void = { _ in }
  ) throws(HeartlogError) {
    var state = FavoritesState()
    for stream in manifest.streams {
      var chain = RunChain(replica: stream.replica)
      for name in stream.files {
        for run in try runFile(name, of: stream.replica).content.runs {
          do { state.apply(try chain.extend(by: run)) } catch {
            throw damaged(
              "commits \(run.firstCommit) to \(run.lastCommit) of replica \(stream.replica) break a rule: \(error)"
            )
          }
          try restoring(run)
        }
      }
      guard chain.commit == stream.commit, chain.root == stream.root else {
        throw damaged("the commits of replica \(stream.replica) do not lead to their root")
      }
    }
    guard state.digest == manifest.digest, state.eventCount == manifest.events,
      state.commitCount == manifest.commits
    else { throw damaged("its commits lead to another state") }
  }
}
