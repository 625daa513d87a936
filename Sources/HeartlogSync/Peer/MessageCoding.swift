import Heartlog
import HeartlogFormat

extension Message {
  /// The most roots of one stream: at its head, and at distances from it that double.
  static let rootsMax = 55
  private static let headsBytesMax = 2 << 20

  /// The kind of a message as it is encoded, with the most bytes that its payload may have.
  enum Kind: UInt8, CaseIterable {
    case heads = 1
    case answer, wants, run, unreadable, facts, last, done, failed
    case member = 13
    // The first byte of what an end says must not occur in text that a shell prints before it, as that of `member` does.
    case pairing, epoch, head

    var payloadBytesMax: Int {
      switch self {
      // A greeting, and for each stream a replica, a commit, a root and a checkpoint.
      case .heads: Message.headsBytesMax
      case .answer: Message.headsBytesMax + 16 + Message.factsBytesMax
      case .wants: 16 + Message.listMax * 24
      // The columns of a block, its heads and secrets, and the fields in front of it.
      case .run: Limits.blockColumnsBytesMax + (4 << 20)
      case .last: 0
      case .facts, .done: 32 + Message.factsBytesMax
      case .unreadable, .failed: 16 + Message.sentenceBytesMax
      case .pairing: PairingGreeting.bytesMax
      case .member: Member.byteCount
      case .epoch: KeyEpoch.bytesMax
      case .head: EpochID.byteCount
      }
    }

    /// Whether the message is the first one of the end that is called.
    var isReply: Bool { self == .answer || self == .pairing }
  }

  var kind: Kind {
    switch self {
    case .heads: .heads
    case .answer: .answer
    case .wants: .wants
    case .run: .run
    case .unreadable: .unreadable
    case .facts: .facts
    case .last: .last
    case .done: .done
    case .failed: .failed
    case .pairing: .pairing
    case .member: .member
    case .epoch: .epoch
    case .head: .head
    }
  }

  func payload() -> [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .heads(let heads):
      heads.greeting.write(to: &writer)
      writer.list(heads.heads) { $0.write(to: &$1) }
      writer.list(heads.parted) { $1.varint($0) }
    case .answer(let answer):
      answer.greeting.write(to: &writer)
      for state in answer.states { state.write(to: &writer) }
      writer.list(answer.heads) { $0.write(to: &$1) }
      writer.list(answer.facts) { $0.write(to: &$1) }
      writer.text(answer.damage)
    case .wants(let wants):
      writer.list(wants) { want, writer in
        writer.varint(want.stream)
        writer.varint(want.commits.lowerBound)
        writer.varint(want.commits.upperBound)
      }
    case .run(let run): run.write(to: &writer)
    case .facts(let facts): writer.list(facts) { $0.write(to: &$1) }
    case .last: break
    case .done(let done):
      writer.varint(done.commits)
      writer.varint(done.events)
      writer.list(done.cosigned.sorted { $0.key < $1.key }) { cosigned, writer in
        writer.varint(cosigned.key)
        writer.lengthAndBytes(cosigned.value.bytes)
      }
    case .failed(let code, let sentence):
      writer.u8(code.rawValue)
      writer.text(sentence)
    case .pairing(let greeting): greeting.write(to: &writer)
    case .member(let bytes), .epoch(let bytes): writer.raw(bytes)
    case .head(let id): writer.raw(id.bytes)
    case .unreadable(let sentence): writer.text(sentence)
    }
    return writer.bytes
  }
}

extension Message.Greeting {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.raw(Self.magic)
    writer.u8(Message.version)
    writer.u8(
      (isServing ? 1 : 0) | (isPull ? 2 : 0) | (isDryRun ? 4 : 0) | (isReadOnly ? 8 : 0) | (joins ? 16 : 0))
    writer.varint(own.map { $0 + 1 } ?? 0)
    writer.varint(UInt64(min(max(0, wallTime), Limits.timeMillisecondsMax)))
    writer.vault(vault)
  }
}

extension ShippedHead {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.replica(replica)
    position.write(to: &writer)
  }
}

extension ShippedHead.Position {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.varint(commit << 1 | (isEnded ? 1 : 0))
    if commit > 0 { writer.u64(root.word) }
    writer.varint(checkpoint?.size ?? 0)
    if let checkpoint { writer.u64(checkpoint.note.word) }
  }
}

extension Message.Answer.State {
  fileprivate func write(to writer: inout ByteWriter) {
    switch self {
    case .same: writer.u8(0)
    case .none: writer.u8(1)
    case .other(let position):
      writer.u8(2)
      position.write(to: &writer)
    }
  }
}

