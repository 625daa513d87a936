import Heartlog
import HeartlogFormat

extension Message {
  /// Thrown for a greeting in a version that this program does not speak.
  struct OtherVersion: Error {
    let version: UInt8
    /// What this program speaks.
    let known: ClosedRange<UInt8>
  }

  /// Decodes a payload.
  ///
  /// - Parameter answering: the number of streams that the calling end announced; an answer has a state for
  ///   each.
  ///   - version: the version of the dialogue. A greeting has its own.
  /// - Throws: `MalformedError`, `OtherVersion`.
  init(_ kind: Kind, payload: [UInt8], answering: Int = 0, version: UInt8 = Message.version) throws {
    self = try payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let message = try Message(kind, &reader, answering: answering, version: version)
      try reader.end()
      return message
    }
  }

  private init(_ kind: Kind, _ reader: inout ByteReader, answering: Int, version: UInt8) throws {
    switch kind {
    case .versions:
      self = .versions(least: try reader.u8(), most: try reader.u8())
    case .heads:
      let greeting = try Greeting(&reader)
      let heads = try ShippedHead.list(&reader, greeting.version)
      self = .heads(Heads(greeting: greeting, heads: heads))
    case .answer:
      let greeting = try Greeting(&reader)
      var states: [Answer.State] = []
      for _ in 0..<answering { states.append(try Answer.State(&reader, greeting.version)) }
      let heads = try ShippedHead.list(&reader, greeting.version)
      self = .answer(Answer(greeting: greeting, states: states, heads: heads))
    case .probe:
      let count = try reader.count(atMost: Message.listMax, "places of a probe")
      var positions: [ProbePosition] = []
      for _ in 0..<count {
        positions.append(ProbePosition(stream: try reader.streamIndex(), commit: try reader.commit()))
      }
      self = .probe(positions)
    case .roots:
      let count = try reader.count(atMost: Message.listMax, "roots")
      var roots: [RootPrefix] = []
      for _ in 0..<count { roots.append(RootPrefix(word: try reader.u64())) }
      self = .roots(roots)
    case .ends:
      let count = try reader.count(atMost: Message.listMax, "streams that end")
      var ends: [StreamEnd] = []
      for _ in 0..<count { ends.append(try StreamEnd(&reader)) }
      self = .ends(ends)
    case .wants:
      let count = try reader.count(atMost: Message.listMax, "streams wanted")
      var streams: [Int] = []
      for _ in 0..<count {
        let stream = try reader.streamIndex()
        guard stream > streams.last ?? -1 else { throw MalformedError("wanted streams that do not rise") }
        streams.append(stream)
      }
      self = .wants(streams)
    case .checkpoints:
      guard version >= 2 else { throw MalformedError("checkpoints in version \(version)") }
      let count = try reader.count(atMost: Message.listMax, "checkpoints")
      var checkpoints: [ShippedCheckpoint] = []
      for _ in 0..<count { checkpoints.append(try ShippedCheckpoint(&reader)) }
      self = .checkpoints(checkpoints)
    case .evidence:
      guard version >= 2 else { throw MalformedError("evidence in version \(version)") }
      let count = try reader.count(atMost: Message.listMax, "forked streams")
      var evidence: [ShippedEvidence] = []
      for _ in 0..<count {
        evidence.append(
          ShippedEvidence(stream: try reader.streamIndex(), proof: Array(try reader.lengthAndBytes())))
      }
      self = .evidence(evidence)
    case .run: self = .run(try ShippedRun(&reader, version))
    case .done: self = .done(commits: try reader.varint(), events: try reader.varint())
    case .failed:
      guard let code = ErrorCode(rawValue: try reader.u8()) else {
        throw MalformedError("an unknown failure")
      }
      self = .failed(code, try reader.sentence())
    case .pairing: self = .pairing(try PairingGreeting(&reader))
    case .member: self = .member(Array(try reader.take(Member.byteCount)))
    case .epoch: self = .epoch(Array(try reader.take(reader.rest.count)))
    case .head:
      guard let id = EpochID(bytes: try reader.take(EpochID.byteCount)) else {
        throw MalformedError("an epoch's id of another length")
      }
      self = .head(id)
    case .refused: self = .refused(try reader.sentence())
    }
  }
}

extension ByteReader {
  /// Reads the sentence with which an end gives up.
  fileprivate mutating func sentence() throws(MalformedError) -> String {
    let sentence = try text()
    guard sentence.utf8.count <= Message.sentenceBytesMax else {
      throw MalformedError("a failure of \(sentence.utf8.count) bytes")
    }
    return sentence
  }

  /// Reads a stream's index in the list.
  fileprivate mutating func streamIndex() throws(MalformedError) -> Int {
    try count(atMost: Message.listMax - 1, "a place in the list")
  }

  fileprivate mutating func commit() throws(MalformedError) -> UInt64 {
    let commit = try varint()
    guard commit <= Limits.numberMax else { throw MalformedError("a commit number past 2^53") }
    return commit
  }
}

