extension Block {
  /// Checks every rule that the format states for a block and its commits.
  package func validate() throws(MalformedError) {
    try validateSize()
    guard commits[0].replica == replica, commits[0].number == firstCommit else {
      throw MalformedError("a block of \(replica) from commit \(firstCommit) begins with another commit")
    }
    var stream = StreamContinuity(behind: commits[0].header)
    for (index, commit) in commits.enumerated() {
      try commit.validate()
      if index > 0 { try stream.extend(by: commit.header) }
    }
    try Head.validate(headsAtStart, of: replica)
    try SegmentSecret.validate(secrets, covering: firstCommit...lastCommit) { commits[$0].eventCount }
  }

  /// The limits on all commits together.
  func validateSize() throws(MalformedError) {
    guard !commits.isEmpty else { throw MalformedError("a block without commits") }
    guard eventCount <= Limits.blockEventsMax else {
      throw MalformedError("a block of \(eventCount) events, the most is \(Limits.blockEventsMax)")
    }
    try Self.validateRowByteCount(commits.reduce(0) { $0 + RowEncoding.limitedByteCount(of: $1) })
  }

  static func validateRowByteCount(_ rowByteCount: Int) throws(MalformedError) {
    guard rowByteCount <= Limits.blockRowBytesMax else {
      throw MalformedError("a block of \(rowByteCount) bytes of rows, the most is \(Limits.blockRowBytesMax)")
    }
  }
}

extension SegmentSecret {
  /// Checks the secrets of a block: every commit is covered by one of them.
  ///
  /// - Parameter eventCount: the number of events of the commit at an index of the block.
  static func validate(
    _ secrets: [SegmentSecret], covering commits: ClosedRange<CommitNumber>, eventCount: (Int) -> Int
  ) throws(MalformedError) {
    let (firstCommit, lastCommit) = (commits.lowerBound, commits.upperBound)
    guard let first = secrets.first, first.firstCommit.rawValue >= 1 else {
      throw MalformedError("a block without a secret")
    }
    guard first.firstCommit <= firstCommit else {
      throw MalformedError("a block whose first commit no secret serves")
    }
    for (index, secret) in secrets.enumerated() {
      if index > 0 {
        guard secret.firstCommit > max(secrets[index - 1].firstCommit, firstCommit) else {
          throw MalformedError("secrets that are not sorted by first commit")
        }
      }
      guard secret.firstCommit <= lastCommit else { throw MalformedError("a secret that serves no commit") }
      let next =
        index + 1 < secrets.count ? secrets[index + 1].firstCommit.rawValue : lastCommit.rawValue &+ 1
      // If the next secret's first commit is out of order, the next iteration of this loop throws.
      let last = max(next, secret.firstCommit.rawValue &+ 1) - 1
      let served = max(secret.firstCommit, firstCommit)
      guard served.rawValue <= last else {
        throw MalformedError("secrets that are not sorted by first commit")
      }
      try secret.validate(served...CommitNumber(rawValue: last)) { commit in
        eventCount(Int(commit.rawValue - firstCommit.rawValue))
      }
    }
  }

  /// Checks the parts of a secret that covers these commits.
  private func validate(
    _ served: ClosedRange<CommitNumber>, eventCount: (CommitNumber) -> Int
  ) throws(MalformedError) {
    guard case .runs(let runs) = kind else { return }
    guard let first = run(of: served.lowerBound), let last = run(of: served.upperBound) else {
      throw MalformedError("a secret of more than 2^32 runs")
    }
    for (index, run) in runs.enumerated() {
      guard (first...last).contains(run.run), index == 0 || runs[index - 1].run < run.run else {
        throw MalformedError("a secret's run \(run.run) out of place")
      }
      guard case .salts(let salts) = run.kind else { continue }
      guard !salts.isEmpty else { throw MalformedError("a run without salts") }
      for (index, salt) in salts.enumerated() {
        guard served.contains(salt.commit), self.run(of: salt.commit) == run.run,
          salt.event >= 0,
          salt.event < eventCount(salt.commit),
          index == 0 || (salts[index - 1].commit, salts[index - 1].event) < (salt.commit, salt.event)
        else { throw MalformedError("a salt of event \(salt.event) of commit \(salt.commit) out of place") }
      }
    }
  }
}

/// The names and kinds of an event's fields, shared by many events.
package struct Shape: Sendable {
  package struct Member: Sendable {
    package let name: String
    package let tag: UInt8
    package let isQuiet: Bool
    /// The index of the column that holds the value; nil for tags that have none.
    package let values: Int?
  }

  package let members: [Member]
}

/// The values of one field name and tag, in the order of the events.
package struct ValueColumn: Sendable {
  package let tag: UInt8
  /// Their range in `BlockColumns.words`: whole numbers as they are, doubles as their bits, all others as slices of the texts.
  package let range: Range<Int>
  /// The size of all slices in bytes.
  let byteCount: Int
}

