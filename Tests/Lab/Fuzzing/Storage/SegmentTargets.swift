import HeartlogCrashModel
import Heartlog
import HeartlogFormat
import HeartlogFiles
import HeartlogState
import HeartlogEngine
import TestSupport

extension FuzzTarget {
  /// The frames of an open segment whose header is sound, each with the checksums that its bytes need.
  static let frame = FuzzTarget(
    "frame",
    seeds: { _ in
      let commits = try SeedCommits.stream(of: SegmentBytes.replica)
      func row(_ commit: Commit) throws -> [UInt8] {
        var row: [UInt8] = []
        try RowEncoding.append(commit, to: &row)
        return row
      }
      let rows = try commits.map(row)
      let frames = rows.enumerated().map {
        FrameInput(kind: 1, firstCommit: UInt64($0 + 1), commitCount: 1, body: $1)
      }
      let block = try BlockEncoding.encode(
        Block(
          replica: SegmentBytes.replica, firstCommit: CommitNumber(rawValue: 1),
          secrets: [SeedCommits.secret],
          commits: SeedCommits.many(of: SegmentBytes.replica)))
      var compressed = frames
      compressed[0].isCompressed = true
      let later = FrameInput(kind: 7, firstCommit: 1, commitCount: 0, body: [1, 2, 3])
      return [
        Seed("rows", FrameInput.encoded(frames)), Seed("compressed", FrameInput.encoded(compressed)),
        Seed("later", FrameInput.encoded([later] + frames.prefix(1))),
        Seed(
          "block", FrameInput.encoded([FrameInput(kind: 2, firstCommit: 1, commitCount: 24, body: block)])),
      ]
    }
  ) { bytes in
    var reader = ByteReader(bytes)
    var file = SegmentBytes.header
    while let frame = FrameInput(&reader), file.count < 1 << 20 { frame.append(to: &file) }
    // What is left stands behind the frames as it is.
    file += reader.rest
    try StoreFiles.check([file], verifying: false)
  }

  /// Whole segments of one stream, as files.
  static let segment = FuzzTarget(
    "segment", byteCountMax: 8_192,
    seeds: { _ in
      try StoreFiles.seeds().map { name, files in
        var writer = ByteWriter()
        for file in files { writer.lengthAndBytes(WithoutZeros.shortened(file)) }
        return Seed(name, writer.bytes)
      }
    }
  ) { bytes in
    var reader = ByteReader(bytes)
    var files: [[UInt8]] = []
    while files.count < 3, let input = try? reader.lengthAndBytes() {
      var part = ByteReader(input)
      guard var file = WithoutZeros.expanded(&part, byteCountMax: 64 << 10) else { return }
      SegmentBytes.seal(&file)
      files.append(file)
    }
    try StoreFiles.check(files, verifying: true)
  }
}

/// A frame of an input: `u8 kind, u8 flags, varint first commit, varint commits, bytes body`.
struct FrameInput {
  var kind: UInt8
  /// The body is compressed before it is framed.
  var isCompressed = false
  var flags: UInt8 = 0
  var firstCommit: UInt64
  var commitCount: UInt32
  var body: [UInt8]

  init(kind: UInt8, firstCommit: UInt64, commitCount: UInt32, body: [UInt8]) {
    self.kind = kind
    self.firstCommit = firstCommit
    self.commitCount = commitCount
    self.body = body
  }

  private static let compressedBit: UInt8 = 0x80

  /// Nil at the end, and for what is no frame.
  init?(_ reader: inout ByteReader) {
    let start = reader
    do throws(MalformedError) {
      kind = try reader.u8()
      flags = try reader.u8()
      isCompressed = flags & Self.compressedBit != 0
      flags &= ~Self.compressedBit
      firstCommit = try reader.varint()
      commitCount = UInt32(truncatingIfNeeded: try reader.varint())
      body = Array(try reader.lengthAndBytes())
    } catch {
      reader = start
      return nil
    }
  }

  static func encoded(_ frames: [FrameInput]) -> [UInt8] {
    var writer = ByteWriter()
    for frame in frames {
      writer.u8(frame.kind)
      writer.u8(frame.flags | (frame.isCompressed ? compressedBit : 0))
      writer.varint(frame.firstCommit)
      writer.varint(UInt64(frame.commitCount))
      writer.lengthAndBytes(frame.body)
    }
    return writer.bytes
  }

