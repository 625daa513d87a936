import Heartlog
import HeartlogFormat

extension Message {
  /// The kind of a message as it is encoded, with the most bytes that its payload may have.
  enum Kind: UInt8, CaseIterable {
    case versions = 0
    case heads, answer, probe, roots, ends, wants, run, done, failed, checkpoints, evidence
    case member = 13
    // The first byte of what an end says must not occur in text that a shell prints before it, as that of `member` does.
    case pairing, epoch, head, refused

    var payloadBytesMax: Int {
      switch self {
      case .versions: 2
      // A greeting, and for each stream a replica, a commit and a root.
      case .heads, .answer: 2 << 20
      case .probe, .ends: 16 + Message.listMax * 24
      case .roots: 16 + Message.listMax * 8
      case .wants: 16 + Message.listMax * 3
      // The columns of a block, its heads and secrets, and the fields in front of it.
      case .run: Limits.blockColumnsBytesMax + (4 << 20)
      case .done: 20
      case .evidence: 16 + Message.evidenceBytesMax
      case .checkpoints: 16 + Message.checkpointsBytesMax
      case .failed, .refused: 16 + Message.sentenceBytesMax
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
    case .versions: .versions
    case .heads: .heads
    case .answer: .answer
    case .probe: .probe
    case .roots: .roots
    case .ends: .ends
    case .wants: .wants
    case .checkpoints: .checkpoints
    case .evidence: .evidence
    case .run: .run
    case .done: .done
    case .failed: .failed
    case .pairing: .pairing
    case .member: .member
    case .epoch: .epoch
    case .head: .head
    case .refused: .refused
    }
  }

  func payload() -> [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .versions(let least, let most):
      writer.u8(least)
      writer.u8(most)
    case .heads(let heads):
      heads.greeting.write(to: &writer)
      writer.varint(heads.heads.count)
      for head in heads.heads { head.write(to: &writer, version: heads.greeting.version) }
    case .answer(let answer):
      answer.greeting.write(to: &writer)
      let version = answer.greeting.version
      for state in answer.states { state.write(to: &writer, version: version) }
      writer.varint(answer.heads.count)
      for head in answer.heads { head.write(to: &writer, version: version) }
    case .probe(let positions):
      writer.varint(positions.count)
      for position in positions {
        writer.varint(position.stream)
        writer.varint(position.commit)
      }
    case .roots(let roots):
      writer.varint(roots.count)
      for root in roots { writer.u64(root.word) }
    case .ends(let ends):
      writer.varint(ends.count)
      for end in ends {
        writer.varint(end.stream)
        writer.varint(end.commit)
        writer.u8(end.rootAfter == nil ? 0 : 1)
        if let root = end.rootAfter { writer.u64(root.word) }
      }
    case .wants(let streams):
      writer.varint(streams.count)
      for stream in streams { writer.varint(stream) }
    case .checkpoints(let checkpoints):
      writer.varint(checkpoints.count)
      for checkpoint in checkpoints { checkpoint.write(to: &writer) }
    case .evidence(let evidence):
      writer.varint(evidence.count)
      for shown in evidence {
        writer.varint(shown.stream)
        writer.lengthAndBytes(shown.proof)
      }
    case .run(let run): run.write(to: &writer)
    case .done(let commits, let events):
      writer.varint(commits)
      writer.varint(events)
    case .failed(let code, let sentence):
      writer.u8(code.rawValue)
      writer.text(sentence)
    case .pairing(let greeting): greeting.write(to: &writer)
    case .member(let bytes), .epoch(let bytes): writer.raw(bytes)
    case .head(let id): writer.raw(id.bytes)
    case .refused(let sentence): writer.text(sentence)
    }
    return writer.bytes
  }
}

extension Message.Greeting {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.raw(Self.magic)
    writer.u8(version)
    var flags: UInt8 = (isServing ? 1 : 0) | (isPull ? 2 : 0) | (isDryRun ? 4 : 0) | (isReadOnly ? 8 : 0)
    let vault = version >= 2 ? vault : nil
    if let vault { flags |= 16 | (vault.isEstablished ? 32 : 0) | (joins ? 64 : 0) }
    writer.u8(flags)
    writer.varint(own.map { $0 + 1 } ?? 0)
    writer.varint(UInt64(min(max(0, wallTime), Limits.timeMillisecondsMax)))
    if let vault {
      writer.raw(vault.id.bytes)
      writer.varint(vault.former.count)
      for former in vault.former { writer.raw(former.bytes) }
    }
  }
}

extension ShippedHead {
  fileprivate func write(to writer: inout ByteWriter, version: UInt8) {
    writer.replica(replica)
    position.write(to: &writer, version: version)
  }
}

extension ShippedHead.Position {
  fileprivate func write(to writer: inout ByteWriter, version: UInt8) {
    writer.varint(commit << 1 | (isEnded ? 1 : 0))
    if commit > 0 { writer.u64(root.word) }
    guard version >= 2 else { return }
    writer.varint(checkpoint?.size ?? 0)
    if let checkpoint { writer.u64(checkpoint.note.word) }
  }
}

extension Message.Answer.State {
  fileprivate func write(to writer: inout ByteWriter, version: UInt8) {
    switch self {
    case .same: writer.u8(0)
    case .none: writer.u8(1)
    case .other(let position, let isParted):
      writer.u8(isParted ? 3 : 2)
      position.write(to: &writer, version: version)
    }
  }
}

extension ShippedRun {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.varint(stream)
    writer.varint(firstCommit)
    writer.varint(commitCount)
    if let name {
      writer.varint(name.utf8.count + 1)
      writer.raw(Array(name.utf8))
    } else {
      writer.varint(0)
    }
    writer.raw(root)
    if let extensionRoots {
      writer.extensionRoots(extensionRoots)
    }
    writer.raw(body)
  }
}
