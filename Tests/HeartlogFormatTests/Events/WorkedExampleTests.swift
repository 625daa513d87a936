import Testing

@testable import HeartlogFormat

@Suite("Worked examples of the format page")
struct WorkedExampleTests {
  private let page: FormatPage
  private let secret = SegmentSecret(
    firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest(Array(0..<32))))

  init() throws { page = try FormatPage() }

  private var rowCommit: Commit {
    Commit(
      replica: CommitGenerator.replica, number: CommitNumber(rawValue: 7),
      firstSequence: SequenceNumber(rawValue: 300),
      stamp: HybridTimestamp(rawValue: 1_772_438_400_123 << 16 | 2), wallTime: 1_772_438_400_120,
      origin: "cli",
      heads: [
        Head(
          replica: ReplicaID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100),
          commit: CommitNumber(rawValue: 41))
      ],
      records: [
        .event(
          Event(
            library: "papers", item: "2403.01234v2", action: .added, favoritedDate: 1_709_640_000_000,
            fields: [
              Field(name: "@note", value: .null), Field(name: "pages", value: .int64(17)),
              Field(name: "title", value: .string("Logs")),
            ])),
        .event(Event(library: "cities", item: "urn:ngsi-ld:Zürich", action: .toggled(on: false))),
      ])
  }

  private var block: Block {
    let start: Milliseconds = 1_772_438_400_000
    let minuteLater = HybridTimestamp(milliseconds: start + 60_000)
    let paper = ("papers", "2403.01234v2")
    func commit(_ number: UInt64, _ stamp: HybridTimestamp, wallTime: Milliseconds, _ event: Event) -> Commit
    {
      Commit(
        replica: CommitGenerator.replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number), stamp: stamp, wallTime: wallTime, origin: "cli",
        records: [.event(event)])
    }
    return Block(
      replica: CommitGenerator.replica, firstCommit: CommitNumber(rawValue: 1), secrets: [secret],
      commits: [
        commit(
          1, HybridTimestamp(milliseconds: start), wallTime: start,
          Event(
            library: paper.0, item: paper.1, action: .added,
            fields: [Field(name: "title", value: .string("Logs"))])),
        commit(
          2, minuteLater, wallTime: start + 60_000,
          Event(library: paper.0, item: paper.1, action: .toggled(on: false))),
        commit(
          3, HybridTimestamp(rawValue: minuteLater.rawValue + 1), wallTime: start + 59_999,
          Event(
            library: "books", item: "1", action: .changed,
            fields: [Field(name: "currentPosition", value: .double(0.25), isQuiet: true)])),
      ])
  }

  @Test("the row")
  func row() throws {
    #expect(try rowCommit.row() == page.bytes("row"))
    #expect(
      try Commit.decoded(row: page.bytes("row"), number: CommitNumber(rawValue: 7)) == rowCommit)
  }

  @Test("the block before compression")
  func blockBytes() throws {
    #expect(try BlockEncoding.encode(block, compressed: false) == page.bytes("block"))
    #expect(try Block.decoded(page.bytes("block"), like: block) == block)
  }

  @Test("from the segment's secret to the leaf hash")
  func hashes() throws {
    var hasher = SHA256Hasher()
    var salts = Salts([secret])
    guard case .whole(let segmentSecret) = secret.kind else { return }
    #expect(
      Salts.runSecret(0, segmentSecret: segmentSecret, hasher: &hasher) == (try page.digests("run-secret")[0])
    )
    let commit = rowCommit
    var eventSalts: [Salt] = []
    for index in 0..<2 {
      eventSalts.append(try #require(salts.salt(commit: commit.number, event: index, hasher: &hasher)))
    }
    #expect(eventSalts.flatMap(\.bytes) == (try page.bytes("salts")))
    var hashes: [Digest] = []
    for index in 0..<2 { hashes.append(commit.records[index].hash(salt: eventSalts[index], hasher: &hasher)) }
    #expect(hashes == (try page.digests("event-hashes")))
    let leaf = try page.bytes("leaf")
    #expect(SHA256Hasher.digest(of: [0] + leaf) == (try page.digests("leaf-hash")[0]))
    #expect(
      try commit.leafHash(salts: &salts, hasher: &hasher) == page.digests("leaf-hash")[0])
  }

  @Test("the root of a stream")
  func root() throws {
    var hasher = SHA256Hasher()
    var salts = Salts([secret])
    var tree = MerkleTree()
    var leaves: [Digest] = []
    for commit in block.commits {
      leaves.append(try commit.leafHash(salts: &salts, hasher: &hasher))
      tree.append(leaf: leaves[leaves.count - 1])
    }
    #expect(leaves == (try page.digests("leaf-hashes")))
    #expect(tree.root == (try page.digests("root")[0]))
  }

  @Test("the payloads of columns of numbers")
  func ints() throws {
    try check(
      "ints",
      [
        [-3, -3, -3, -3], [1, -200], [10, 13, 17, 12, 16, 11, 14, 15],
        [3, 1, 0, 7, 2, 9, 4, 1, 0, 5, 16, 2], [0, 1, 0, 0, 300, 0, 2, 0, 0, 1, 0, 0, 0, 0, 5],
      ] as [[Int64]], encode: { IntsColumn.encode($0, to: &$1) },
      decode: { try IntsColumn.decode(from: &$0, count: $1) })
  }

  @Test("the payloads of columns of texts")
  func strings() throws {
    let uuid = "00112233-4455-6677-8899-aabbccddeeff"
    try check(
      "strings",
      [
        ["hound", "", "Zürich"], ["2403.01234v2", "10/12:30"], [uuid], [uuid.uppercased()],
        ["2024-02-29T12:00:00Z", "1969-12-31T23:59:59Z"], ["2024-02-29T12:00:00.250Z"],
        ["cs.LG", "cs.DB", "cs.LG", "cs.LG", "cs.LG", "cs.DB", "cs.LG", "cs.LG"],
      ],
      encode: { StringsColumn.encode(Texts($0), to: &$1) },
      decode: { try StringsColumn.decode(from: &$0, count: $1) })
  }

  @Test("the payloads of columns of doubles")
  func doubles() throws {
    try check(
      "doubles", [[1e-30], [0.25, -1.5]], encode: { DoublesColumn.encode($0, to: &$1) },
      decode: { try DoublesColumn.decode(from: &$0, count: $1) })
  }

  @Test("the payload of a column of kinds")
  func kinds() throws {
    try check(
      "kinds", [[2, 3, 0, 3, 2, 3]], encode: { KindsColumn.encode($0, to: &$1) },
      decode: { try KindsColumn.decode(from: &$0, count: $1).map(\.rawValue) })
  }

  private func check<Value: Equatable>(
    _ name: String, _ columns: [[Value]], encode: ([Value], inout ByteWriter) -> Void,
    decode: (inout ByteReader, Int) throws -> [Value]
  ) throws {
    let lines = try page.lines(name)
    #expect(lines.count == columns.count)
    for (line, values) in zip(lines, columns) {
      var writer = ByteWriter()
      encode(values, &writer)
      #expect(writer.bytes == line, "\(values)")
      let decoded = try line.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        let decoded = try decode(&reader, values.count)
        try reader.end()
        return decoded
      }
      #expect(decoded == values)
    }
  }
}

extension Texts {
  init(_ texts: [String]) {
    self.init()
    for text in texts { append(text) }
  }
}