  func append(to file: inout [UInt8]) {
    var body = body
    var flags = flags
    if isCompressed, let compressed = body.withUnsafeBytes({ LZ4.compress($0) }) {
      var count = [UInt8](repeating: 0, count: 4)
      count.set(UInt32(body.count), at: 0)
      body = count + compressed
      flags |= 1
    }
    let start = file.count
    file += [kind, flags, 0, 0] + [UInt8](repeating: 0, count: SegmentBytes.frameHeaderBytes - 4)
    file.set(UInt32(body.count), at: start + 4)
    file.set(firstCommit, at: start + 8)
    file.set(commitCount, at: start + 16)
    file += body
    file += [UInt8](repeating: 0, count: -file.count & 7)
    SegmentBytes.sealFrame(&file, at: start)
  }
}

/// Segment files, by docs/format.md alone.
enum SegmentBytes {
  static let replica = FuzzTarget.replica
  static let headerBytes = 4_096
  static let frameHeaderBytes = 40
  private static let copyBytes = 2_048

  /// The header of an open segment from commit 1 on.
  static let header: [UInt8] = {
    var header: [UInt8] = [0x89, 0x48, 0x4C, 0x4F, 0x47, 0x0D, 0x0A, 0x1A, 1, 0, 1, 0]
    header += [UInt8](repeating: 0, count: headerBytes - header.count)
    header.set(UInt64(3), at: 16)
    header.set(UInt64(5), at: 24)
    header.replaceSubrange(32..<48, with: replica.bytes)
    header.set(UInt64(1), at: 48)
    header.set(UInt64(1), at: 56)
    header.replaceSubrange(88..<120, with: [UInt8](0..<32))
    seal(&header)
    return header
  }()

  static func isSealed(_ file: [UInt8]) -> Bool { file.count > 10 && file[10] == 2 }

  /// The number of the first commit, which is the file's name.
  static func firstCommit(_ file: [UInt8]) -> UInt64 { file.number(at: 48, as: UInt64.self) }

  /// Makes both copies of the header the same, and all checksums right.
  static func seal(_ file: inout [UInt8]) {
    guard file.count >= headerBytes else { return }
    if isSealed(file) { file.set(UInt64(file.count), at: 80) }
    file.replaceSubrange(copyBytes..<headerBytes, with: file[..<copyBytes])
    for copy in [0, copyBytes] {
      file.set(file.checksum(copy..<copy + copyBytes - 8, seed: UInt64(copy)), at: copy + copyBytes - 8)
    }
    var offset = headerBytes
    while offset + frameHeaderBytes <= file.count, file[offset] != 0 {
      let end = offset + frameHeaderBytes + Int(file.number(at: offset + 4, as: UInt32.self))
      sealFrame(&file, at: offset)
      offset = (end + 7) & ~7
    }
  }

  static func sealFrame(_ file: inout [UInt8], at offset: Int) {
    let base = file.number(at: 16, as: UInt64.self) ^ file.number(at: 24, as: UInt64.self)
    let seed = base &+ UInt64(offset)
    let body = offset + frameHeaderBytes
    let end = body + Int(file.number(at: offset + 4, as: UInt32.self))
    if end <= file.count {
      file.set(file.checksum(body..<end, seed: seed &+ UInt64(frameHeaderBytes)), at: offset + 24)
    }
    file.set(file.checksum(offset..<offset + 32, seed: seed), at: offset + 32)
  }
}

/// Stores on a file system in memory.
enum StoreFiles {
  static let path = "/favorites.heartlog"

  /// Nothing happens later, or in another thread.
  @Sendable private static func changeStorage(_ options: inout StorageOptions) {
    options.sealsInBackground = false
    options.keepsLockInSeries = false
  }

  static var options: StoreOptions {
    var options = StoreOptions()
    options.snapshots = .manual
    options.deviceKey = .none
    options.clock = { 1_772_500_000_000 }
    let random = SharedGenerator(seed: 0)
    options.random = { random.next() }
    options.changeStorage = Self.changeStorage
    return options
  }

  static func open(_ files: MemoryFileSystem, _ options: StoreOptions = options) throws -> FavoritesStore {
    try FavoritesStore(at: path, on: files, options: options)
  }

