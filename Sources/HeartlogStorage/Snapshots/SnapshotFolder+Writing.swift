import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension SnapshotFolder {
  /// Takes the bytes of a snapshot, piece by piece.
  package typealias Output = (UnsafeRawBufferPointer) throws -> Void

  /// Writes a snapshot, and removes those that are not worth their room any more: see `SnapshotRetention`.
  ///
  /// It appears whole and durable, or not at all. It is made durable piece by piece: an fdatasync of the log beside it never waits for more
  /// than one of them. As long as nobody waits for it the pieces are small, and after each the disk is left to others twice as long as the
  /// piece took.
  ///
  /// - Parameters:
  ///   - eventCount: events in front of the positions that it stands for.
  ///   - evidence: names of snapshots that stay, whatever they are worth.
  ///   - isHurried: whether somebody waits for it now.
  ///   - body: hands over all bytes, in order.
  /// - Returns: its name; nil where snapshots may not be written, or where somebody removed what was unfinished.
  /// - Throws: what `body` throws; `diskFull`, `inputOutput`, `readOnly`. Nothing is left of the snapshot then.
  package func write(
    eventCount: UInt64, keeping evidence: Set<String> = [], isHurried: () -> Bool = { true },
    _ body: (Output) throws -> Void
  ) throws -> SnapshotFile? {
    guard try isWritable() else { return nil }
    try makeFolder()
    try removeUnfinished()
    let random = options.random()
    let file = SnapshotFile(eventCount: eventCount, suffix: UInt32(truncatingIfNeeded: random))
    let temporary = "\(path(of: file)).tmp-\(fileSystem.processID)-\(String(random >> 32, radix: 16))"
    UnfinishedSnapshots.shared.begin(temporary)
    defer { UnfinishedSnapshots.shared.end(temporary) }
    do {
      try writeFile(temporary, isHurried, body)
      try fileSystem.rename(temporary, to: path(of: file))
      try fileSystem.synchronizeDirectory(path)
    } catch let error as FileError where error.isNotFound {
      // Everything here may be removed at any time.
      return nil
    } catch {
      try? fileSystem.remove(temporary)
      throw (error as? FileError).map(StorageError.init) ?? error
    }
    try tidy(after: file, keeping: evidence)
    return file
  }

  private func writeFile(
    _ path: String, _ isHurried: () -> Bool, _ body: (Output) throws -> Void
  ) throws {
    let file = try fileSystem.open(path, .createNew)
    try withoutActuallyEscaping(isHurried) { isHurried in
      var writer = PieceWriter(file, pieceBytes, isHurried)
      try body { try writer.append($0) }
      try writer.flush()
    }
    try file.synchronize()
  }

  private func makeFolder() throws {
    do throws(FileError) { try fileSystem.createDirectory(path) } catch {
      guard error.alreadyExists else { throw StorageError(error) }
      return
    }
    try onFiles { () throws(FileError) in try fileSystem.synchronizeDirectory(store) }
  }

  /// Removes what processes left that are no more.
  private func removeUnfinished() throws {
    for name in try names() where UnfinishedSnapshots.isAbandoned(name, in: path, on: fileSystem) {
      try removeFile("\(path)/\(name)")
    }
  }

  /// Removes the snapshots that are not to be kept beside the newest one.
  private func tidy(after file: SnapshotFile, keeping evidence: Set<String>) throws {
    var sizes: [(file: SnapshotFile, bytes: UInt64)] = []
    for file in try files() {
      let info = try onFiles { () throws(FileError) in try fileSystem.info(path(of: file)) }
      // What is no file is somebody else's, whatever its name.
      if let info, info.kind == .file { sizes.append((file, info.size)) }
    }
    for file in SnapshotRetention.superfluous(of: sizes, written: file) where !evidence.contains(file.name) {
      try removeFile(path(of: file))
    }
    try removeNotes()
  }
}

/// Writes a file in pieces that are made durable one by one.
private struct PieceWriter {
  /// Of one rest: a disk that is slow for a moment does not stop the snapshot.
  private static let restMax = Duration.milliseconds(20)

  private let file: any OpenFile
  private let pieceBytes: (unhurried: Int, hurried: Int)
  private let isHurried: () -> Bool
  private var piece: [UInt8] = []
  private var offset: UInt64 = 0

  init(_ file: any OpenFile, _ pieceBytes: (unhurried: Int, hurried: Int), _ isHurried: @escaping () -> Bool)
  {
    self.file = file
    self.pieceBytes = pieceBytes
    self.isHurried = isHurried
    piece.reserveCapacity(pieceBytes.hurried)
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    var rest = bytes
    while !rest.isEmpty {
      let limit = isHurried() ? pieceBytes.hurried : pieceBytes.unhurried
      let count = min(max(0, limit - piece.count), rest.count)
      piece.append(contentsOf: rest[..<count])
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if piece.count >= limit { try makeDurable() }
    }
  }

  private mutating func makeDurable() throws(FileError) {
    let clock = ContinuousClock()
    let started = clock.now
    try flush()
    try file.synchronizeData()
    if isHurried() { return }
    let rest = min((clock.now - started) * 2, Self.restMax) / .microseconds(1)
    usleep(UInt32(rest))
  }

  /// Writes what is left.
  mutating func flush() throws(FileError) {
    try file.write(piece, at: offset)
    offset += UInt64(piece.count)
    piece.removeAll(keepingCapacity: true)
  }
}
