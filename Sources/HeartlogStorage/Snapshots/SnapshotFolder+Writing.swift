import HeartlogFormat
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension SnapshotFolder {
  /// Receives the bytes of a snapshot, piece by piece.
  package typealias Output = (UnsafeRawBufferPointer) throws -> Void

  /// Writes a snapshot, and removes those that are no longer worth their space: see `SnapshotRetention`.
  ///
  /// It appears complete and durable, or not at all. It is synchronized piece by piece, so that an fdatasync of the log never waits
  /// for more than one piece. While no caller waits for it, the pieces are small, and after each one the writer pauses for twice the
  /// time that the piece took, to leave the disk to others.
  ///
  /// - Parameters:
  ///   - eventCount: The number of events before the snapshot's positions.
  ///   - evidence: Names of snapshots that are kept in any case.
  ///   - isHurried: Whether a caller is waiting for it now.
  ///   - body: Passes all bytes in order.
  /// - Returns: The snapshot's file; nil if snapshots may not be written, or if the unfinished file was removed.
  /// - Throws: Errors of `body`; `diskFull`, `inputOutput`, `readOnly`. Nothing is left of the snapshot then.
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
      // Everything in this folder may be removed at any time.
      return nil
    } catch {
      try? fileSystem.remove(temporary)
      throw (error as? FileError).map(HeartlogError.init) ?? error
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
      guard error.alreadyExists else { throw HeartlogError(error) }
      return
    }
    try heartlogErrors { try fileSystem.synchronizeDirectory(store) }
  }

  /// Removes unfinished snapshots of processes that have ended.
  private func removeUnfinished() throws {
    for name in try names() where UnfinishedSnapshots.isAbandoned(name, in: path, on: fileSystem) {
      try removeFile("\(path)/\(name)")
    }
  }

  /// Removes the snapshots that are not worth keeping beside the newest one.
  private func tidy(after file: SnapshotFile, keeping evidence: Set<String>) throws {
    var sizes: [(file: SnapshotFile, bytes: UInt64)] = []
    for file in try files() {
      let info = try heartlogErrors { try fileSystem.info(path(of: file)) }
      // Anything but a regular file is not Heartlog's, whatever its name.
      if let info, info.kind == .file { sizes.append((file, info.size)) }
    }
    for file in SnapshotRetention.superfluous(of: sizes, written: file) where !evidence.contains(file.name) {
      try removeFile(path(of: file))
    }
    try removeNotes()
  }
}

/// Writes a file in pieces that are synchronized one by one.
private struct PieceWriter {
  /// The maximum length of one pause, so that a temporarily slow disk does not stop the snapshot.
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

  /// Writes the bytes that are left.
  mutating func flush() throws(FileError) {
    try file.write(piece, at: offset)
    offset += UInt64(piece.count)
    piece.removeAll(keepingCapacity: true)
  }
}