extension BlockColumns {
  /// Reads the shapes, the names and the values that the shapes require.
  static func shapes(
    _ table: inout ColumnReader, _ uses: NewOrKnown, texts: inout TextBuilder
  ) throws(MalformedError) -> ([Shape], rowByteCount: Int, [ValueColumn], words: [Int64]) {
    let raw = try table.opaque(.shapes, count: uses.distinctCount) {
      (reader) throws(MalformedError) in try readShape(from: &reader)
    }
    var nameIndices: [Int64] = []
    for shape in raw { for member in shape { nameIndices.append(member.name) } }
    let nameCount = try nameIndices.withUnsafeBufferPointer { (indices) throws(MalformedError) in
      try firstUses(indices, what: "a field name")
    }
    let names = try table.table(.fieldNames, count: nameCount)
    for name in names { try NameRules.checkFieldName(name) }
    var useCounts = [Int](repeating: 0, count: raw.count)
    for index in uses.indices { useCounts[Int(index)] += 1 }
    let rowByteCount = try rowByteCount(raw, useCounts, names: names)

    // The number of values of each column, and its position among them.
    var counts: [ColumnKey: Int] = [:]
    for (shape, useCount) in zip(raw, useCounts) {
      for member in shape where member.hasValue { counts[member.key, default: 0] += useCount }
    }
    let keys = counts.keys.sorted()
    var columnIndices: [ColumnKey: Int] = [:]
    var columns: [ValueColumn] = []
    let words: [Int64] = try Array(count: counts.values.reduce(0, +)) { (words) throws(MalformedError) in
      var start = 0
      for key in keys {
        columnIndices[key] = columns.count
        let range = start..<start + (counts[key] ?? 0)
        let output = UnsafeMutableBufferPointer(rebasing: words[range])
        columns.append(try readValues(&table, key, range, into: output, texts: &texts))
        start = range.upperBound
      }
    }
    var shapes: [Shape] = []
    for shape in raw {
      var members: [Shape.Member] = []
      for member in shape {
        let name = names[Int(member.name)]
        if let last = members.last, !last.name.bytesPrecede(name) {
          throw MalformedError("fields that are not sorted by the bytes of their names")
        }
        members.append(
          Shape.Member(
            name: name, tag: member.tag, isQuiet: member.isQuiet,
            values: member.hasValue ? columnIndices[member.key] : nil))
      }
      shapes.append(Shape(members: members))
    }
    return (shapes, rowByteCount, columns, words)
  }

  private struct RawMember {
    let name: Int64
    let tag: UInt8
    let isQuiet: Bool

    var hasValue: Bool { tag > ValueTag.yes }
    /// `name` has been checked to be an index in a table before this is called.
    var key: ColumnKey { .values(name: Int(name), tag: tag) }
  }

  private static func readShape(from reader: inout ByteReader) throws(MalformedError) -> [RawMember] {
    // A field takes at least two bytes.
    let count = try reader.count(atMost: reader.remaining / 2, "fields of a shape")
    guard count > 0 else { throw MalformedError("a shape without fields") }
    var shape: [RawMember] = []
    shape.reserveCapacity(count)
    for _ in 0..<count {
      let name = try reader.count(atMost: Limits.blockRowBytesMax, "the place of a field name")
      let tagByte = try reader.u8()
      let tag = tagByte & ~ValueTag.quietBit
      guard tag <= ValueTag.unknown.upperBound else {
        throw MalformedError("a value with tag byte \(tagByte)")
      }
      shape.append(
        RawMember(name: Int64(name), tag: tag, isQuiet: tagByte & ValueTag.quietBit != 0))
    }
    return shape
  }

  /// The size in rows of the fields of all events, except the values that have a column.
  ///
  /// Rejects sizes that no block has room for, before as many fields are created: null and constant values take no
  /// bytes of their own, so a short block may claim any number of fields.
  private static func rowByteCount(
    _ shapes: [[RawMember]], _ useCounts: [Int], names: [String]
  ) throws(MalformedError) -> Int {
    var rowByteCount = 0
    var leastByteCount = 0
    for (shape, useCount) in zip(shapes, useCounts) {
      var size = 0
      var valueCount = 0
      for member in shape {
        size += ByteWriter.lengthAndBytesByteCount(names[Int(member.name)].utf8.count) + 1
        if member.hasValue { valueCount += 1 }
      }
      // With 64 MiB of columns, names of 256 bytes and 50,000 uses, no product or sum exceeds 2^53.
      rowByteCount += useCount * (size + ByteWriter.varintByteCount(UInt64(shape.count)))
      // A value takes at least one byte.
      leastByteCount += useCount * (size + valueCount)
    }
    guard leastByteCount <= Limits.blockRowBytesMax else {
      throw MalformedError("a block whose rows pass \(Limits.blockRowBytesMax) bytes")
    }
    return rowByteCount
  }

