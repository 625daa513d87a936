import HeartlogEvents

/// A frame of a stream with its contents. Small, whatever it holds: it passes through many hands.
enum StoredFrame {
  /// One commit, and the secret that its salts come from.
  indirect case row(Commit, secret: SegmentSecret)
  /// One commit or some that follow each other, where they lie. Only for readers that ask for it.
  indirect case rows(CommitRows, from: SegmentCursor)
  /// Commits that follow each other.
  indirect case block(ColumnBlock)
  /// A record that carries no commits: kept at its place, not understood by this version.
  case record(kind: UInt8, body: Frame.Body)

  /// The commits that it holds, which follow each other, and the secrets that their salts come from; nil for what holds none.
  var commits: (commits: [Commit], secrets: [SegmentSecret])? {
    switch self {
    case .row(let commit, let secret): ([commit], [secret])
    case .rows(let rows, let cursor):
      (rows.withRows { $0.map { $0.commit() } }, [Self.secret(of: cursor.header)])
    case .block(let block): (block.commits(), block.secrets)
    case .record: nil
    }
  }

  /// What the salts of an open segment's commits come from.
  private static func secret(of header: SegmentHeader) -> SegmentSecret {
    SegmentSecret(firstCommit: header.firstCommit, kind: .whole(header.secret))
  }

  /// Decodes the frame that `cursor` looks at.
  ///
  /// - Parameter headsBefore: what a block's heads must be, where known.
  static func decode(
    _ frame: FrameHeader, at cursor: SegmentCursor, headsBefore: [Head]?
  ) throws(MalformedError) -> StoredFrame {
    let header = cursor.header
    let result: Result<StoredFrame, MalformedError> = cursor.withBody(of: frame) { body in
      Result { () throws(MalformedError) in
        switch frame.kind {
        case FrameHeader.Kind.commit:
          guard header.kind == .open else { throw MalformedError("a single commit in a sealed segment") }
          let row = try Frame.expand(body, isCompressed: frame.isCompressed, limit: Limits.commitBytesMax)
          let commit = try RowEncoding.decode(row, replica: header.replica, number: frame.firstCommit)
          return .row(commit, secret: secret(of: header))
        case FrameHeader.Kind.block:
          guard !frame.isCompressed else { throw MalformedError("a block compressed as a whole") }
          let block = try BlockEncoding.decodeColumns(
            body, replica: header.replica, firstCommit: frame.firstCommit, commitCount: Int(frame.commitCount)
          )
          guard headsBefore == nil || block.headsAtStart == headsBefore else {
            throw MalformedError("a block whose heads are not those of the commits before it")
          }
          return .block(block)
        default:
          return .record(
            kind: frame.kind, body: Frame.Body(stored: Array(body), flags: frame.flags))
        }
      }
    }
    return try result.get()
  }
}

extension RowEncoding {
  static func decode(_ row: [UInt8], replica: ReplicaID, number: CommitNumber) throws(MalformedError)
    -> Commit
  {
    let result: Result<Commit, MalformedError> = row.withUnsafeBytes { bytes in
      Result { () throws(MalformedError) in try decode(bytes, replica: replica, number: number) }
    }
    return try result.get()
  }
}
