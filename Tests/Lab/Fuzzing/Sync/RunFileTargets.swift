import HeartlogFormat
import HeartlogEngine
import HeartlogSync

extension FuzzTarget {
  /// The files of a sync folder and of a backup. The first byte tells which, and the hash at the end is made right.
  static let runFile = FuzzTarget(
    "run-file",
    seeds: { _ in
      let body = try BlockEncoding.encode(
        Block(
          replica: replica, firstCommit: CommitNumber(rawValue: 1), secrets: [SeedCommits.secret],
          commits: SeedCommits.many(of: replica)))
      let root = Digest([UInt8](0..<32))
      let run = StreamRun(
        replica: replica, name: "phone", firstCommit: CommitNumber(rawValue: 1), commitCount: 24, body: body,
        root: root)
      let file = RunFile(replica: replica, name: "phone", firstCommit: 1, runs: [run])
      let signedRuns = try KnownKeys.checkpoint(size: 25, root: root)
      var proven = RunFile(
        replica: signedRuns.checkpoint.replica, name: "phone", firstCommit: 1,
        runs: [
          StreamRun(
            replica: signedRuns.checkpoint.replica, name: "phone", firstCommit: CommitNumber(rawValue: 1),
            commitCount: 24, body: body, root: root)
        ])
      proven.prove(with: (signedRuns, [24: [root]]))
      let end = RunFile(replica: replica, name: "phone", firstCommit: 8, runs: [])
      guard let id = VaultID(bytes: [UInt8](repeating: 9, count: 16)) else { return [] }
      let signed = try KnownKeys.checkpoint(size: 7, root: root)
      let vault = VaultMembership(id, isEstablished: true, former: [id])
      proven.vault = vault
      let checkpoint = ShippedCheckpointFile(signed, vault: vault)
      var manifest = ByteWriter([0x89, 0x48, 0x4C, 0x42, 0x41, 0x4B, 0x0D, 0x0A, 1])
      manifest.u8(1)
      manifest.raw(id.bytes)
      manifest.varint(0)
      manifest.raw(root)
      manifest.varint(24)
      manifest.varint(1)
      manifest.replica(signed.checkpoint.replica)
      manifest.varint(1)
      manifest.text(file.encoded().name.text)
      manifest.raw(root)
      manifest.u8(2)
      manifest.raw(signed.key.bytes)
      manifest.lengthAndBytes(signed.note.bytes)
      let files: [(String, FolderFileKind, [UInt8])] = [
        ("runs", .run, file.encoded().bytes.dropLast(32)),
        ("proven", .run, proven.encoded().bytes.dropLast(32)),
        ("end", .run, end.encoded(endRoot: root).bytes.dropLast(32)),
        ("checkpoint", .checkpoint, checkpoint.encoded().dropLast(32)),
        ("manifest", .manifest, manifest.bytes),
        ("name", .name, Array(file.encoded().name.text.utf8)),
      ]
      return files.map { Seed($0, [$1.rawValue] + $2) }
    }
  ) { bytes in
    guard let first = bytes.first, let kind = FolderFileKind(rawValue: first) else { return }
    var content = Array(bytes.dropFirst())
    if kind == .name {
      guard let text = String(validating: content, as: UTF8.self), let name = RunFileName(text) else {
        return
      }
      return try state(name.text == text, "a run file has two names")
    }
    content += SHA256Hasher.digest(of: content).bytes
    switch kind {
    case .run:
      guard let file = try? RunFile(content) else { return }
      let (name, bytes) = file.encoded()
      try state(bytes == content, "a run file has two forms")
      try state(RunFileName(name.text) == name, "the name of a run file is another one")
      for run in file.runs.prefix(2) {
        _ = run.eventCount
        // As many as a fuzzer tries.
        if run.commitCount <= 400 { _ = try? run.leaves() }
      }
    case .checkpoint:
      guard let file = try? ShippedCheckpointFile(content) else { return }
      try state(
        try ShippedCheckpointFile(file.encoded()) == file,
        "a checkpoint file is another one when it is read again")
    case .manifest:
      guard let manifest = try? BackupManifest(content) else { return }
      try state(
        try BackupManifest(manifest.encoded()) == manifest, "a manifest is another one when it is read again")
    case .name: break
    }
  }

  private enum FolderFileKind: UInt8 {
    case run, checkpoint, manifest, name
  }
}
