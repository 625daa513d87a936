/// The secrets of a block as bytes: see "Block encoding" in docs/format.md.
enum SecretsEncoding {
  private static let whole: UInt8 = 0
  private static let parts: UInt8 = 1

  static func write(_ secrets: [SegmentSecret], to writer: inout ByteWriter) {
    writer.varint(secrets.count)
    for secret in secrets {
      writer.varint(secret.firstCommit.rawValue)
      switch secret.kind {
      case .whole(let digest):
        writer.u8(whole)
        writer.raw(digest)
      case .runs(let runs):
        writer.u8(parts)
        writer.varint(runs.count)
        for run in runs { write(run, to: &writer) }
      }
    }
  }

  private static func write(_ run: RunSecret, to writer: inout ByteWriter) {
    writer.varint(UInt64(run.run))
    switch run.kind {
    case .whole(let digest):
      writer.u8(whole)
      writer.raw(digest)
    case .salts(let salts):
      writer.u8(parts)
      writer.varint(salts.count)
      for salt in salts {
        writer.varint(salt.commit.rawValue)
        writer.varint(salt.event)
        salt.salt.withUnsafeBytes { writer.raw($0) }
      }
    }
  }

  /// Reads secrets; the commits that they cover are checked by `Block.validateSecrets`.
  static func read(
    from reader: inout ByteReader, commitCount: Int, eventCount: Int
  ) throws(MalformedError) -> [SegmentSecret] {
    // Each covers a commit, and takes at least 3 bytes.
    let count = try reader.count(atMost: min(commitCount, reader.remaining / 3), "secrets of a block")
    var secrets: [SegmentSecret] = []
    secrets.reserveCapacity(count)
    for _ in 0..<count {
      let firstCommit = CommitNumber(rawValue: try reader.varint())
      let isWhole = try isWhole(&reader)
      guard !isWhole else {
        secrets.append(SegmentSecret(firstCommit: firstCommit, kind: .whole(try reader.digest())))
        continue
      }
      let runCount = try reader.count(atMost: min(commitCount, reader.remaining / 3), "runs of a secret")
      var runs: [RunSecret] = []
      for _ in 0..<runCount { runs.append(try readRun(from: &reader, eventCount: eventCount)) }
      secrets.append(SegmentSecret(firstCommit: firstCommit, kind: .runs(runs)))
    }
    return secrets
  }

  private static func readRun(
    from reader: inout ByteReader, eventCount: Int
  ) throws(MalformedError) -> RunSecret {
    let run = UInt32(try reader.count(atMost: Int(UInt32.max), "a run of a secret"))
    if try isWhole(&reader) { return RunSecret(run: run, kind: .whole(try reader.digest())) }
    // A salt takes at least 18 bytes.
    let count = try reader.count(atMost: min(eventCount, reader.remaining / 18), "salts of a run")
    var salts: [EventSalt] = []
    salts.reserveCapacity(count)
    for _ in 0..<count {
      let commit = CommitNumber(rawValue: try reader.varint())
      let event = try reader.count(atMost: Limits.commitEventsMax - 1, "an event's place")
      salts.append(EventSalt(commit: commit, event: event, salt: Salt(try reader.take(16))))
    }
    return RunSecret(run: run, kind: .salts(salts))
  }

  private static func isWhole(_ reader: inout ByteReader) throws(MalformedError) -> Bool {
    let kind = try reader.u8()
    guard kind == whole || kind == parts else { throw MalformedError("a secret of kind \(kind)") }
    return kind == whole
  }
}
