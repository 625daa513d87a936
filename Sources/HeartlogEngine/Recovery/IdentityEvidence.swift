import HeartlogFiles
import HeartlogFormat

/// Evidence in a store's folder of which replica wrote it, for a damaged or missing file `store`. Source: docs/format.md, "Repair".
struct IdentityEvidence {
  /// The remaining bytes of the file `store`; nil if it is missing.
  let bytes: [UInt8]?
  /// The streams with a readable segment header, and the replica name in the last such header.
  private(set) var names: [ReplicaID: String] = [:]
  /// The streams whose tail was written in this folder or in the one it was copied from: received commits are stored as blocks.
  private var written: [ReplicaID] = []
  private var remains = Remains()
  private let page: StoreLock.Page
  private let directory: StoreDirectory

  /// Collects the evidence in a folder.
  ///
  /// - Throws: `newerFormat` if a segment header is of a later version.
  init(_ directory: StoreDirectory, bytes: [UInt8]?, page: StoreLock.Page) throws(HeartlogError) {
    self.directory = directory
    self.bytes = bytes
    self.page = page
    if let bytes { remains = Remains(bytes) }
    for replica in try directory.replicas() { try look(at: replica) }
  }

  private mutating func look(at replica: ReplicaID) throws(HeartlogError) {
    let segments = try directory.segments(of: replica)
    for segment in segments {
      let cursor: SegmentCursor
      do { cursor = try directory.cursor(of: segment, in: replica) } catch {
        guard error.isNotFound || error.code == .corrupt else { throw error }
        continue
      }
      guard cursor.header.replica == replica else { continue }
      names[replica] = cursor.header.replicaName
      guard segment == segments.last, cursor.header.kind == .open else { continue }
      if case .frame(let frame) = try cursor.look(), frame.kind == FrameHeader.Kind.commit {
        written.append(replica)
      }
    }
  }

  /// Returns the replica that the file named, if that is certain; nil if the store must become a new replica.
  ///
  /// The file's checksum does not match, so each line must be proven by something else. If the machine's hash, the inode and the
  /// birth time in nanoseconds equal the present ones, that cannot be the result of damage: then this is the folder that wrote the
  /// store, not a copy. The same is true of a replica that a stream's header or the lock page names.
  func provenReplica(at location: StoreIdentity.Location) throws(HeartlogError) -> ReplicaID? {
    guard let replica = remains.replica, let recorded = remains.location, recorded == location,
      location.birthTime != 0, !directory.fileSystem.machineID.isEmpty,
      page.replica == replica || (page.replica == Self.noReplica && names[replica] != nil),
      try !directory.listing(of: replica).hasEnd
    else { return nil }
    return replica
  }

  /// The replica as which the store last wrote, as far as can be determined. It is only reported, and its name is reused.
  var formerReplica: ReplicaID? {
    if names[page.replica] != nil { return page.replica }
    if let replica = remains.replica, names[replica] != nil { return replica }
    return written.count == 1 ? written.first : nil
  }

  /// The user-visible name of the store; nil if it is unknown.
  var name: String? { formerReplica.flatMap { names[$0] } ?? remains.name }

  /// Stands for no replica: a replica id of only zeros is never drawn.
  static let noReplica = ReplicaID(high: 0, low: 0)

  /// The readable lines of a damaged file. None of them is certain.
  private struct Remains {
    var replica: ReplicaID?
    var name: String?
    var location: StoreIdentity.Location?

    init() {}

    init(_ bytes: [UInt8]) {
      var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // If the file was cut, its last line may be incomplete. The location is compared as a whole, so its line may be the last one.
      let cut = lines.popLast() ?? []
      func value(_ key: String, mayBeCut: Bool = false) -> String? {
        (lines + (mayBeCut ? [cut] : [])).lazy.compactMap { ChecksummedText.value(of: key, in: $0) }.first
      }
      replica = value("replica").flatMap { ReplicaID($0) }
      name = value("name").flatMap { StoreIdentity.isName($0) ? $0 : nil }
      if let machine = value("machine").flatMap({ Digest($0) }),
        let inode = value("inode").flatMap({ UInt64($0) }),
        let birth = value("birth", mayBeCut: true).flatMap({ Int64($0) })
      {
        location = StoreIdentity.Location(machine: machine, inode: inode, birthTime: birth)
      }
    }
  }
}

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
      case .end(let finding):
        isSound = finding?.isCorrupt != true
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
