import Testing

@testable import HeartlogFormat

@Suite("Block size")
struct BlockSizeTests {
  @Test("a favorites trace of 100,000 events", arguments: [10_000, 50_000])
  func size(blockEvents: Int) throws {
    var trace = FavoritesTrace(events: 100_000)
    var table = ColumnSizes()
    var left = 100_000
    while left > 0 {
      let count = min(left, blockEvents)
      try table.add(FavoritesTrace.block(trace.commits(count)))
      left -= count
    }
    print(table)
    #expect(table.bytesPerEvent <= 14)
  }
}

extension FavoritesTrace {
  static func block(_ commits: [Commit]) -> Block {
    Block(
      replica: commits[0].replica, firstCommit: commits[0].number,
      secrets: [
        SegmentSecret(firstCommit: commits[0].number, kind: .whole(SHA256Hasher.digest(of: [1])))
      ],
      commits: commits)
  }
}

/// What the columns of some blocks cost, before and after compression.
struct ColumnSizes: CustomStringConvertible {
  private var events = 0
  private var rowBytes = 0
  private var blockBytes = 0
  private var rows: [ColumnKey: (encoding: String, raw: Int, stored: Int)] = [:]

  var bytesPerEvent: Double { Double(blockBytes) / Double(events) }

  mutating func add(_ block: Block) throws {
    events += block.eventCount
    rowBytes += block.commits.reduce(0) { $0 + RowEncoding.byteCount(of: $1) }
    blockBytes += try BlockEncoding.encode(block).count
    var gatherer = ColumnBuilder()
    for commit in block.commits { gatherer.add(commit) }
    for (key, bytes) in gatherer.columns().columns {
      let packed = bytes.withUnsafeBytes { LZ4.HighCompressor().compress($0) }
      let before = rows[key] ?? ("", 0, 0)
      rows[key] = ("\(bytes[0])", before.raw + bytes.count, before.stored + (packed?.count ?? bytes.count))
    }
  }

  var description: String {
    func perEvent(_ bytes: Int) -> String {
      let thousandths = String(1_000 * bytes / events)
      let padded = String(repeating: "0", count: max(0, 4 - thousandths.count)) + thousandths
      return "\(padded.dropLast(3)).\(padded.suffix(3))"
    }
    var lines = ["column index encoding raw stored, in bytes an event of \(events)"]
    for key in rows.keys.sorted() {
      guard let row = rows[key] else { continue }
      lines.append("\(key.id) \(key.index) \(row.encoding) \(perEvent(row.raw)) \(perEvent(row.stored))")
    }
    lines.append("rows \(perEvent(rowBytes)) blocks \(perEvent(blockBytes))")
    return lines.joined(separator: "\n")
  }
}
