import HeartlogFormat

/// 128 random bits that make the checksums of each segment unique.
struct SegmentID: Hashable, Sendable {
  let words: (UInt64, UInt64)

  static func random(using generator: inout some RandomNumberGenerator) -> SegmentID {
    SegmentID(words: (generator.next(), generator.next()))
  }

  /// The base of the checksum seeds of the segment's frames.
  var seedBase: UInt64 { words.0 ^ words.1 }

  static func == (a: SegmentID, b: SegmentID) -> Bool { a.words == b.words }

  func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}

/// The first 4,096 bytes of a segment file: two copies of the same header.
struct SegmentHeader: Equatable, Sendable {
  enum Kind: UInt8, Sendable {
    case open = 1
    case sealed = 2
  }

  /// The contents of a sealed file; zeros in an open one.
  struct Totals: Equatable, Sendable {
    var commits: UInt64 = 0
    var events: UInt64 = 0
    var fileBytes: UInt64 = 0
  }

  var kind: Kind
  var id: SegmentID
  var replica: ReplicaID
  var replicaName: String
  var firstCommit: CommitNumber
  var firstSequence: SequenceNumber
  var totals = Totals()
  /// The secret of an open segment; zeros in a sealed one.
  var secret: Digest
  /// The size of the stream's Merkle tree at `frontier`. All of these commits are before this segment.
  var treeSize: UInt64 = 0
  var frontier: [Digest] = []

  static let byteCount = 4_096
  static let formatVersion: UInt16 = 1
  static let noSecret = Digest([UInt8](repeating: 0, count: 32))
  static let nameBytesMax = 127