extension StreamFacts {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.varint(stream)
    writer.u8(
      (checkpoint == nil ? 0 : 1) | (evidence == nil ? 0 : 2) | (end == nil ? 0 : 4) | (roots.isEmpty ? 0 : 8)
    )
    if let checkpoint {
      writer.raw(checkpoint.key.bytes)
      writer.lengthAndBytes(checkpoint.note.bytes)
    }
    if let evidence { writer.lengthAndBytes(evidence) }
    if let end { end.write(to: &writer) }
    if !roots.isEmpty { writer.list(roots) { $0.write(to: &$1) } }
  }

  fileprivate init(_ reader: inout ByteReader) throws {
    stream = try reader.streamIndex()
    let parts = try reader.u8()
    guard parts & ~15 == 0 else { throw MalformedError("unknown facts of a stream") }
    if parts & 1 != 0 {
      checkpoint = ShippedCheckpoint(
        key: try reader.publicKey(), note: try SignedNote(Array(try reader.lengthAndBytes())))
    }
    if parts & 2 != 0 { evidence = Array(try reader.lengthAndBytes()) }
    if parts & 4 != 0 { end = try CommitRoot(&reader) }
    if parts & 8 != 0 {
      roots = try reader.list(Message.rootsMax, "roots") { try CommitRoot(&$0) }
      guard !roots.isEmpty,
        zip([CommitRoot(commit: 0, root: RootPrefix(word: 0))] + roots, roots)
          .allSatisfy({ $0.commit < $1.commit })
      else { throw MalformedError("roots that do not rise") }
    }
  }

  fileprivate static func list(_ reader: inout ByteReader) throws -> [StreamFacts] {
    try reader.list(Message.listMax, "streams") { try StreamFacts(&$0) }
  }
}

extension CommitRoot {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.varint(commit)
    if commit > 0 { writer.u64(root.word) }
  }

  fileprivate init(_ reader: inout ByteReader) throws {
    commit = try reader.commit()
    root = RootPrefix(word: commit == 0 ? 0 : try reader.u64())
  }
}

extension ShippedRun {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.varint(stream)
    writer.varint(firstCommit)
    writer.varint(commitCount)
    assert((name != nil) == (firstCommit == 1), "the first run of a stream names it, and no other")
    if let name { writer.text(name) }
    writer.raw(root)
    writer.extensionRoots(extensionRoots)
    writer.raw(body)
  }
}

extension Message {
  /// Decodes a payload.
  ///
  /// - Parameter answering: the number of streams that the calling end announced; an answer has a state for
  ///   each.
  /// - Throws: `MalformedError`; `newerFormat` for a greeting in a version that this program does not speak.
  init(_ kind: Kind, payload: [UInt8], answering: Int = 0) throws {
    self = try payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let message = try Message(kind, &reader, answering: answering)
      try reader.end()
      return message
    }
  }

  private init(_ kind: Kind, _ reader: inout ByteReader, answering: Int) throws {
    switch kind {
    case .heads:
      let greeting = try Greeting(&reader)
      let heads = try ShippedHead.list(&reader)
      let parted = try reader.list(Message.streamsMax, "streams") { try $0.streamIndex() }
      guard zip(parted, parted.dropFirst()).allSatisfy({ $0 < $1 }), parted.last ?? -1 < heads.count else {
        throw MalformedError("streams of another history that do not rise")
      }
      self = .heads(Heads(greeting: greeting, heads: heads, parted: parted))
    case .answer:
      let greeting = try Greeting(&reader)
      var answer = Answer(greeting: greeting, states: [], heads: [])
      for _ in 0..<answering { answer.states.append(try Answer.State(&reader)) }
      answer.heads = try ShippedHead.list(&reader)
      answer.facts = try StreamFacts.list(&reader)
      answer.damage = try reader.sentence()
      self = .answer(answer)
    case .wants:
      self = .wants(
        try reader.list(Message.listMax, "streams wanted") { reader in
          let (stream, first, last) = (try reader.streamIndex(), try reader.commit(), try reader.commit())
          guard 1 <= first, first <= last else { throw MalformedError("commits from \(first) to \(last)") }
          return Want(stream: stream, commits: first...last)
        })
    case .run: self = .run(try ShippedRun(&reader))
    case .unreadable: self = .unreadable(try reader.sentence())
    case .facts: self = .facts(try StreamFacts.list(&reader))
    case .last: self = .last
    case .done:
      var done = Done(commits: try reader.varint(), events: try reader.varint())
      let cosigned = try reader.list(Message.listMax, "checkpoints") { reader in
        (try reader.streamIndex(), try SignedNote(Array(try reader.lengthAndBytes())))
      }
      guard zip(cosigned, cosigned.dropFirst()).allSatisfy({ $0.0 < $1.0 }) else {
        throw MalformedError("cosigned checkpoints that do not rise")
      }
      done.cosigned = Dictionary(uniqueKeysWithValues: cosigned)
      self = .done(done)
    case .failed:
      guard let code = ErrorCode(rawValue: try reader.u8()) else {
        throw MalformedError("an unknown failure")
      }
      self = .failed(code, try reader.sentence())
    case .pairing: self = .pairing(try PairingGreeting(&reader))
    case .member: self = .member(Array(try reader.take(Member.byteCount)))
    case .epoch: self = .epoch(Array(try reader.take(reader.rest.count)))
    case .head:
      self = .head(try reader.epochID())
    }
  }
}

