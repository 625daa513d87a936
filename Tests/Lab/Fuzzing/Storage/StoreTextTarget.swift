import Heartlog
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import TestSupport

/// Texts whose last line is the checksum of the others, by docs/format.md alone.
enum TextBytes {
  static func sealed(_ lines: [String]) -> [UInt8] { sealed(Array(lines.map { $0 + "\n" }.joined().utf8)) }

  /// A text with the line that it needs.
  static func sealed(_ text: [UInt8]) -> [UInt8] {
    let digits = String(text.checksum(0..<text.count, seed: 0), radix: 16)
    return text + "checksum \(String(repeating: "0", count: 16 - digits.utf8.count))\(digits)\n".utf8
  }
}

extension FuzzTarget {
  private enum TextFile: UInt8, CaseIterable {
    case store, ended, branched, trusted, device, checkpoint, erased
  }

  private static let directory = "/s"
  private static var storage: StorageOptions {
    var options = StorageOptions()
    let random = SharedGenerator(seed: 0)
    options.random = { random.next() }
    return options
  }

  /// The small files of a store: the first byte tells which, and the checksum is made right.
  static let storeText = FuzzTarget(
    "store-text", byteCountMax: 1_024,
    words: [
      "heartlog 1\n", "replica ", "name ", "machine ", "inode ", "birth ", "vault ", " established",
      " provisional",
      "former ", "ended ", "branched ", "trusted ", "seed ", "public ", "key ",
      " * ", " ! ",
    ],
    seeds: { _ in
      let digits = String(repeating: "a1", count: 32)
      let id = String(repeating: "b2", count: 16)
      var signed = try KnownKeys.checkpoint(size: 7, root: Digest([UInt8](0..<32)))
      try signed.cosign(with: KnownKeys.witness, seconds: 1_772_438_400)
      var erased = ByteWriter([0x89, 0x48, 0x4C, 0x45, 0x52, 0x41, 0x0D, 0x0A, 1, 1])
      erased.u64(77)
      erased.varint(1)
      ErasedEvent(
        replica: replica, segment: CommitNumber(rawValue: 1), commit: CommitNumber(rawValue: 3),
        stamp: HybridTimestamp(rawValue: 1 << 40), index: 0, hash: Digest([UInt8](0..<32))
      ).write(to: &erased)
      let texts: [(TextFile, [UInt8])] = [
        (
          .store,
          Array(
            """
            heartlog 1
            replica \(id)
            name Anna's phone
            machine \(digits)
            inode 1234567
            birth 1772438400123456789
            vault \(id) established
            former \(id)
            later 1

            """.utf8)
        ),
        (.ended, Array("heartlog 1\nended 12\n".utf8)),
        (.branched, Array("heartlog 1\nbranched 7 \(id)\nbranched 9 \(id)\n".utf8)),
        (.trusted, Array("heartlog 1\ntrusted \(digits)\n".utf8)),
        (.device, Array("heartlog 1\nseed \(digits)\npublic \(KnownKeys.owner.publicKey)\n".utf8)),
        (.checkpoint, CheckpointFile.encoded(signed)), (.erased, erased.bytes),
      ]
      return texts.map { Seed("\($0)", [$0.rawValue] + $1) }
    }
  ) { bytes in
    guard let first = bytes.first, let file = TextFile(rawValue: first) else { return }
    let text = Array(bytes.dropFirst())
    switch file {
    case .store: try checkStore(TextBytes.sealed(text))
    case .checkpoint:
      guard let checkpoint = try? CheckpointFile.decode(text, file: "") else { return }
      try state(
        try CheckpointFile.decode(CheckpointFile.encoded(checkpoint), file: "") == checkpoint,
        "a checkpoint is another one when it is read again")
    case .erased:
      var text = text
      let checksum = text.checksum(0..<text.count, seed: 0)
      text += [UInt8](repeating: 0, count: 8)
      text.set(checksum, at: text.count - 8)
      try checkErased(text)
    case .ended, .branched, .trusted, .device: try checkLines(file, TextBytes.sealed(text))
    }
  }

  private static func checkStore(_ text: [UInt8]) throws {
    guard let identity = try? StoreIdentity.decode(text, file: "") else { return }
    let again = try StoreIdentity.decode(identity.encoded(), file: "")
    try state(again == identity, "an identity is another one when it is read again")
  }

  private static func files(_ path: String, _ bytes: [UInt8]) throws -> StoreDirectory {
    StoreDirectory(fileSystem: try fileSystem(path, bytes), path: directory)
  }

  private static func fileSystem(_ path: String, _ bytes: [UInt8]) throws -> MemoryFileSystem {
    let files = MemoryFileSystem()
    for folder in ["", "/keys", "/replicas", "/replicas/\(replica)"] {
      try files.createDirectory(directory + folder)
    }
    try files.open("\(directory)/\(path)", .createNew).write(bytes, at: 0)
    return files
  }

  private static func checkErased(_ bytes: [UInt8]) throws {
    let store = try files("erased", bytes)
    guard var list = try? ErasedList.read(store) else { return }
    let before = list
    try list.write(in: store, storage)
    let again = try ErasedList.read(store)
    try state(
      again.events == before.events && again.isPending == before.isPending,
      "a list of erased events is another one when it is read again")
  }

  private static func checkLines(_ file: TextFile, _ text: [UInt8]) throws {
    let stream = "replicas/\(replica)"
    switch file {
    case .ended:
      guard let end = try? StreamEnd.read(of: replica, in: try files("\(stream)/ended", text)) else { return }
      try state(end.encoded() == text, "the end of a stream has two forms")
    case .branched:
      let store = try files("\(stream)/branched", text)
      guard let list = try? BranchList.read(of: replica, in: store) else { return }
      try list.write(of: replica, in: store, storage)
      try state(
        try BranchList.read(of: replica, in: store) == list,
        "a list of branches is another one when it is read again")
    case .trusted:
      _ = try? CommitLog.trustedKeys(at: directory, on: try fileSystem("keys/trusted", text))
    case .device:
      var options = storage
      options.keys = .folder
      let keys = DeviceKeys(try files("keys/device", text), options)
      _ = try? keys.key(of: KnownKeys.owner.publicKey.replica)
    case .store, .checkpoint, .erased: break
    }
  }
}