  private static let copyBytes = 2_048
  private static let checksumOffset = 2_040
  private static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x4F, 0x47, 0x0D, 0x0A, 0x1A]

  /// The last commit of a sealed segment; nil for an open one.
  var lastCommit: CommitNumber? {
    kind == .sealed ? CommitNumber(rawValue: firstCommit.rawValue + totals.commits - 1) : nil
  }

  func encoded() -> [UInt8] {
    let name = Array(replicaName.utf8)
    precondition(name.count <= Self.nameBytesMax, "a replica's name was checked")
    precondition(frontier.count == treeSize.nonzeroBitCount, "a frontier has one root for each full subtree")
    precondition(treeSize < firstCommit.rawValue, "the tree is over commits before the segment")
    precondition(
      kind == .open ? totals == Totals() : secret == Self.noSecret && treeSize + 1 == firstCommit.rawValue,
      "totals are in a sealed segment, and a secret is in an open one")
    var copy = [UInt8](repeating: 0, count: Self.copyBytes)
    copy.put(Self.magic, at: 0)
    copy.put(Self.formatVersion, at: 8)
    copy[10] = kind.rawValue
    copy[11] = UInt8(name.count)
    copy.put(id.words.0, at: 16)
    copy.put(id.words.1, at: 24)
    copy.put(replica.bytes, at: 32)
    copy.put(firstCommit.rawValue, at: 48)
    copy.put(firstSequence.rawValue, at: 56)
    copy.put(totals.commits, at: 64)
    copy.put(totals.events, at: 72)
    copy.put(totals.fileBytes, at: 80)
    copy.put(secret.bytes, at: 88)
    copy.put(treeSize, at: 120)
    for (index, root) in frontier.enumerated() { copy.put(root.bytes, at: 128 + 32 * index) }
    copy.put(name, at: 1_824)
    let bytes = Self.sealedCopy(copy, at: 0) + Self.sealedCopy(copy, at: Self.copyBytes)
    assert(bytes.count == Self.byteCount, "a header fills its room")
    return bytes
  }

  private static func sealedCopy(_ copy: [UInt8], at offset: Int) -> [UInt8] {
    var copy = copy
    let checksum = copy.withUnsafeBytes { XXH3.hash($0.part(0, checksumOffset), seed: UInt64(offset)) }
    assert(copy.count == copyBytes, "both copies have the same size")
    copy.put(checksum, at: checksumOffset)
    return copy
  }

  /// A decoded header, with the offset of the damaged copy, if there is one.
  struct Found {
    let header: SegmentHeader
    let damagedCopy: UInt64?
  }

  /// Decodes the header from the first 4,096 bytes of `file`.
  static func decode(_ bytes: UnsafeRawBufferPointer, file: String) throws(HeartlogError) -> Found {
    guard bytes.count >= byteCount else {
      throw HeartlogError(
        .corrupt, "the segment header is cut short", file: file, offset: UInt64(bytes.count))
    }
    let good = [0, copyBytes].filter { offset in
      let copy = bytes.part(offset, copyBytes)
      return copy.starts(with: magic)
        && copy.littleEndian(checksumOffset, as: UInt64.self)
          == XXH3.hash(copy.part(0, checksumOffset), seed: UInt64(offset))
    }
    guard let first = good.first else {
      throw HeartlogError(.corrupt, "both copies of the segment header are damaged", file: file, offset: 0)
    }
    let header = try decode(copy: bytes.part(first, copyBytes), file: file, offset: UInt64(first))
    let damaged: UInt64? = good.count == 2 ? nil : UInt64(first == 0 ? copyBytes : 0)
    if damaged == nil {
      let other = try decode(copy: bytes.part(copyBytes, copyBytes), file: file, offset: UInt64(copyBytes))
      guard other == header else {
        throw HeartlogError(.corrupt, "the two copies of the segment header differ", file: file, offset: 0)
      }
    }
    return Found(header: header, damagedCopy: damaged)
  }

  private static func decode(
    copy: UnsafeRawBufferPointer, file: String, offset: UInt64
  ) throws(HeartlogError) -> SegmentHeader {
    let version = copy.littleEndian(8, as: UInt16.self)
    guard version <= formatVersion else {
      throw HeartlogError(
        .newerFormat,
        "a segment of format version \(version); this Heartlog reads versions up to \(formatVersion)",
        file: file)
    }
    func malformed(_ reason: String) -> HeartlogError {
      HeartlogError(.corrupt, "a segment header with \(reason)", file: file, offset: offset)
    }
    guard version == formatVersion, let kind = Kind(rawValue: copy[10]) else {
      throw malformed("an unknown kind")
    }
    let nameBytes = Int(copy[11])
    guard nameBytes <= nameBytesMax,
      let name = String(validating: copy.part(1_824, nameBytes), as: UTF8.self),
      let replica = ReplicaID(bytes: copy.part(32, 16))
    else { throw malformed("a malformed name") }
    let treeSize = copy.littleEndian(120, as: UInt64.self)
    let first = copy.littleEndian(48, as: UInt64.self)
    let firstSequence = copy.littleEndian(56, as: UInt64.self)
    guard first >= 1, first <= Limits.numberMax, firstSequence >= 1, firstSequence <= Limits.numberMax,
      treeSize < first
    else { throw malformed("numbers out of range") }
    let header = SegmentHeader(
      kind: kind,
      id: SegmentID(words: (copy.littleEndian(16, as: UInt64.self), copy.littleEndian(24, as: UInt64.self))),
      replica: replica, replicaName: name, firstCommit: CommitNumber(rawValue: first),
      firstSequence: SequenceNumber(rawValue: firstSequence),
      totals: Totals(
        commits: copy.littleEndian(64, as: UInt64.self), events: copy.littleEndian(72, as: UInt64.self),
        fileBytes: copy.littleEndian(80, as: UInt64.self)),
      secret: Digest(copy.part(88, 32)), treeSize: treeSize,
      frontier: (0..<treeSize.nonzeroBitCount).map { Digest(copy.part(128 + 32 * $0, 32)) })
    guard kind == .sealed || header.totals == Totals() else { throw malformed("totals in an open segment") }
    guard
      kind == .open
        || (header.secret == noSecret && header.totals.commits >= 1
          && header.totals.commits <= Limits.numberMax - first + 1 && treeSize == first - 1)
    else { throw malformed("totals that a sealed segment cannot have") }
    return header
  }
}
