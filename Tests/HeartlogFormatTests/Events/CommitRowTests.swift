import Testing

@testable import HeartlogFormat

@Suite("Rows read where they lie")
struct CommitRowTests {
  @Test("what is read of a row is what was written, whatever its events hold", arguments: 0..<200)
  func roundTrip(seed: Int) throws {
    try forEachRow(seed: seed) { row, commit in
      #expect(row.header == commit.header)
      #expect(row.heads == commit.heads)
      #expect(row.commit() == commit)
    }
  }

  @Test("a cursor passes the events whose fields nobody asked for", arguments: 0..<40)
  func cursor(seed: Int) throws {
    try forEachRow(seed: seed) { row, commit in
      var events = row.events
      for (index, record) in commit.records.enumerated() {
        let event = events.next()
        #expect(event.header == record.header)
        if index % 2 == 1 { #expect(event.record == record) }
      }
    }
  }

  private func forEachRow(seed: Int, _ body: (CommitRow, Commit) -> Void) throws {
    var generator = CommitGenerator(seed: UInt64(seed))
    for commit in generator.commits(10, eventsMax: 4) {
      try commit.row().withUnsafeBytes { bytes in
        body(try CommitRow(bytes, replica: commit.replica, number: commit.number), commit)
      }
    }
  }

  @Test(
    "cut and changed rows that are read keep every rule, and are the rows of their commits", arguments: 0..<12
  )
  func mutations(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    let commits = generator.commits(40, eventsMax: 2)
    guard let commit = commits.min(by: { RowEncoding.byteCount(of: $0) < RowEncoding.byteCount(of: $1) })
    else { return }
    let row = try commit.row()
    func expectSound(_ bytes: [UInt8], _ what: String) {
      guard let decoded = try? Commit.decoded(row: bytes, number: commit.number) else { return }
      do throws(MalformedError) { try decoded.validate() } catch { Issue.record("\(what): \(error)") }
      if (try? decoded.row()) != bytes { Issue.record("\(what)") }
    }
    for count in row.indices { expectSound(Array(row[..<count]), "cut at \(count)") }
    for offset in row.indices.prefix(200) {
      for value in 0...UInt8.max where value != row[offset] {
        var changed = row
        changed[offset] = value
        expectSound(changed, "byte \(offset) as \(value)")
      }
    }
  }

  @Test("events are checked alike as values and as rows, and say the same of what is wrong")
  func sameProblems() throws {
    let name = String(repeating: "n", count: Limits.fieldNameBytesMax + 1)
    let broken = [
      Event(library: "A", item: "i", action: .added),
      Event(library: "a", item: "", action: .added),
      Event(library: "a", item: "\u{85}", action: .added),
      Event(library: "a", item: "i", action: .removed, favoritedDate: 1),
      Event(library: "a", item: "i", action: .added, favoritedDate: 5),
      Event(library: "a", item: "i", action: .added, favoritedDate: .max),
      Event(library: "a", item: "i", action: .changed),
      Event(library: "a", item: "i", action: .changed, fields: [Field(name: name, value: .null)]),
      Event(library: "a", item: "i", action: .changed, fields: [Field(name: "n", value: .double(2))]),
      Event(library: "a", item: "i", action: .changed, fields: [Field(name: "n", value: .double(.nan))]),
      Event(
        library: "a", item: "i", action: .changed,
        fields: [Field(name: "b", value: .null), Field(name: "a", value: .null)]),
      Event(
        library: "a", item: "i", action: .added,
        unknownMembers: [UnknownMember(tag: 2, bytes: []), UnknownMember(tag: 1, bytes: [])]),
    ]
    for event in broken {
      let error = #expect(throws: MalformedError.self) { try event.validate(wallTime: 5) }
      var writer = ByteWriter()
      RowEncoding.write(EventRecord.event(event), to: &writer)
      let rowError = #expect(throws: MalformedError.self) {
        try writer.bytes.withUnsafeBytes { bytes in
          var reader = ByteReader(bytes)
          try RowEvent(from: &reader).validate(wallTime: 5)
        }
      }
      #expect(error == rowError)
    }
  }
}
