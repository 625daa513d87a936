import HeartlogFiles
import HeartlogFormat

/// The name of a snapshot: `0000000001000000-9f8e7d6c.snapshot`.
package struct SnapshotFile: Hashable, Sendable {
  /// The number of events before the snapshot's positions.
  package let eventCount: UInt64
  /// Distinguishes snapshots with the same number of events.
  let suffix: UInt32

  static let ending = ".snapshot"
  /// Behind the name of one that was set aside, because the log has lost commits that it was made from.
  static let lostEnding = ".lost"
  private static let digits = 16

  init(eventCount: UInt64, suffix: UInt32) {
    self.eventCount = eventCount
    self.suffix = suffix
  }

  /// Parses a file name; nil if it is not the name of a snapshot.
  init?(name: String) {
    guard name.hasSuffix(Self.ending) else { return nil }
    let parts = name.utf8.dropLast(Self.ending.utf8.count)
      .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 2, let eventCount = UInt64(Substring(parts[0])),
      let suffix = UInt32(Substring(parts[1]), radix: 16)
    else { return nil }
    self.init(eventCount: eventCount, suffix: suffix)
    // Each number has exactly one valid name.
    guard self.name == name else { return nil }
  }

  package var name: String {
    Self.padded(String(eventCount), Self.digits) + "-" + Self.padded(String(suffix, radix: 16), 8)
      + Self.ending
  }

  private static func padded(_ digits: String, _ count: Int) -> String {
    String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
  }
}

/// The folder `snapshots` of a store: files whose contents are opaque to this layer, each for a position in the log.
///
/// Every file is disposable: a missing one costs time and nothing else. Files are only created complete and removed, so that a mapped
/// file never changes. Several processes may use the folder at once.
package struct SnapshotFolder: Sendable {
  let fileSystem: any FileSystem
  let store: String
  let options: StorageOptions
  /// The number of bytes written between synchronizations: while no caller waits for the snapshot, and while one does.
  var pieceBytes = (unhurried: 1 << 15, hurried: 1 << 17)

  /// Creates the folder of the store at `path` without accessing it.
  package init(at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions()) {
    self.fileSystem = fileSystem
    self.options = options
    store = path
  }

  var path: String { "\(store)/snapshots" }

  /// Returns the path of a snapshot.
  package func path(of file: SnapshotFile) -> String { "\(path)/\(file.name)" }

  /// Returns the snapshots, those with the most events first; none if there is no folder.
  package func files() throws(HeartlogError) -> [SnapshotFile] {
    // The names are sorted, and so are the numbers in them.
    try names().reversed().compactMap(SnapshotFile.init(name:))
  }

  /// Maps a snapshot; nil if it no longer exists.
  package func map(_ file: SnapshotFile) throws(HeartlogError) -> FileMapping? { try map(named: file.name) }

  func map(named name: String) throws(HeartlogError) -> FileMapping? {
    try ifPresent(fileSystem.open("\(path)/\(name)", .read).map())
  }

  /// Returns the note stored beside a snapshot: see `note`. Nil if there is none.
  package func note(of file: SnapshotFile) throws(HeartlogError) -> [UInt8]? {
    try ifPresent(fileSystem.open(notePath(of: file), .read)).map { (note) throws(HeartlogError) in
      try note.bytes(Int(clamping: min(note.size(), Self.noteBytesMax)), at: 0)
    }
  }

  /// Stores a note beside a snapshot, replacing an earlier one. It is removed with the snapshot.
  package func note(_ bytes: [UInt8], of file: SnapshotFile) throws(HeartlogError) {
    guard try isWritable() else { return }
    let directory = StoreDirectory(fileSystem: fileSystem, path: store)
    try directory.replaceFile(notePath(of: file), with: bytes, suffix: options.random())
  }

  /// A note has a few hundred bytes per stream.
  private static let noteBytesMax: UInt64 = 16 << 20
  static let noteEnding = ".places"

  private func notePath(of file: SnapshotFile) -> String { path(of: file) + Self.noteEnding }

  /// Deletes a snapshot; existing mappings stay valid. Does nothing if it no longer exists, or if the store must not be written.
  package func remove(_ file: SnapshotFile) throws(HeartlogError) {
    guard try isWritable() else { return }
    try removeFile(path(of: file))
    try removeNotes()
  }

  /// Returns the generation of the store's list of erased events; nil while they are being erased. A snapshot of another one may contain
  /// what was erased.
  package func erasedGeneration() throws(HeartlogError) -> UInt64? {
    let list = try ErasedList.read(StoreDirectory(fileSystem: fileSystem, path: store))
    return list.isPending ? nil : list.generation
  }

  /// Removes all snapshots, also unfinished ones and those that were set aside, durably. A process that is writing one finds it gone.
  func removeAll() throws(HeartlogError) {
    let names = try names().filter { $0.contains(SnapshotFile.ending) }
    guard !names.isEmpty else { return }
    for name in names { try removeFile("\(path)/\(name)") }
    try fileSystem.synchronizeDirectory(path)
  }

  /// Whether snapshots may be written: not on a network file system, and not if the store was opened read-only.
  package func isWritable() throws(HeartlogError) -> Bool {
    guard options.access == .readWrite else { return false }
    return try !fileSystem.isOnNetwork(store)
  }

  func names() throws(HeartlogError) -> [String] {
    try ifPresent(fileSystem.entries(of: path)) ?? []
  }

  /// Removes unfinished notes and the notes of snapshots that no longer exist.
  func removeNotes() throws(HeartlogError) {
    let names = Set(try names())
    for name in names {
      if name.hasSuffix(Self.noteEnding) {
        let snapshot = String(name.dropLast(Self.noteEnding.utf8.count))
        if !names.contains(snapshot) { try removeFile("\(path)/\(name)") }
      } else if name.contains(Self.noteEnding + ".tmp-") {
        try removeFile("\(path)/\(name)")
      }
    }
  }

  func removeFile(_ path: String) throws(HeartlogError) {
    _ = try ifPresent(fileSystem.remove(path))
  }
}

