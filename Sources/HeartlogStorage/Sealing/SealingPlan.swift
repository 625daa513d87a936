import HeartlogFormat
import HeartlogFiles

/// A segment that may be sealed, and its size.
struct SealableSegment {
  let file: SegmentFile
  let header: SegmentHeader
  let bytes: UInt64
  let events: UInt64
  /// Whether it is the segment being written.
  let isTail: Bool

  var isSealed: Bool { file.state == .sealed }
}

/// Decides which adjacent segments are joined into one file.
enum SealingPlan {
  /// The maximum number of events in a sealed file that joins several segments.
  static let joinedEventsMax = UInt64(Limits.commitEventsMax)
  /// In the background, adjacent sealed segments that leave room for more are joined only when there are this
  /// many, so that few events are written more than twice.
  static let neighboursMin = 4

  /// Returns everything that can be sealed or joined, including the tail.
  static func all(_ segments: [SealableSegment], joining: Bool = true) -> [[SealableSegment]] {
    guard joining else { return segments.filter { !$0.isSealed }.map { [$0] } }
    return neighbours(segments).map(\.run).filter { $0.count > 1 || $0.contains { !$0.isSealed } }
  }

  /// Returns the next run to seal in the background, without the tail: a full segment is first sealed alone.
  static func next(_ segments: [SealableSegment]) -> [SealableSegment]? {
    let full = segments.filter { !$0.isTail }
    if let unsealed = full.first(where: { !$0.isSealed }) { return [unsealed] }
    return neighbours(full).first { $0.run.count >= ($0.isFull ? 2 : neighboursMin) }?.run
  }

  /// Groups adjacent segments that fit together. A group is full if the next segment does not fit.
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
