import HeartlogFiles
import HeartlogFormat

/// Returns what `body` returns; nil if the file or folder that it opens does not exist.
func ifPresent<R>(_ body: @autoclosure () throws(HeartlogError) -> R) throws(HeartlogError) -> R? {
  do { return try body() } catch {
    if error.isNotFound || error.isNotDirectory { return nil }
    throw error
  }
}

/// The names inside a store's folder.
package struct StoreDirectory: Sendable {
  let fileSystem: any FileSystem
  let path: String

  package init(fileSystem: any FileSystem, path: String) {
    self.fileSystem = fileSystem
    self.path = path
  }

  var identityPath: String { "\(path)/store" }
  var lockPath: String { "\(path)/lock" }
  var replicasPath: String { "\(path)/replicas" }
  var keysPath: String { "\(path)/keys" }
  var keyPath: String { "\(keysPath)/device" }

  func streamPath(_ replica: ReplicaID) -> String { "\(replicasPath)/\(replica)" }

  func path(of segment: SegmentFile, in replica: ReplicaID) -> String {
    "\(streamPath(replica))/\(segment.name)"
  }

  /// The folder that contains this one.
  var parent: String { PathParts.parent(of: path) }

  /// Whether the folder has the files that every store has apart from the file `store`.
  func hasStoreFiles() throws(HeartlogError) -> Bool {
    if try !replicas().isEmpty { return true }
    let lock = try fileSystem.info(lockPath)
    let replicas = try fileSystem.info(replicasPath)
    return lock?.kind == .file && replicas?.kind == .directory
  }

  /// The streams that have a folder, sorted by replica.
  func replicas() throws(HeartlogError) -> [ReplicaID] { try streams().replicas }

  /// Whether any of these positions belongs to a stream of this store, or to its own stream, which may be missing. Otherwise the
  /// positions belong to another store.
  func knowsStream(ofAny positions: [StreamPosition], own: ReplicaID) throws(HeartlogError) -> Bool {
    for position in positions {
      if position.replica == own { return true }
      if try !segments(of: position.replica).isEmpty { return true }
    }
    return false
  }

  /// The contents of a stream's folder, according to the file names.
  struct StreamListing {
    /// The segments in order: for each first commit, the file with the highest precedence.
    var segments: [SegmentFile] = []
    /// Whether the file `ended` exists, which records the end of a forked stream.
    var hasEnd = false
    /// The segments that a cloud client has replaced by placeholders, in order. Nearly always empty.
    var evicted: [SegmentFile] = []
  }

  /// The ending of the names of placeholders: `.NAME.icloud` stands for a file NAME that is not downloaded.
  static let placeholderEnding = ".icloud"

  /// The path of the placeholder for the file or folder at a path.
  static func placeholder(for path: String) -> String {
    "\(PathParts.parent(of: path))/.\(PathParts.name(of: PathParts.withoutSlashes(path)))\(placeholderEnding)"
  }

  /// The name of the file that a placeholder stands for; nil for any other name.
  static func evictedName(_ name: String) -> Substring? {
    guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(placeholderEnding) else { return nil }
    return name.dropFirst().dropLast(placeholderEnding.count)
  }

  /// The error for a file that is not downloaded.
  ///
  /// - Parameters:
  ///   - placeholder: The path of its placeholder.
  ///   - commits: The first commits that are not here; nil if the file has none.
  static func notDownloaded(
    _ placeholder: String, commits: ClosedRange<CommitNumber>? = nil
  ) -> HeartlogError {
    let contents = commits.map { " with the commits from \($0.lowerBound) on" } ?? " of the store"
    return HeartlogError(
      .corrupt, "a cloud client has left a placeholder for the file\(contents), which is not downloaded",
      file: placeholder, commits: commits)
  }

  /// Throws if the store, or the file that identifies it, is a placeholder.
  func refuseEvicted() throws(HeartlogError) {
    for placeholder in [path, identityPath].map(Self.placeholder)
    where (try? fileSystem.info(placeholder)) != nil {
      throw Self.notDownloaded(placeholder)
    }
  }

  /// Checks that no segment is a placeholder.
  func checkIsDownloaded() throws(HeartlogError) {
    for replica in try replicas() {
      guard let segment = try listing(of: replica).evicted.first else { continue }
      throw Self.notDownloaded(
        Self.placeholder(for: path(of: segment, in: replica)),
        commits: segment.firstCommit...segment.firstCommit)
    }
  }

  /// The placeholder that stands where a stream goes on, or after that; nil if there is none.
  ///
  /// - Parameter next: The next commit to be read.
  func evictedSegment(
    at next: CommitNumber, of replica: ReplicaID, in listing: StreamListing
  ) throws(HeartlogError) -> SegmentFile? {
    guard !listing.evicted.isEmpty else { return nil }
    let before = listing.segments.last { $0.firstCommit <= next }
    // A leftover of sealing may be a placeholder, too.
    let covered = try before.flatMap { (before) throws(HeartlogError) in
      before.state == .sealed ? try lastCommit(of: before, in: replica) : before.firstCommit
    }
    return listing.evicted.first { $0.firstCommit > covered ?? CommitNumber(rawValue: 0) }
  }

  /// Returns the segments of a stream by name, in order: for each first commit, the file with the highest precedence.
  func segments(of replica: ReplicaID) throws(HeartlogError) -> [SegmentFile] {
    try listing(of: replica).segments
  }

  /// Returns the segments of a stream with their sizes in bytes.
  func segmentSizes(of replica: ReplicaID) throws(HeartlogError) -> [(segment: SegmentFile, bytes: UInt64)] {
    try segments(of: replica).map { (segment) throws(HeartlogError) in
      (segment, try fileSystem.info(path(of: segment, in: replica))?.size ?? 0)
    }
  }

  /// The total size of all segments in bytes.
  func logBytes() throws(HeartlogError) -> UInt64 {
    var total: UInt64 = 0
    for replica in try replicas() { total += try segmentSizes(of: replica).reduce(0) { $0 + $1.bytes } }
    return total
  }

  /// Returns the contents of a stream's folder; an empty listing if there is no folder.
  func listing(of replica: ReplicaID) throws(HeartlogError) -> StreamListing {
    let names: [String]
    do { names = try fileSystem.entries(of: streamPath(replica)) } catch {
      if error.isNotFound { return StreamListing() }
      throw error
    }
    var segments: [SegmentFile] = []
    var hasEnd = false
    var evicted: [SegmentFile] = []
    for name in names {
      if name == StreamEnd.name { hasEnd = true }
      guard let file = SegmentFile(name: name) else {
        if let file = Self.evictedName(name).flatMap({ SegmentFile(name: String($0)) }) {
          evicted.append(file)
        }
        continue
      }
      if let last = segments.last, last.firstCommit == file.firstCommit {
        if file.state.precedence > last.state.precedence { segments[segments.count - 1] = file }
      } else {
        segments.append(file)
      }
    }
    evicted.removeAll { gone in segments.contains { $0.firstCommit == gone.firstCommit } }
    return StreamListing(segments: segments, hasEnd: hasEnd, evicted: evicted)
  }

  /// Returns the segments that make up a stream, in order, and the leftovers of sealing: segments whose commits are all in the
  /// segment before, according to the headers. A segment with an unreadable header covers nothing.
  func servingSegments(of replica: ReplicaID) throws(HeartlogError) -> (
    serving: [SegmentFile], leftovers: [SegmentFile]
  ) {
    try servingSegments(in: try segments(of: replica), of: replica)
  }

  /// As `servingSegments(of:)`, for a listing that the caller has made.
  func servingSegments(in segments: [SegmentFile], of replica: ReplicaID) throws(HeartlogError) -> (
    serving: [SegmentFile], leftovers: [SegmentFile]
  ) {
    var serving: [SegmentFile] = []
    var leftovers: [SegmentFile] = []
    var covered = CommitNumber(rawValue: 0)
    for (index, segment) in segments.enumerated() {
      if segment.firstCommit <= covered {
        leftovers.append(segment)
        continue
      }
      serving.append(segment)
      if segment.state == .sealed, index + 1 < segments.count,
        let last = try lastCommit(of: segment, in: replica)
      {
        covered = last
      }
    }
    return (serving, leftovers)
  }

  /// Returns the last commit of a sealed segment; nil if its header is damaged or the file no longer exists.
  func lastCommit(of segment: SegmentFile, in replica: ReplicaID) throws(HeartlogError) -> CommitNumber? {
    do { return try cursor(of: segment, in: replica).header.lastCommit } catch {
      if error.isNotFound || error.isNotAFile || error.code == .corrupt { return nil }
      throw error
    }
  }

  /// Returns the frontier that the last sealed segment of a stream starts from, which is the newest one available without hashing.
  func newestFrontier(of replica: ReplicaID) throws(HeartlogError) -> (size: UInt64, frontier: [Digest]) {
    guard let sealed = try segments(of: replica).last(where: { $0.state == .sealed }) else { return (0, []) }
    let header = try cursor(of: sealed, in: replica).header
    return (header.treeSize, header.frontier)
  }

  /// Creates the folder of a stream, durably. An existing one may have been left by a process that died before it was durable.
  func makeStreamFolder(of replica: ReplicaID) throws(HeartlogError) {
    let folder = streamPath(replica)
    if try fileSystem.info(folder) == nil { try fileSystem.createDirectory(folder) }
    try fileSystem.synchronizeDirectory(replicasPath)
    try fileSystem.synchronizeDirectory(path)
  }

  /// Whether an open file is the segment with this id; false if its header cannot be read.
  func isSegment(_ id: SegmentID, _ file: any OpenFile, path: String) throws(HeartlogError) -> Bool {
    let bytes = try file.bytes(SegmentHeader.byteCount, at: 0)
    return bytes.withUnsafeBytes { buffer in (try? SegmentHeader.decode(buffer, file: path))?.header.id == id
    }
  }

  /// Reads and decodes the header of a segment.
  func header(of file: any OpenFile, path: String) throws(HeartlogError) -> SegmentHeader.Found {
    let bytes = try file.bytes(SegmentHeader.byteCount, at: 0)
    return try bytes.withBytes { (bytes) throws(HeartlogError) in try SegmentHeader.decode(bytes, file: path)
    }
  }

  /// Opens a segment, with the cursor at its first frame.
  func cursor(of segment: SegmentFile, in replica: ReplicaID) throws(HeartlogError) -> SegmentCursor {
    let path = path(of: segment, in: replica)
    let file = try fileSystem.open(path, .read)
    return SegmentCursor(file: file, path: path, header: try header(of: file, path: path).header)
  }

  /// Returns what `body` returns, which looks for a segment and opens it. A name may vanish between the two when another process seals:
  /// then `body` runs again.
  func opening<R>(_ replica: ReplicaID, _ body: () throws -> R) throws -> R {
    for _ in 0..<16 {
      do { return try body() } catch let error as HeartlogError where error.isNotFound { continue }
    }
    throw HeartlogError(.inputOutput, "the segments keep changing", file: streamPath(replica))
  }

  /// Writes a new file under a temporary name, and renames it once it is durable.
  func replaceFile(_ path: String, with bytes: [UInt8], suffix: UInt64) throws(HeartlogError) {
    try fileSystem.replaceFile(path, with: bytes, through: Self.temporary(path, suffix))
  }

  private static func temporary(_ path: String, _ suffix: UInt64) -> String {
    "\(path).tmp-\(String(suffix, radix: 16))"
  }

  /// Removes what processes left that died while they replaced a file of the store's folder. The caller holds the lock.
  func removeUnfinished(_ path: String) throws(HeartlogError) {
    for name in try fileSystem.entries(of: self.path) where "\(self.path)/\(name)".hasPrefix("\(path).tmp-") {
      try fileSystem.remove("\(self.path)/\(name)")
    }
  }

  /// Writes a new file under a temporary name and makes it durable.
  ///
  /// - Returns: The path of the temporary file. The next writer may remove it: see `removeLeftovers`.
  func prepareFile(_ path: String, with bytes: [UInt8], suffix: UInt64) throws(HeartlogError) -> String {
    let temporary = Self.temporary(path, suffix)
    try fileSystem.prepareFile(temporary, with: bytes)
    return temporary
  }
}