extension ByteWriter {
  /// A count, and that many elements.
  fileprivate mutating func list<Element>(
    _ elements: [Element], _ write: (Element, inout ByteWriter) -> Void
  ) {
    varint(elements.count)
    for element in elements { write(element, &self) }
  }
}

extension ByteReader {
  /// Reads a count, and that many elements.
  fileprivate mutating func list<Element>(
    _ most: Int, _ name: StaticString, _ read: (inout ByteReader) throws -> Element
  ) throws -> [Element] {
    var elements: [Element] = []
    for _ in 0..<(try count(atMost: most, name)) { elements.append(try read(&self)) }
    return elements
  }

  /// Reads the sentence with which an end gives up.
  fileprivate mutating func sentence() throws(MalformedError) -> String {
    let sentence = try text()
    guard sentence.utf8.count <= Message.sentenceBytesMax else {
      throw MalformedError("a failure of \(sentence.utf8.count) bytes")
    }
    return sentence
  }

  /// Reads the version of a greeting.
  ///
  /// - Throws: `newerFormat` for another one than this program speaks.
  mutating func greetingVersion() throws {
    let version = try u8()
    guard version == Message.version else {
      throw HeartlogError(
        .newerFormat, "the peer uses protocol version \(version); this Heartlog uses \(Message.version)")
    }
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
    try reader.greetingVersion()
    let flags = try reader.u8()
    guard flags & ~31 == 0 else { throw MalformedError("unknown flags in a greeting") }
    isServing = flags & 1 != 0
    isPull = flags & 2 != 0
    isDryRun = flags & 4 != 0
    isReadOnly = flags & 8 != 0
    joins = flags & 16 != 0
    let own = try reader.count(atMost: Message.listMax, "a place in the list")
    self.own = own == 0 ? nil : own - 1
    let wallTime = try reader.varint()
    guard wallTime <= UInt64(Limits.timeMillisecondsMax) else {
      throw MalformedError("a wall time past the year 2999")
    }
    self.wallTime = Milliseconds(wallTime)
    vault = try reader.vaultMembership()
  }
}

extension ShippedHead {
  fileprivate static func list(_ reader: inout ByteReader) throws -> [ShippedHead] {
    var last: ReplicaID?
    return try reader.list(Message.streamsMax, "streams") { reader in
      let replica = try reader.replica()
      guard last.map({ $0 < replica }) ?? true else {
        throw MalformedError("streams that are not sorted by replica")
      }
      last = replica
      return ShippedHead(replica: replica, position: try Position(&reader))
    }
  }
}

extension ShippedHead.Position {
  fileprivate init(_ reader: inout ByteReader) throws {
    let value = try reader.varint()
    guard value >> 1 <= Limits.numberMax else { throw MalformedError("a commit number past 2^53") }
    let root = value >> 1 == 0 ? 0 : try reader.u64()
    self.init(commit: value >> 1, isEnded: value & 1 != 0, root: RootPrefix(word: root))
    let size = try reader.commit()
    guard size > 0 else { return }
    guard commit <= size else { throw MalformedError("commits beyond the checkpoint of their stream") }
    checkpoint = CheckpointName(size: size, note: RootPrefix(word: try reader.u64()))
  }
}

extension Message.Answer.State {
  fileprivate init(_ reader: inout ByteReader) throws {
    switch try reader.u8() {
    case 0: self = .same
    case 1: self = .none
    case 2: self = .other(try ShippedHead.Position(&reader))
    case let state: throw MalformedError("a stream of state \(state)")
    }
  }
}

extension ShippedRun {
  fileprivate init(_ reader: inout ByteReader) throws {
    stream = try reader.streamIndex()
    firstCommit = try reader.commit()
    commitCount = try reader.count(atMost: Limits.blockEventsMax, "commits of a run")
    guard firstCommit >= 1, commitCount >= 1, firstCommit <= Limits.numberMax - UInt64(commitCount - 1) else {
      throw MalformedError("a run of \(commitCount) commits from \(firstCommit) on")
    }
    name = firstCommit == 1 ? try reader.text() : nil
    if let name { try ShippedName.check(name) }
    root = try reader.digest()
    extensionRoots = try reader.extensionRoots()
    body = Array(reader.rest)
    _ = try reader.take(body.count)
  }
}
