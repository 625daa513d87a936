import HeartlogFormat
import HeartlogFiles

/// Determines where a stream was ended if its file `ended` is damaged. Source: docs/format.md, "Repair".
enum StreamEndEvidence {
  enum Verdict: Equatable {
    /// The stream was ended here.
    case ended(StreamEnd)
    /// All commits of the stream in this store are before its end.
    case isAllCommon
    /// The stream itself is damaged before any evidence is found.
    case unknown
  }

  /// Returns where a stream was ended.
  ///
  /// - Parameters:
  ///   - bytes: What is left of the file.
  ///   - streams: The streams that have commits in this store.
  static func verdict(
    of replica: ReplicaID, bytes: [UInt8], streams: Set<ReplicaID>, in directory: StoreDirectory
  ) throws -> Verdict {
    let reader = StreamReader(
      directory, behind: StreamTail(replica: replica), at: nil, listing: StoreDirectory.StreamListing(),
      end: nil)
    var hasher = SHA256Hasher()
    var branched: UInt64?
    var isSound = true
    reading: while branched == nil {
      switch try reader.next() {
      case .end(.whole), .end(.unfinished): break reading
      case .end(.corrupt):
        isSound = false
        break reading
      case .frame(let frame, _):
        guard let (commits, secrets) = frame.commits else { continue }
        var salts = Salts(secrets)
        // The first match counts: a stream that was ended twice was ended the second time before its first
        // end.
        branched = try commits.first { commit in
          let branch = StreamBranch(
            of: replica, firstCommit: commit.number, firstSequence: commit.firstSequence,
            leaf: try commit.leafHash(salts: &salts, hasher: &hasher))
          return branch.isAmong(streams)
        }.map { $0.number.rawValue - 1 }
      }
    }
    if let end = legibleEnd(bytes, upTo: reader.tail.next.rawValue - 1) { return .ended(end) }
    if let branched { return .ended(StreamEnd(commit: branched)) }
    return isSound ? .isAllCommon : .unknown
  }

  /// Returns the end if the file's checksum line is complete, whatever the rest contains.
  private static func legibleEnd(_ bytes: [UInt8], upTo last: UInt64) -> StreamEnd? {
    let found = bytes.suffix(ChecksummedText.checksumLineBytes)
    guard ChecksummedText.value(of: "checksum", in: found) != nil else { return nil }
    func holds(_ commit: UInt64) -> Bool {
      StreamEnd(commit: commit).encoded().suffix(ChecksummedText.checksumLineBytes) == found
    }
    let named = bytes.split(separator: UInt8(ascii: "\n")).lazy
      .compactMap { ChecksummedText.value(of: "ended", in: $0).flatMap { UInt64($0) } }.first
    if let named, holds(named) { return StreamEnd(commit: named) }
    return (0...last).first(where: holds).map { StreamEnd(commit: $0) }
  }
}
