/// Called from time to time during a long read with the bytes read so far and the total.
package typealias LogProgress = (_ doneBytes: UInt64, _ totalBytes: UInt64) -> Void

/// Adds up the bytes read from the segments.
struct ProgressMeter {
  private let report: LogProgress?
  private let total: UInt64
  private var done: UInt64 = 0
  private var segment: SegmentID?
  private var offset: UInt64 = 0

  init(_ report: LogProgress?, total: UInt64) {
    self.report = report
    self.total = total
  }

  /// Adds what was read of a segment since the last call, and reports the sum.
  ///
  /// - Parameter end: The offset in the segment of `cursor` up to which everything was read.
  mutating func advance(_ cursor: SegmentCursor, to end: UInt64) {
    guard let report else { return }
    if segment != cursor.header.id {
      segment = cursor.header.id
      offset = 0
    }
    done += end - offset
    offset = end
    report(min(done, total), total)
  }
}
