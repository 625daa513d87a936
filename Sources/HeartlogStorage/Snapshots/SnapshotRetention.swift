/// Which snapshots are worth their room beside the newest one, which opening the store uses: older ones serve time travel alone.
///
/// From the oldest on, one is kept where it has at least twice the events of the one kept before it, as long as those kept are not larger
/// together than the newest. Where one does not fit, those give way to it that have less than a 64th of its events: they spare little. What is kept once stays for long, however small the steps are in which snapshots come.
enum SnapshotRetention {
  static let filesMax = 8
  private static let factor: UInt64 = 2
  private static let givingWay: UInt64 = 64

  /// - Parameters:
  ///   - files: all that are there, those of the most events first, with their sizes in bytes.
  ///   - written: the one that was just written. Those of more events are of a log that is not this one any more, or newer yet: they stay.
  static func superfluous(
    of files: [(file: SnapshotFile, bytes: UInt64)], written: SnapshotFile
  ) -> [SnapshotFile] {
    guard let index = files.firstIndex(where: { $0.file == written }) else { return [] }
    var room = files[index].bytes
    var kept: [(file: SnapshotFile, bytes: UInt64)] = []
    for candidate in files[(index + 1)...].reversed() {
      let events = candidate.file.eventCount
      guard candidate.bytes <= files[index].bytes, events < written.eventCount,
        events / factor >= kept.last?.file.eventCount ?? 0
      else { continue }
      let small = kept.prefix { $0.file.eventCount < events / givingWay }
      var leaving = 0
      var freed: UInt64 = 0
      while leaving < small.count, freed + room < candidate.bytes {
        freed += small[leaving].bytes
        leaving += 1
      }
      guard freed + room >= candidate.bytes else { continue }
      kept.removeFirst(leaving)
      room = room + freed - candidate.bytes
      kept.append(candidate)
    }
    let keptFiles = Set(kept.suffix(filesMax - 1).map(\.file))
    // One of as many events says the same, and knows less of where it stands.
    let same = files[..<index].map(\.file).filter { $0.eventCount == written.eventCount }
    return same + files[(index + 1)...].map(\.file).filter { !keptFiles.contains($0) }
  }
}
