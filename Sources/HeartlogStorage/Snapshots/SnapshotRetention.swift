/// Decides which snapshots are worth keeping beside the newest one. Opening the store uses the newest; older ones serve only time
/// travel.
///
/// Starting with the oldest, a snapshot is kept if it has at least twice as many events as the one kept before it, and if all those
/// kept fit into the room. If it does not fit, earlier ones with fewer than a 64th of its events give way to it: they save little. If
/// it has at most two thirds of the newest one's events, all earlier ones give way: the one in the middle saves the most, and its
/// share of the log shrinks as the log grows.
///
/// A snapshot that is kept once stays for long, however small the steps between snapshots are.
enum SnapshotRetention {
  static let filesMax = 8
  private static let factor: UInt64 = 2
  private static let givingWay: UInt64 = 64
  /// The room for older ones beside a newest one of at least this size; beside a larger one, half of its size if that is more.
  static let roomBytes: UInt64 = 32 << 20

  /// The maximum total size of older snapshots beside a newest one: its own size, or half of it for a large one.
  static func room(besides newest: UInt64) -> UInt64 {
    newest <= roomBytes ? newest : max(roomBytes, newest / 2)
  }

  /// Returns the snapshots to remove.
  ///
  /// - Parameters:
  ///   - files: All snapshots with their sizes in bytes, those with the most events first.
  ///   - written: The snapshot that was just written. Those with more events are from a log that has been replaced since, or are even
  ///     newer: they stay.
  static func superfluous(
    of files: [(file: SnapshotFile, bytes: UInt64)], written: SnapshotFile
  ) -> [SnapshotFile] {
    guard let index = files.firstIndex(where: { $0.file == written }) else { return [] }
    var room = room(besides: files[index].bytes)
    var kept: [(file: SnapshotFile, bytes: UInt64)] = []
    for candidate in files[(index + 1)...].reversed() {
      let events = candidate.file.eventCount
      guard events < written.eventCount, events / factor >= kept.last?.file.eventCount ?? 0 else { continue }
      let isCentral = events <= written.eventCount / 3 * 2
      let yielding = kept.prefix { isCentral || $0.file.eventCount < events / givingWay }
      var leaving = 0
      while leaving < yielding.count, room < candidate.bytes {
        room += yielding[leaving].bytes
        leaving += 1
      }
      guard room >= candidate.bytes else {
        room -= yielding[..<leaving].reduce(0) { $0 + $1.bytes }
        continue
      }
      kept.removeFirst(leaving)
      room -= candidate.bytes
      kept.append(candidate)
    }
    let keptFiles = Set(kept.suffix(filesMax - 1).map(\.file))
    // One with the same number of events represents the same state, and its positions are less current.
    let same = files[..<index].map(\.file).filter { $0.eventCount == written.eventCount }
    return same + files[(index + 1)...].map(\.file).filter { !keptFiles.contains($0) }
  }
}
