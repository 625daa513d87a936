import HeartlogEvents
import HeartlogFiles

/// A segment that may be sealed, and how much it holds.
struct SealableSegment {
  let file: SegmentFile
  let header: SegmentHeader
  let inode: UInt64
  let bytes: UInt64
  let events: UInt64
  /// The segment that is written to.
  let isTail: Bool

  var isSealed: Bool { file.state == .sealed }
}

/// Which segments become one file: runs of neighbours.
enum SealingPlan {
  /// The most events of a sealed file that takes in its neighbours.
  static let joinedEventsMax = UInt64(Limits.commitEventsMax)
  /// In the background, sealed neighbours that leave room for more are joined only when this many have come
  /// together: so that few events are written more than twice.
  static let neighboursMin = 4

  /// Everything that can be sealed or joined, the tail included.
  static func all(_ segments: [SealableSegment], joining: Bool = true) -> [[SealableSegment]] {
    guard joining else { return segments.filter { !$0.isSealed }.map { [$0] } }
    return neighbours(segments).map(\.run).filter { $0.count > 1 || $0.contains { !$0.isSealed } }
  }

  /// What to do next in the background, where the tail is left alone: a full segment is sealed by itself first.
  static func next(_ segments: [SealableSegment]) -> [SealableSegment]? {
    let full = segments.filter { !$0.isTail }
    if let unsealed = full.first(where: { !$0.isSealed }) { return [unsealed] }
    return neighbours(full).first { $0.run.count >= ($0.isFull ? 2 : neighboursMin) }?.run
  }

  /// Neighbours as long as they fit together; full where the next one does not fit.
  private static func neighbours(_ segments: [SealableSegment]) -> [(run: [SealableSegment], isFull: Bool)] {
    var runs: [(run: [SealableSegment], isFull: Bool)] = []
    var events: UInt64 = 0
    for segment in segments {
      if let last = runs.indices.last, events + segment.events <= joinedEventsMax {
        runs[last].run.append(segment)
        events += segment.events
      } else {
        if let last = runs.indices.last { runs[last].isFull = true }
        runs.append(([segment], false))
        events = segment.events
      }
    }
    return runs
  }
}