  private static func readValues(
    _ table: inout ColumnReader, _ key: ColumnKey, _ range: Range<Int>,
    into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> ValueColumn {
    let tag = UInt8(key.index % 64)
    var byteCount = 0
    switch tag {
    case ValueTag.int64: try table.ints(key, into: output)
    case ValueTag.double: try table.doubles(key, into: output)
    case ValueTag.string:
      let traits = try table.texts(key, into: output, texts: &texts)
      try MalformedError.check(BorrowedValue.problem(ofByteCount: traits.longest))
      byteCount = traits.byteCount
    case ValueTag.json:
      let traits = try table.texts(key, into: output, texts: &texts)
      try checkJSON(UnsafeBufferPointer(output), isRepeated: traits.isRepeated, texts)
      byteCount = traits.byteCount
    default: byteCount = try table.opaque(key, into: output, texts: &texts).byteCount
    }
    return ValueColumn(tag: tag, range: range, byteCount: byteCount)
  }

  /// Throws if a text is not canonical, byte for byte. Each text is checked once, however often it occurs.
  private static func checkJSON(
    _ slices: UnsafeBufferPointer<Int64>, isRepeated: Bool, _ texts: borrowing TextBuilder
  ) throws(MalformedError) {
    var known: Set<Int64> = []
    for slice in slices {
      if isRepeated, !known.insert(slice).inserted { continue }
      _ = try CanonicalJSON(canonical: texts.bytes(TextSlice(word: slice)))
    }
  }
}

/// The leaves of a block's commits in their stream's tree, in parts that can be hashed concurrently.
///
/// A leaf is defined by `Commit.leafHash`; here it is computed from the columns, without creating a commit.
package struct BlockLeafHasher: Sendable {
  /// The nodes that a part adds to the tree: the roots of its subtrees of one height, leaves if the part is not a full subtree.
  package struct Hashes: Sendable {
    package let height: Int
    package let roots: [Digest]
  }

  private struct Part: Sendable {
    let commitIndices: Range<Int>
    /// A cursor before the first event.
    let start: BlockColumns.Cursor
  }

  /// Parts are subtrees with this many levels, except those before the first and after the last such subtree.
  fileprivate static let height = 10

  private let block: ColumnBlock
  private let parts: [Part]

  /// The leaves of a block's commits.
  package init(_ block: ColumnBlock) {
    self.block = block
    let columns = block.columns
    var parts: [Part] = []
    var cursor = block.start
    var index = block.commitIndices.lowerBound
    while index < block.commitIndices.upperBound {
      let leaf = block.number(at: index).rawValue - 1
      let left = (1 << Self.height) - Int(leaf & (1 << UInt64(Self.height) - 1))
      let end = min(block.commitIndices.upperBound, index + left)
      parts.append(Part(commitIndices: index..<end, start: cursor))
      columns.skip(columns.commits.eventCount(in: index..<end), &cursor)
      index = end
    }
    self.parts = parts
  }

  /// The number of parts, in the order of their commits.
  package var count: Int { parts.count }

  /// Hashes one part.
  ///
  /// - Throws: if there is no salt for an event that is not withheld.
  package func hashes(of part: Int) throws(MalformedError) -> Hashes {
    let part = parts[part]
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var input = LeafInput()
    var events = BlockEvents(block, at: part.start)
    func leaf(_ index: Int) throws(MalformedError) -> Digest {
      let commits = block.columns.commits
      return try input.hash(
        block.header(at: index), origin: commits.origin(at: index), heads: commits.heads[index] ?? [],
        unknownMembers: commits.members[index] ?? [], salts: &salts, hasher: &hasher
      ) { _, input in
        defer { events.pass() }
        if let hash = events.withheldHash { return hash }
        events.write(to: &input)
        return nil
      }
    }
    guard part.commitIndices.count == 1 << Self.height else {
      return Hashes(height: 0, roots: try part.commitIndices.map(leaf))
    }
    let groupLeaves = Int(MerkleNodes.groupLeaves)
    let firsts = stride(
      from: part.commitIndices.lowerBound, to: part.commitIndices.upperBound, by: groupLeaves)
    let roots = try firsts.map { (first) throws(MalformedError) in
      var tree = MerkleTree()
      for index in first..<first + groupLeaves { tree.append(leaf: try leaf(index), hasher: &hasher) }
      return tree.root
    }
    return Hashes(height: MerkleNodes.heightMin, roots: roots)
  }
}

extension MerkleTree {
  /// Appends the nodes of a part of a block, in the order of the parts: the tree must end before the block's first commit.
  ///
  /// - Parameter completing: As for `append(leaf:)`, except for subtrees smaller than those of `MerkleNodes`.
  package mutating func append(
    _ hashes: BlockLeafHasher.Hashes, hasher: inout SHA256Hasher,
    completing: (Digest, Int) -> Void = { _, _ in }
  ) {
    for root in hashes.roots {
      append(subtree: root, height: hashes.height, hasher: &hasher, completing: completing)
    }
  }
}
