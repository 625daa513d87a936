/// The name of a run file: `<first>-<last>-<root>-<content>.run`.
///
/// Each of the four parts has 16 digits: the first and last commit in decimal, and the first eight bytes of
/// the root after the last commit and of the content hash in hexadecimal. A file without commits, whose last
/// commit is the one before its first, says that the stream ends there.
package struct RunFileName: Hashable {
  package let first: UInt64
  package let last: UInt64
  /// The root after `last`.
  package let root: RootPrefix
  /// The prefix of the SHA-256 at the end of the file.
  package let content: RootPrefix

  package static let ending = ".run"
  private static let stemBytes = 4 * 16 + 3

  package init(first: UInt64, last: UInt64, root: RootPrefix, content: RootPrefix) {
    self.first = first
    self.last = last
    self.root = root
    self.content = content
  }

  /// Parses exactly such a name, with this ending or that of a file beside it.
  package init?(_ name: String, ending: String = ending) {
    guard name.hasSuffix(ending), name.utf8.count == Self.stemBytes + ending.utf8.count else {
      return nil
    }
    self.init(stem: name.dropLast(ending.utf8.count))
  }

  /// Parses the name of a copy: a file-syncing program inserted words before the ending, as in "… 2.run" or
  /// "… (conflicted copy).run".
  package init?(copy name: String) {
    guard name.hasSuffix(Self.ending), name.utf8.count > Self.stemBytes + Self.ending.utf8.count else {
      return nil
    }
    self.init(stem: name.prefix(Self.stemBytes))
  }

  private init?(stem: Substring) {
    let parts = stem.parts(separatedBy: "-")
    guard parts.count == 4, parts.allSatisfy({ $0.utf8.count == 16 }),
      let first = Self.decimal(parts[0]), let last = Self.decimal(parts[1]),
      let root = Self.prefix(parts[2]), let content = Self.prefix(parts[3]),
      first >= 1, last <= Limits.numberMax, first <= last + 1
    else { return nil }
    self.init(first: first, last: last, root: root, content: content)
  }

  package var text: String { stem + Self.ending }

  /// The name without its ending.
  package var stem: String { "\(Self.digits(first))-\(Self.digits(last))-\(root.text)-\(content.text)" }

  package var commits: UInt64 { last + 1 - first }
  package var isEnd: Bool { commits == 0 }

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func decimal(_ digits: Substring) -> UInt64? {
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return UInt64(digits)
  }

  /// Parses lower-case hexadecimal digits only, so that each name has one spelling.
  private static func prefix(_ digits: Substring) -> RootPrefix? {
    guard let bytes = Hexadecimal.bytes(digits), Hexadecimal.text(bytes) == digits else { return nil }
    return RootPrefix(word: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }
}

/// The name of an object, taken apart.
package struct ObjectPath {
  package enum File {
    case run(RunFileName)
    case copy(RunFileName)
    case checkpoint(RunFileName)
    case evidence(RunFileName)

    package init?(_ name: some StringProtocol) {
      let name = String(name)
      if let run = RunFileName(name) {
        self = .run(run)
      } else if let copy = RunFileName(copy: name) {
        self = .copy(copy)
      } else if let checkpoint = RunFileName(name, ending: ObjectPath.checkpointEnding) {
        self = .checkpoint(checkpoint)
      } else if let evidence = RunFileName(name, ending: ObjectPath.evidenceEnding) {
        self = .evidence(evidence)
      } else {
        return nil
      }
    }
  }

  /// The endings of the files beside run files: checkpoints, and proofs that a device signed two histories.
  package static let (checkpointEnding, evidenceEnding) = (".checkpoint", ".proof")

  package let writer: ReplicaID
  package let stream: ReplicaID
  /// `nil` for a name that is none of the layout.
  package let file: File?

  /// Takes a name apart; `nil` if it does not begin with a writer and a stream, or is not of three parts.
  package init?(_ name: String) {
    let parts = name[...].parts(separatedBy: "/")
    guard parts.count == 3, let writer = Self.replica(parts[0]), let stream = Self.replica(parts[1]) else {
      return nil
    }
    self.writer = writer
    self.stream = stream
    file = File(parts[2])
  }

  /// The folder of key epochs and admissions.
  package static let keysFolder = "keys"

  /// Parses the name of a key epoch's object.
  package static func epoch(_ name: some StringProtocol) -> EpochID? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == keysFolder, let bytes = Hexadecimal.bytes(parts[1]),
      let id = EpochID(bytes: bytes), id.objectName == name
    else { return nil }
    return id
  }

  /// Whether a name is one that Heartlog gives to an object, or that a program which syncs folders gave to a copy of one.
  package static func isObjectOrCopy(_ name: String) -> Bool { isKey(name) || ObjectPath(name)?.file != nil }

  /// Whether a name is one that Heartlog gives to an object of a hub. A hub has no copies: no program that syncs folders ever sees it.
  package static func isObject(_ name: String) -> Bool {
    guard name.utf8.count <= HubLimits.nameBytesMax else { return false }
    if name.hasPrefix("\(keysFolder)/") { return isKey(name) }
    return switch ObjectPath(name)?.file {
    case .run, .checkpoint, .evidence: true
    case .copy, nil: false
    }
  }

  /// Whether a name is that of a key epoch or of an admission to one.
  package static func isKey(_ name: String) -> Bool {
    let parts = name[...].parts(separatedBy: "-")
    return epoch(parts[0]) != nil && (parts.count == 1 || parts.count == 2 && replica(parts[1]) != nil)
  }

  /// Parses a part of 32 lower-case hexadecimal digits.
  package static func replica(_ name: some StringProtocol) -> ReplicaID? {
    guard name.utf8.count == 32, let replica = ReplicaID(String(name)), replica.description == name else {
      return nil
    }
    return replica
  }
}

/// The first eight bytes of a root: enough to detect streams that diverged by accident.
package struct RootPrefix: Hashable, Sendable {
  /// The bytes as a little-endian number, so that `u64` writes them in their order.
  package let word: UInt64

  package init(word: UInt64) { self.word = word }

  package init(_ root: Digest) {
    word = UInt64(littleEndian: root.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
  }

  /// The bytes in order, as 16 hexadecimal digits.
  package var text: String { Hexadecimal.text(word.littleEndianBytes) }
}

extension Substring {
  /// The parts between a separator of ASCII, empty ones included. In names, which are of ASCII, bytes are found faster than characters.
  package func parts(separatedBy separator: Unicode.Scalar, maxSplits: Int = .max) -> [Substring] {
    utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: false)
      .map { Substring($0) }
  }
}
