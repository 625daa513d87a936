import HeartlogEvents
import HeartlogFiles

/// Where a stream was ended whose file `ended` is damaged. Source: docs/format.md, "Repair".
enum StreamEndEvidence {
  enum Verdict: Equatable {
    /// The stream was ended here.
    case ended(StreamEnd)
    /// All that is here of the stream lies in front of its end.
    case isAllCommon
    /// The stream is damaged itself before anything tells.
    case unknown
  }

  /// - Parameters:
  ///   - bytes: what is left of the file.
  ///   - streams: those that have commits here.
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
        // The first that tells: a stream that was ended twice was ended in front of its first end.
        branched = try commits.first { commit in
          let branch = StreamBranch(
            of: replica, firstCommit: commit.number, firstSequence: commit.firstSequence,
            leaf: try commit.leafHash(salts: &salts, hasher: &hasher))
          return streams.contains(branch.replica)
        }.map { $0.number.rawValue - 1 }
      }
    }
    if let end = legibleEnd(bytes, upTo: reader.tail.next.rawValue - 1) { return .ended(end) }
    if let branched { return .ended(StreamEnd(commit: branched)) }
    return isSound ? .isAllCommon : .unknown
  }

  /// The end whose checksum line is whole, be the rest as it may.
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
