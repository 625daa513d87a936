import TestSupport
import Testing

@testable import HeartlogState

@Suite("Tables in pages")
struct PagedTableTests {
  /// 32 to a page.
  /// Large enough that a page has patches.
  private struct Record: MappedRecord, Equatable {
    var number: UInt64
    private var copies: (UInt64, UInt64, UInt64)
    private var complements: (UInt64, UInt64, UInt64, UInt64)

    init(_ number: UInt64) {
      self.number = number
      copies = (number, number, number)
      complements = (~number, ~number, ~number, ~number)
    }

    static func == (a: Record, b: Record) -> Bool {
      a.number == b.number && a.copies == b.copies && a.complements == b.complements
    }

    static var layout: [MappedInteger<Self>] {
      [
        .init(\.number, at: 0), .init(\.copies.0, at: 8), .init(\.copies.1, at: 16),
        .init(\.copies.2, at: 24), .init(\.complements.0, at: 32), .init(\.complements.1, at: 40),
        .init(\.complements.2, at: 48), .init(\.complements.3, at: 56),
      ]
    }
    static var layoutBytes: Int { 64 }
    static var isPacked: Bool { true }
  }

  /// A table as it lies in a snapshot.
  private func table(_ records: [Record]) throws -> PagedTable<Record> {
    var bytes: [UInt8] = []
    var writer = SnapshotWriter(id: (1, 2)) { bytes.append(contentsOf: $0) }
    let place = try writer.records(records.count) { records[$0] }
    try writer.flush()
    let mapped = MappedBytes(bytes)
    let source = SnapshotSource(mapped.bytes, owner: mapped, seed: writer.seed)
    return PagedTable(PackedRecords(source, index: place.offset, count: place.count, of: Record.self))
  }

  private func contents(_ table: PagedTable<Record>) -> [Record] { (0..<table.count).map { table[$0] } }

  @Test(
    "what is written lies over the snapshot, record by record, and copies keep what they had",
    arguments: 1...40 as ClosedRange<UInt64>)
  func written(seed: UInt64) throws {
    print("paged table: seed \(seed)")
    var generator = SeededGenerator(seed: seed &* 41)
    var expected = (0..<Int.random(in: 1...300, using: &generator)).map { Record(UInt64($0)) }
    var table = try table(expected)
    var copies: [(table: PagedTable<Record>, expected: [Record])] = []
    for step in 0..<Int.random(in: 1...500, using: &generator) {
      let record = Record(.random(in: .min ... .max, using: &generator))
      if generator.isTrue(oneIn: 40) {
        table.append(record)
        expected.append(record)
      } else if generator.isTrue(oneIn: 3) {
        let first = Int.random(in: 0..<expected.count, using: &generator)
        for index in first..<min(first + Int.random(in: 1...9, using: &generator), expected.count)
        where table[index] != expected[index] {
          Issue.record("record \(index), read in step \(step)")
        }
      } else {
        // Some pages more than others, so that each kind is met.
        let end = generator.isTrue(oneIn: 2) ? expected.count : min(40, expected.count)
        let index = Int.random(in: 0..<end, using: &generator)
        table.write(index).pointee.number = record.number
        expected[index].number = record.number
        if table[index] != expected[index] { Issue.record("step \(step)") }
      }
      if generator.isTrue(oneIn: 80) { copies.append((table, expected)) }
    }
    #expect(contents(table) == expected)
    for (copy, expected) in copies { #expect(contents(copy) == expected) }
  }
}