/// The name of a segment file.
struct SegmentFile: Hashable, Sendable {
  enum State: String, Sendable {
    case open
    case suspect
    case sealed

    /// Decides which file is used if several have the same first commit.
    var precedence: Int {
      switch self {
      case .open: 0
      case .suspect: 1
      case .sealed: 2
      }
    }
  }

  let firstCommit: CommitNumber
  let state: State

  init(firstCommit: CommitNumber, state: State) {
    self.firstCommit = firstCommit
    self.state = state
  }

  /// Parses `0000000000000001.open`; nil for any other name.
  init?(name: String) {
    // Opening parses the names of thousands of segments, so this allocates no memory.
    let bytes = name.utf8
    guard bytes.count > Self.digitCount else { return nil }
    var number: UInt64 = 0
    for byte in bytes.prefix(Self.digitCount) {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + UInt64(byte - UInt8(ascii: "0"))
    }
    let ending = bytes.dropFirst(Self.digitCount)
    guard number >= 1, number <= Limits.numberMax, ending.first == UInt8(ascii: "."),
      let state = State(rawValue: String(Substring(ending.dropFirst())))
    else { return nil }
    firstCommit = CommitNumber(rawValue: number)
    self.state = state
  }

  private static let digitCount = 16

  var name: String { "\(Self.digits(firstCommit)).\(state.rawValue)" }

  /// The name of the file that keeps the bytes cut from this segment at `offset`.
  func cutName(_ offset: UInt64) -> String { "\(Self.digits(firstCommit)).cut-\(offset)" }

  private static func digits(_ number: CommitNumber) -> String {
    let digits = String(number.rawValue)
    return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
  }
}
