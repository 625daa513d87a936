import HeartlogFormat

/// A decoded frame of a stream. The value is kept small because it is passed through many calls.
enum StoredFrame {
  /// One commit and the segment secret from which its salts are derived.
  indirect case row(Commit, secret: SegmentSecret)
  /// One or more consecutive commits, not copied out of the window. Only for readers that ask for it.
  indirect case rows(CommitRows, from: SegmentCursor)
  /// Consecutive commits.
  indirect case block(ColumnBlock)
  /// A record without commits. It is kept, although this version does not know its kind.
  case record(kind: UInt8, body: Frame.Body)

  /// The consecutive commits of the frame and the segment secrets from which their salts are derived; nil if it contains
  /// none.
  var commits: (commits: [Commit], secrets: [SegmentSecret])? {
    switch self {
    case .row(let commit, let secret): ([commit], [secret])
    case .rows(let rows, let cursor):
      (rows.withRows { $0.map { $0.commit() } }, [Self.secret(of: cursor.header)])
    case .block(let block): (block.commits(), block.secrets)
    case .record: nil
    }
  }

  /// The secret from which the salts of an open segment's commits are derived.
  private static func secret(of header: SegmentHeader) -> SegmentSecret {
    SegmentSecret(firstCommit: header.firstCommit, kind: .whole(header.secret))
  }

  /// Decodes the frame that `cursor` looks at.
  ///
  /// - Parameter headsBefore: The expected heads at the start of a block, if known.
  static func decode(
    _ frame: FrameHeader, at cursor: SegmentCursor, headsBefore: [Head]?
  ) throws(MalformedError) -> StoredFrame {
    let header = cursor.header
    return try cursor.withBody(of: frame) { (body) throws(MalformedError) in
      switch frame.kind {
      case FrameHeader.Kind.commit:
        guard let row = try cursor.commitRow(of: frame) else {
          preconditionFailure("a frame with a commit")
        }
        let commit = row.commit()
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
}