extension SnapshotFolder {
  /// Receives the bytes of a snapshot, piece by piece.
  package typealias Output = (UnsafeRawBufferPointer) throws -> Void

  /// Writes a snapshot, and removes those that it replaces.
  ///
  /// It appears complete and durable, or not at all. It is synchronized piece by piece, so that an fdatasync of the log never waits
  /// for more than one piece. While no caller waits for it, the pieces are small, and after each one the writer pauses for twice the
  /// time that the piece took, to leave the disk to others.
  ///
  /// - Parameters:
  ///   - eventCount: The number of events before the snapshot's positions.
  ///   - evidence: The names of snapshots that are kept in any case.
  ///   - isHurried: Whether a caller is waiting for it now.
  ///   - body: Passes all bytes in order.
  /// - Returns: The snapshot's file; nil if snapshots may not be written, or if the unfinished file was removed.
  /// - Throws: Errors of `body`; `diskFull`, `inputOutput`, `readOnly`. Nothing is left of the snapshot then.
  package func write(
    eventCount: UInt64, keeping evidence: Set<String> = [], isHurried: () -> Bool = { true },
    _ body: (Output) throws -> Void
  ) throws -> SnapshotFile? {
    guard try isWritable() else { return nil }
    try fileSystem.makeFolder(path)
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
    } catch let error as HeartlogError where error.isNotFound {
      // Everything in this folder may be removed at any time.
      return nil
    } catch {
      try? fileSystem.remove(temporary)
      throw error
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

  /// Removes unfinished snapshots of processes that have ended.
  private func removeUnfinished() throws {
    for name in try names() where UnfinishedSnapshots.isAbandoned(name, in: path, on: fileSystem) {
      try removeFile("\(path)/\(name)")
    }
  }

  /// Removes the snapshots that the new one replaces. Those with more events are newer still, or of a log that was replaced: they stay.
  private func tidy(after file: SnapshotFile, keeping evidence: Set<String>) throws {
    for older in try files() where older != file && older.eventCount <= file.eventCount {
      // Anything but a regular file is not Heartlog's, whatever its name.
      guard !evidence.contains(older.name), try fileSystem.info(path(of: older))?.kind == .file else {
        continue
      }
      try removeFile(path(of: older))
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

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(HeartlogError) {
    var rest = bytes
    while !rest.isEmpty {
      let limit = isHurried() ? pieceBytes.hurried : pieceBytes.unhurried
      let count = min(max(0, limit - piece.count), rest.count)
      piece.append(contentsOf: rest[..<count])
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if piece.count >= limit { try makeDurable() }
    }
  }

  private mutating func makeDurable() throws(HeartlogError) {
    let clock = ContinuousClock()
    let started = clock.now
    try flush()
    try file.synchronizeData()
    if isHurried() { return }
    let rest = min((clock.now - started) * 2, Self.restMax) / .microseconds(1)
    usleep(UInt32(rest))
  }

  /// Writes the bytes that are left.
  mutating func flush() throws(HeartlogError) {
    assert(
      piece.count <= max(pieceBytes.unhurried, pieceBytes.hurried), "a piece takes the disk for a short time")
    try file.write(piece, at: offset)
    offset += UInt64(piece.count)
    piece.removeAll(keepingCapacity: true)
  }
}

/// The temporary paths of the snapshots that this process is writing. An unfinished file with this process's id that is not among
/// them was left by an earlier process with the same id.
final class UnfinishedSnapshots: Sendable {
  static let shared = UnfinishedSnapshots()

  private let paths = Monitor<Set<String>>([])

  func begin(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  func end(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Whether a name is that of an unfinished snapshot whose process has ended. If that is wrong, as with a process in another
  /// container, only that snapshot is lost.
  static func isAbandoned(_ name: String, in folder: String, on fileSystem: any FileSystem) -> Bool {
    guard let process = process(of: name) else { return false }
    if process == fileSystem.processID {
      return shared.paths.withLock { !$0.contains("\(folder)/\(name)") }
    }
    return !fileSystem.isRunning(process)
  }

  /// The process id in `….snapshot.tmp-4711-9f8e7d6c`; nil for any other name.
  private static func process(of name: String) -> Int32? {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let last = parts.last, last.starts(with: "tmp-".utf8),
      SnapshotFile(name: String(name.dropLast(last.count + 1))) != nil
    else { return nil }
    return Int32(Substring(last.dropFirst(4).prefix { $0 != UInt8(ascii: "-") }))
  }
}
