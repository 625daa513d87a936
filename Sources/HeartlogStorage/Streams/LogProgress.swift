/// Told now and then how far a long reading is: bytes read, of bytes in all.
package typealias LogProgress = (_ doneBytes: UInt64, _ totalBytes: UInt64) -> Void

/// Adds up what was read of the segments.
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

  /// - Parameter end: where in the segment of `cursor` all was read up to now.
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