extension Message.Greeting {
  fileprivate init(_ reader: inout ByteReader) throws {
    guard try reader.take(Self.magic.count).elementsEqual(Self.magic) else {
      throw MalformedError("a greeting that is not Heartlog's")
    }
    version = try reader.u8()
    guard Message.versions.contains(version) else {
      throw Message.OtherVersion(version: version, known: Message.versions)
    }
    let flags = try reader.u8()
    let known: UInt8 = version == 1 ? 15 : flags & 16 == 0 ? 31 : 127
    guard flags & ~known == 0 else { throw MalformedError("unknown flags in a greeting") }
    isServing = flags & 1 != 0
    isPull = flags & 2 != 0
    isDryRun = flags & 4 != 0
    isReadOnly = flags & 8 != 0
    let own = try reader.count(atMost: Message.listMax, "a place in the list")
    self.own = own == 0 ? nil : own - 1
    let wallTime = try reader.varint()
    guard wallTime <= UInt64(Limits.timeMillisecondsMax) else {
      throw MalformedError("a wall time past the year 2999")
    }
    self.wallTime = Milliseconds(wallTime)
    guard flags & 16 != 0 else { return }
    joins = flags & 64 != 0
    vault = VaultMembership(try reader.vault(), isEstablished: flags & 32 != 0)
    for _ in 0..<(try reader.count(atMost: VaultMembership.formerMax, "former vaults")) {
      vault?.former.append(try reader.vault())
    }
  }
}

extension ShippedHead {
  fileprivate static func list(_ reader: inout ByteReader, _ version: UInt8) throws -> [ShippedHead] {
    let count = try reader.count(atMost: Message.streamsMax, "streams")
    var heads: [ShippedHead] = []
    for _ in 0..<count {
      let replica = try reader.replica()
      if let last = heads.last, last.replica >= replica {
        throw MalformedError("streams that are not sorted by replica")
      }
      heads.append(ShippedHead(replica: replica, position: try Position(&reader, version)))
    }
    return heads
  }
}

extension ShippedHead.Position {
  fileprivate init(_ reader: inout ByteReader, _ version: UInt8) throws {
    let value = try reader.varint()
    guard value >> 1 <= Limits.numberMax else { throw MalformedError("a commit number past 2^53") }
    let root = value >> 1 == 0 ? 0 : try reader.u64()
    self.init(commit: value >> 1, isEnded: value & 1 != 0, root: RootPrefix(word: root))
    guard version >= 2 else { return }
    let size = try reader.commit()
    guard size > 0 else { return }
    guard commit <= size else { throw MalformedError("commits beyond the checkpoint of their stream") }
    checkpoint = CheckpointName(size: size, note: RootPrefix(word: try reader.u64()))
  }
}

extension Message.Answer.State {
  fileprivate init(_ reader: inout ByteReader, _ version: UInt8) throws {
    switch try reader.u8() {
    case 0: self = .same
    case 1: self = .none
    case 2: self = .other(try ShippedHead.Position(&reader, version), isParted: false)
    case 3: self = .other(try ShippedHead.Position(&reader, version), isParted: true)
    case let state: throw MalformedError("a stream of state \(state)")
    }
  }
}

extension StreamEnd {
  fileprivate init(_ reader: inout ByteReader) throws {
    stream = try reader.streamIndex()
    commit = try reader.commit()
    switch try reader.u8() {
    case 0: rootAfter = nil
    case 1: rootAfter = RootPrefix(word: try reader.u64())
    case let kind: throw MalformedError("an end of kind \(kind)")
    }
  }
}

extension ShippedRun {
  /// The most full subtrees between two sizes: at most two of each height.
  private static let extensionRootsMax = 2 * 53

  fileprivate init(_ reader: inout ByteReader, _ version: UInt8) throws {
    stream = try reader.streamIndex()
    firstCommit = try reader.commit()
    commitCount = try reader.count(atMost: Limits.blockEventsMax, "commits of a run")
    guard firstCommit >= 1, commitCount >= 1, firstCommit <= Limits.numberMax - UInt64(commitCount - 1) else {
      throw MalformedError("a run of \(commitCount) commits from \(firstCommit) on")
    }
    let length = try reader.count(atMost: ShippedName.bytesMax + 1, "bytes of a name")
    if length == 0 {
      name = nil
    } else {
      guard let name = String(validating: try reader.take(length - 1), as: UTF8.self) else {
        throw MalformedError("a name that is not UTF-8")
      }
      try ShippedName.check(name)
      self.name = name
    }
    root = try reader.digest()
    if version >= 2 {
      var roots: [Digest] = []
      for _ in 0..<(try reader.count(atMost: Self.extensionRootsMax, "roots")) {
        roots.append(try reader.digest())
      }
      extensionRoots = roots
    } else {
      extensionRoots = nil
    }
    body = Array(reader.rest)
    _ = try reader.take(body.count)
  }
}
