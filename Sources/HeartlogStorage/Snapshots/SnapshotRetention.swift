/// Which snapshots are worth their room beside the newest one, which opening the store uses: older ones serve time travel alone.
///
/// From the oldest on, one is kept where it has at least twice the events of the one kept before it, as long as those kept fit into their
/// room together. Where one does not fit, those give way to it that have less than a 64th of its events: they spare little. All give way
/// where it has at most two thirds of the newest one's: the one in the middle spares the most, and it will be further in front as the log grows.
///
/// What is kept once stays for long, however small the steps are in which snapshots come.
enum SnapshotRetention {
  static let filesMax = 8
  private static let factor: UInt64 = 2
  private static let givingWay: UInt64 = 64
  /// The room of older ones beside a newest one of at least this size, and beside larger ones while half of them is less.
  static let roomBytes: UInt64 = 32 << 20

  /// How many bytes older snapshots may take together beside a newest one: as many as that, and of a large one half.
  static func room(besides newest: UInt64) -> UInt64 {
    newest <= roomBytes ? newest : max(roomBytes, newest / 2)
  }

  /// - Parameters:
  ///   - files: all that are there, those of the most events first, with their sizes in bytes.
  ///   - written: the one that was just written. Those of more events are of a log that is not this one any more, or newer yet: they stay.
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
    // One of as many events says the same, and knows less of where it stands.
    let same = files[..<index].map(\.file).filter { $0.eventCount == written.eventCount }
    return same + files[(index + 1)...].map(\.file).filter { !keptFiles.contains($0) }
  }
}
