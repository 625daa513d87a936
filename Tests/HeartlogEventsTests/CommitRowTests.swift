import Testing

@testable import HeartlogEvents

@Suite("Rows read where they lie")
struct CommitRowTests {
  /// What is read of a row in place, as a commit.
  private func commit(of row: CommitRow) -> Commit {
    var events = row.events
    let records = (0..<row.eventCount).compactMap { _ -> EventRecord? in
      let event = events.next()
      guard let action = event.head.action else { return nil }
      let fields = (0..<event.fieldCount).map { _ in
        let field = events.nextField()
        return Field(
          name: String(decoding: field.name, as: UTF8.self), value: FieldValue(copying: field.value),
          isQuiet: field.isQuiet)
      }
      return .event(
        Event(
          library: String(decoding: event.library, as: UTF8.self),
          item: String(decoding: event.item, as: UTF8.self), action: action,
          favoritedDate: event.favoritedDate == row.wallTime ? nil : event.favoritedDate, fields: fields))
    }
    return Commit(
      replica: row.replica, number: row.number, firstSequence: row.firstSequence, stamp: row.stamp,
      wallTime: row.wallTime, heads: row.heads, records: records)
  }

  private func withoutOrigin(_ commit: Commit) -> Commit {
    Commit(
      replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
      stamp: commit.stamp, wallTime: commit.wallTime, heads: commit.heads, records: commit.records)
  }

  /// Whether a row has only what is read in place.
  private func isPlain(_ commit: Commit) -> Bool {
    commit.unknownMembers.isEmpty
      && commit.records.allSatisfy { record in
        guard case .event(let event) = record, event.unknownMembers.isEmpty else { return false }
        return event.fields.allSatisfy { field in
          if case .unknown = field.value { false } else { true }
        }
      }
  }

  @Test(
    "what is read in place is what is decoded, and only what is of a later version is not", arguments: 0..<200
  )
  func sameAsDecoded(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed))
    for commit in generator.commits(10, eventsMax: 4) {
      try commit.row().withUnsafeBytes { bytes in
        let row = CommitRow(bytes, replica: commit.replica, number: commit.number)
        #expect((row != nil) == isPlain(commit))
        guard let row else { return }
        #expect(row.commit() == commit)
        #expect(self.commit(of: row) == withoutOrigin(commit))
      }
    }
  }

  @Test("of cut and changed rows, those are read in place that are decoded, and no others", arguments: 0..<12)
  func mutations(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    let commits = generator.commits(40, eventsMax: 2).filter(isPlain)
    guard let commit = commits.min(by: { RowEncoding.byteCount(of: $0) < RowEncoding.byteCount(of: $1) })
    else { return }
    let row = try commit.row()
    func expectSame(_ bytes: [UInt8], _ what: String) {
      let decoded = try? Commit.decoded(row: bytes, number: commit.number)
      bytes.withUnsafeBytes { bytes in
        let row = CommitRow(bytes, replica: commit.replica, number: commit.number)
        let isExpected = decoded.map(isPlain) ?? false
        if (row != nil) != isExpected { Issue.record("\(what)") }
        if let row, let decoded, self.commit(of: row) != withoutOrigin(decoded) { Issue.record("\(what)") }
      }
    }
    for count in row.indices { expectSame(Array(row[..<count]), "cut at \(count)") }
    for place in row.indices.prefix(200) {
      for value in 0...UInt8.max where value != row[place] {
        var changed = row
        changed[place] = value
        expectSame(changed, "byte \(place) as \(value)")
      }
    }
  }
}
