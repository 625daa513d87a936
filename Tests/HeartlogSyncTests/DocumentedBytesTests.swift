import Heartlog
import HeartlogCrashModel
import HeartlogEngine
import HeartlogFiles
import HeartlogFormat
import Testing

@testable import HeartlogSync

/// The worked examples of docs/shipping.md, and those of docs/format.md that they go on from.
@Suite("The worked examples of docs/shipping.md")
struct DocumentedBytesTests {
  private static let replica = ReplicaID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)

  /// The fenced blocks of a page, by their info strings.
  private static func blocks(of page: String) throws -> [String: [String]] {
    let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    let file = try POSIXFileSystem().open("\(root)/docs/\(page)", .read)
    let text = String(decoding: try file.bytes(Int(try file.size()), at: 0), as: UTF8.self)
    var blocks: [String: [String]] = [:]
    var name: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        name = name == nil ? String(line.dropFirst(3)) : nil
      } else if let name {
        blocks[name, default: []].append(String(line))
      }
    }
    return blocks
  }

  private static func bytes(_ name: String, of page: String = "shipping.md") throws -> [UInt8] {
    let lines = try #require(try blocks(of: page)["hex \(name)"], "no example \(name)")
    return try lines.flatMap { line in
      try #require(Hexadecimal.bytes(line.prefix { $0 != ";" }.filter { $0 != " " }), "\(name): \(line)")
    }
  }

  /// The three commits of "Block encoding" in docs/format.md.
  private static func commits() throws -> [Commit] {
    let bytes = try bytes("block", of: "format.md")
    let block = try bytes.withUnsafeBytes {
      try BlockEncoding.decode($0, replica: replica, firstCommit: CommitNumber(rawValue: 1), commitCount: 3)
    }
    return block.commits
  }

  /// A phone that wrote the first two of these commits, and a tablet that has them all.
  private func stores() throws -> (phone: FavoritesStore, tablet: FavoritesStore) {
    var stream = MadeUpStream(Self.replica, "Anna's phone")
    for commit in try Self.commits() { try stream.append(commit) }
    let files = MemoryFileSystem(recording: false)
    let new = try FavoritesStore.device(1, "Anna's phone", on: files)
    try new.hold(stream, 1...2)
    try new.seal()
    try new.close()
    // The phone is who wrote them.
    let path = "\(new.path)/store"
    var identity = try StoreIdentity.decode(try files.contents(of: path), file: path)
    identity.replica = Self.replica
    try files.replaceContents(of: path, with: identity.encoded())
    let tablet = try FavoritesStore.device(2, "Anna's tablet")
    try tablet.hold(stream)
    return (try .device(1, "Anna's phone", on: files), tablet)
  }

  private func expect(_ bytes: [UInt8], _ names: String...) throws {
    let documented = try names.flatMap { try Self.bytes($0) }
    #expect(bytes == documented, "\(names): \(Hexadecimal.text(bytes))")
  }

  @Test("the dialogue, both ways, byte by byte")
  func dialogue() throws {
    let (phone, tablet) = try stores()
    let (one, other) = try DescriptorChannel.pair()
    let (near, far) = (TappedChannel(one), TappedChannel(other))
    var options = SyncOptions()
    options.clock = { 1_772_438_400_000 }
    var serving = SyncOptions()
    serving.clock = { 1_772_438_401_000 }
    let report = try Dialogue.between(
      phone, tablet, options: options, serving: serving, channels: (near, far)
    )
    .report()
    #expect(report.received.commits == 1 && report.peerClockAheadMilliseconds == 1_000)
    try expect(far.bytesRead, "heads", "wants")
    try expect(near.bytesRead, "answer", "run")
  }

  @Test("the messages of a pairing in docs/encryption.md, both ways")
  func pairing() throws {
    let vault = try #require(VaultID("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"))
    let messages: [Message] = [
      .pairing(
        PairingGreeting(
          isServing: false, isEmpty: true, joins: false, replica: Self.replica, name: "Anna's phone",
          vault: VaultMembership(vault), epochVault: nil, epochs: [])),
      .failed(.refused, "it was revoked"),
    ]
    let channel = RecordedChannel(reading: [])
    let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
    for message in messages { try writer.write(message) }
    let documented = try ["pairing-greeting", "pairing-refused"].flatMap {
      try Self.bytes($0, of: "encryption.md")
    }
    #expect(channel.written == documented, "\(Hexadecimal.text(channel.written))")
    let reader = MessageReader(MonitoredChannel(RecordedChannel(reading: documented), options: SyncOptions()))
    #expect(try reader.read(.pairing) == messages[0])
    let refusal = #expect(throws: HeartlogError.self) { try reader.read(.pairing) }
    #expect(refusal?.code == .noKey && refusal?.message == "the peer gave up: it was revoked")
  }

  @Test("run files, and their names")
  func runFiles() throws {
    let (phone, _) = try stores()
    let head = try phone.streamHeads()[0]
    let run = try #require(try phone.streamRun(of: Self.replica, after: 0, upTo: head.commit))
    let file = RunFile(replica: Self.replica, name: head.name, firstCommit: 1, runs: [run])
    let end = RunFile(replica: Self.replica, name: head.name, firstCommit: 3, runs: [])
    try expect(file.encoded().bytes, "run-file")
    try expect(end.encoded(endRoot: head.root).bytes, "end-file")
    let names = try #require(try Self.blocks(of: "shipping.md")["text run-file-names"])
    let expected = [file.encoded().name.text, end.encoded(endRoot: head.root).name.text]
    #expect(names == expected, "\(expected)")
    #expect(try RunFile(try Self.bytes("run-file")) == file && RunFile(try Self.bytes("end-file")) == end)
    for name in names { #expect(try #require(RunFileName(name)).text == name) }
  }

  @Test("a run file with its proof")
  func provenRunFile() throws {
    let (phone, _) = try stores()
    let run = try #require(
      try phone.streamRun(of: Self.replica, after: 0, upTo: try phone.streamHeads()[0].commit))
    let key = try #require(SigningKey(seed: Array(0..<32)))
    let vault = try #require(VaultID("00112233445566778899aabbccddeeff"))
    let checkpoint = Checkpoint(vault: vault, replica: key.publicKey.replica, size: 2, root: run.root)
    var file = RunFile(
      replica: key.publicKey.replica, name: "Anna's phone", firstCommit: 1,
      runs: [
        StreamRun(
          replica: key.publicKey.replica, name: "Anna's phone", firstCommit: run.firstCommit, commitCount: 2,
          body: run.body,
          root: run.root)
      ])
    file.prove(with: (try SignedCheckpoint(checkpoint, signedBy: key), [:]))
    file.vault = VaultMembership(vault, isEstablished: true)
    try expect(file.encoded().bytes, "proven-run-file")
    let read = try RunFile(try Self.bytes("proven-run-file"))
    #expect(read == file && read.checkpoint?.isSigned == true)
    // Of a checkpoint behind the file, the root and the way there are in the file, too.
    let root = Digest([UInt8](repeating: 7, count: 32))
    let later = Checkpoint(vault: vault, replica: key.publicKey.replica, size: 3, root: root)
    file.prove(with: (try SignedCheckpoint(later, signedBy: key), [2: [run.root]]))
    let bytes = file.encoded().bytes
    #expect(try RunFile(bytes) == file)
    #expect(bytes.count == (try Self.bytes("proven-run-file")).count + 64)
    for length in 0..<bytes.count - 32 {
      let cut = Array(bytes.prefix(length))
      #expect(throws: MalformedError.self) { try RunFile(cut + SHA256Hasher.digest(of: cut).bytes) }
    }
  }
}
