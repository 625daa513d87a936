import HeartlogEvents
import HeartlogFiles

/// What a store's folder tells of who wrote to it, where the file `store` does not. Source: docs/format.md, "Repair".
struct IdentityEvidence {
  /// What is left of the file `store`; nil where it is missing.
  let bytes: [UInt8]?
  /// The streams of which a header can be read, and what the last of these calls their replica.
  private(set) var names: [ReplicaID: String] = [:]
  /// Those whose tail was written in this folder, or in the one that it is a copy of: what is received comes in blocks.
  private var written: [ReplicaID] = []
  private var remains = Remains()
  private let page: StoreLock.Page
  private let directory: StoreDirectory

  /// - Throws: `newerFormat` where a header is of a later version.
  init(_ directory: StoreDirectory, bytes: [UInt8]?, page: StoreLock.Page) throws {
    self.directory = directory
    self.bytes = bytes
    self.page = page
    if let bytes { remains = Remains(bytes) }
    for replica in try directory.replicas() { try look(at: replica) }
  }

  private mutating func look(at replica: ReplicaID) throws {
    let segments = try directory.segments(of: replica)
    for segment in segments {
      let path = directory.path(of: segment, in: replica)
      let file: any OpenFile
      do throws(FileError) { file = try directory.fileSystem.open(path, .read) } catch {
        if error.isNotFound { continue }
        throw error
      }
      let header: SegmentHeader
      do { header = try directory.header(of: file, path: path).header } catch {
        guard error.code == .corrupt else { throw error }
        continue
      }
      guard header.replica == replica else { continue }
      names[replica] = header.replicaName
      guard segment == segments.last, header.kind == .open else { continue }
      let cursor = SegmentCursor(file: file, path: path, header: header)
      if case .frame(let frame) = try cursor.look(), frame.kind == FrameHeader.Kind.commit {
        written.append(replica)
      }
    }
  }

  /// The replica that the file named, where that is certain; nil where the store must become a new one.
  ///
  /// The file's checksum does not hold, so each line must be proved by something else. A machine's hash, an inode and a time of birth in
  /// nanoseconds that are those found now cannot have come about by damage: then this is the folder that wrote, and no copy. Nor can a
  /// replica that a stream's header or the lock's page names.
  func provenReplica(at place: StoreIdentity.Place) throws(StorageError) -> ReplicaID? {
    guard let replica = remains.replica, let recorded = remains.place, recorded == place,
      place.birthTime != 0, !directory.fileSystem.machineID.isEmpty,
      page.replica == replica || (page.replica == Self.noReplica && names[replica] != nil),
      try !directory.listing(of: replica).hasEnd
    else { return nil }
    return replica
  }

  /// The replica as which the store wrote last, as far as can be told: it is only named, and its name taken over.
  var formerReplica: ReplicaID? {
    if names[page.replica] != nil { return page.replica }
    if let replica = remains.replica, names[replica] != nil { return replica }
    return written.count == 1 ? written.first : nil
  }

  /// What people called the store; nil where nothing says so.
  var name: String? { formerReplica.flatMap { names[$0] } ?? remains.name }

  /// Names nobody: no replica is drawn as zeros alone.
  static let noReplica = ReplicaID(high: 0, low: 0)

  /// The lines of a damaged file that can be read. None of them is certain.
  private struct Remains {
    var replica: ReplicaID?
    var name: String?
    var place: StoreIdentity.Place?

    init() {}

    init(_ bytes: [UInt8]) {
      var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // One that was cut may be a part of what it was. The place is compared as a whole, and may be the last.
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
        place = StoreIdentity.Place(machine: machine, inode: inode, birthTime: birth)
      }
    }
  }
}