  /// A store without a commit, whose stream is that of the segments.
  private static let base: Result<MemoryFileSystem, any Error> = Result {
    let files = MemoryFileSystem()
    try open(files).close()
    let name = "\(path)/store"
    let text = String(decoding: try files.contents(of: name), as: UTF8.self)
    var lines = text.split(separator: "\n").dropLast().map(String.init)
    lines[1] = "replica \(SegmentBytes.replica)"
    try files.replaceContents(of: name, with: TextBytes.sealed(lines))
    try files.createDirectory("\(path)/replicas/\(SegmentBytes.replica)")
    return files
  }

  /// Streams of a real store: rows, several segments, sealed blocks.
  static func seeds() throws -> [(name: String, files: [[UInt8]])] {
    func segments(_ files: MemoryFileSystem) throws -> [[UInt8]] {
      let replica = try files.entries(of: "\(path)/replicas")[0]
      let folder = "\(path)/replicas/\(replica)"
      return try files.entries(of: folder).filter { $0.hasSuffix(".open") || $0.hasSuffix(".sealed") }
        .map { try files.contents(of: "\(folder)/\($0)") }
    }
    func store(_ body: (FavoritesStore) throws -> Void) throws -> [[UInt8]] {
      let files = MemoryFileSystem()
      var options = options
      options.changeStorage = {
        changeStorage(&$0)
        $0.segmentBytesMax = 5_000
      }
      let store = try open(files, options)
      try body(store)
      try store.close()
      return try segments(files)
    }
    func write(_ store: FavoritesStore, _ count: Int) throws {
      let papers = try store.library("papers")
      for index in 0..<count {
        try papers.add("\(index)", fields: [Field(name: "title", value: .string("The title of \(index)"))])
      }
    }
    return [
      ("rows", try store { try write($0, 5) }),
      ("segments", try store { try write($0, 15) }),
      (
        "sealed",
        try store {
          try write($0, 15)
          _ = try $0.seal()
        }
      ),
    ]
  }

  /// Reads a stream of these segments in every way.
  ///
  /// - Parameter verifying: as `verify` does, too, which takes more time than all others.
  static func check(_ segments: [[UInt8]], verifying: Bool) throws {
    let files = try base.get().deepCopy()
    let folder = "\(path)/replicas/\(SegmentBytes.replica)"
    for segment in segments {
      var segment = segment
      // The folder's name, so that what follows is read.
      if segment.count >= SegmentBytes.headerBytes, Array(segment[32..<48]) != SegmentBytes.replica.bytes {
        segment.replaceSubrange(32..<48, with: SegmentBytes.replica.bytes)
        SegmentBytes.seal(&segment)
      }
      let first = segment.count >= SegmentBytes.headerBytes ? String(SegmentBytes.firstCommit(segment)) : "1"
      guard first.utf8.count <= 16 else { continue }
      let name = String(repeating: "0", count: 16 - first.utf8.count) + first
      let file = try? files.open(
        "\(folder)/\(name).\(SegmentBytes.isSealed(segment) ? "sealed" : "open")", .createNew)
      try file?.write(segment, at: 0)
    }
    try read(files, verifying: verifying)
  }

  private static func read(_ files: MemoryFileSystem, verifying: Bool) throws {
    var byPieces = FavoritesState()
    // A file of a later version is refused.
    guard
      let outcome = try? LogReplay(at: path, on: files).run({ piece in
        switch piece {
        case .rows(let rows): _ = byPieces.apply(rows)
        case .block(let block): byPieces.apply(block)
        }
      })
    else { return }
    if verifying {
      let streams = try Verification.run(at: path, on: files)
      try state(
        !outcome.findings.isEmpty || streams.reduce(0) { $0 + $1.commits } >= byPieces.commitCount,
        "a replay has more commits than the log")
      // Verification finds more: hashes, and the numbers in headers.
      guard streams.allSatisfy({ $0.finding == nil }) else { return }
      try state(outcome.findings.isEmpty, "a sound log is not sound when it is replayed: \(outcome.findings)")
    }
    guard outcome.findings.isEmpty else { return }
    var byCommits = FavoritesState()
    let merged = try MergedLog(at: path, on: files)
    while let commit = try merged.next() { byCommits.apply(commit) }
    try state(merged.findings.isEmpty, "a sound log is not sound when it is merged: \(merged.findings)")
    try state(
      byPieces.digest == byCommits.digest && byPieces.commitCount == byCommits.commitCount,
      "a log has two states")
  }
}
