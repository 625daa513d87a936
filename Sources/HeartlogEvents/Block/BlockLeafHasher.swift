/// The leaves of a block's commits in their stream's tree, in parts that may be hashed on several threads at once.
///
/// A leaf is what `Commit.leafHash` says; here it comes from the columns, without a commit being made.
package struct BlockLeafHasher: Sendable {
  /// What a part adds to the tree.
  package enum Hashes: Sendable {
    /// The root of a full subtree.
    case subtree(Digest)
    /// Leaves, where no subtree is full.
    case leaves([Digest])
  }

  private struct Part: Sendable {
    let places: Range<Int>
    /// In front of the first event.
    let start: BlockColumns.Cursor
  }

  /// Parts are subtrees of so many levels, but for what stands before the first and behind the last.
  fileprivate static let height = 10

  private let block: ColumnBlock
  private let parts: [Part]
  /// Of each distinct item, what a row says of it: library and id with their lengths, one item after the other.
  private var itemRows: [UInt8] = []
  private var itemRowEnds: [Int] = []
  /// The same of each member of each shape, but for its value.
  private let memberRows: [[[UInt8]]]

  /// The leaves of a block's commits.
  package init(_ block: ColumnBlock) {
    self.block = block
    let columns = block.columns
    var parts: [Part] = []
    var cursor = block.start
    var place = block.places.lowerBound
    while place < block.places.upperBound {
      let leaf = block.number(at: place).rawValue - 1
      let left = (1 << Self.height) - Int(leaf & (1 << UInt64(Self.height) - 1))
      let end = min(block.places.upperBound, place + left)
      parts.append(Part(places: place..<end, start: cursor))
      columns.skip(columns.commits.eventCount(in: place..<end), &cursor)
      place = end
    }
    self.parts = parts
    var rows = ByteWriter()
    itemRowEnds.reserveCapacity(columns.items.count)
    for item in columns.items {
      rows.text(columns.libraries[Int(item.library)])
      rows.varint(item.id.count)
      rows.raw(columns.texts.bytes(item.id))
      itemRowEnds.append(rows.count)
    }
    itemRows = rows.bytes
    memberRows = columns.shapes.map { shape in
      shape.members.map { member in
        var row = ByteWriter()
        row.text(member.name)
        row.u8(member.tag | (member.isQuiet ? ValueTag.quietBit : 0))
        return row.bytes
      }
    }
  }

  /// How many parts there are, in the order of their commits.
  package var count: Int { parts.count }

  /// Hashes one part.
  ///
  /// - Throws: where there is no salt for an event that is not withheld.
  package func hashes(of part: Int) throws(MalformedError) -> Hashes {
    let part = parts[part]
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var input = HashInput()
    var cursor = part.start
    guard part.places.count == 1 << Self.height else {
      var leaves: [Digest] = []
      leaves.reserveCapacity(part.places.count)
      for place in part.places { leaves.append(try leaf(place, &cursor, &salts, &hasher, &input)) }
      return .leaves(leaves)
    }
    var tree = MerkleTree()
    for place in part.places {
      tree.append(leaf: try leaf(place, &cursor, &salts, &hasher, &input), hasher: &hasher)
    }
    return .subtree(tree.root)
  }

  private func leaf(
    _ place: Int, _ cursor: inout BlockColumns.Cursor, _ salts: inout Salts, _ hasher: inout SHA256Hasher,
    _ input: inout HashInput
  ) throws(MalformedError) -> Digest {
    let commits = block.columns.commits
    let eventCount = commits.eventCount(at: place)
    let number = block.number(at: place)
    let sequence = block.sequence(at: place)
    // Nearly every commit has one event.
    let first = try eventHash(0, of: number, &cursor, &salts, &hasher, &input)
    var others: [Digest] = []
    for event in 1..<eventCount {
      others.append(try eventHash(event, of: number, &cursor, &salts, &hasher, &input))
    }
    input.removeAll()
    input.u8(0)
    input.replica(block.replica)
    input.u64(number.rawValue)
    input.u64(sequence.rawValue)
    input.u32(UInt32(eventCount))
    input.u64(commits.stamps[place].rawValue)
    input.u64(UInt64(bitPattern: commits.wallTimes[place]))
    if let origin = commits.origin(at: place) {
      origin.withUTF8Bytes {
        input.u32(UInt32($0.count))
        input.raw($0)
      }
    } else {
      input.u32(0)
    }
    let heads = commits.heads[place] ?? []
    input.u32(UInt32(heads.count))
    for head in heads {
      input.replica(head.replica)
      input.u64(head.commit.rawValue)
    }
    let members = commits.members[place] ?? []
    input.u32(UInt32(members.count))
    for member in members {
      input.u64(member.tag)
      input.u32(UInt32(member.bytes.count))
      input.raw(member.bytes)
    }
    input.raw(first)
    for hash in others { input.raw(hash) }
    return input.hash(with: &hasher)
  }

  private func eventHash(
    _ event: Int, of commit: CommitNumber, _ cursor: inout BlockColumns.Cursor, _ salts: inout Salts,
    _ hasher: inout SHA256Hasher, _ input: inout HashInput
  ) throws(MalformedError) -> EventHash {
    let columns = block.columns
    let kind = columns.kinds[cursor.event]
    if kind == .withheld {
      cursor.event += 1
      cursor.withheld += 1
      return columns.withheldHashes[cursor.withheld - 1]
    }
    guard let salt = salts.salt(commit: commit, event: event, hasher: &hasher) else {
      throw MalformedError("no salt for event \(event) of commit \(commit)")
    }
    guard kind.isEvent else {
      cursor.event += 1
      cursor.unknown += 1
      return columns.unknownEvents[cursor.unknown - 1].hash(salt: salt, hasher: &hasher)
    }
    input.removeAll()
    salt.withUnsafeBytes { input.raw($0) }
    input.u8(kind.rawValue)
    let item = Int(columns.itemPlaces[cursor.item])
    let start = item == 0 ? 0 : itemRowEnds[item - 1]
    // Within the rows: the ends rise up to their count.
    itemRows.withUnsafeBytes { input.raw(UnsafeRawBufferPointer(rebasing: $0[start..<itemRowEnds[item]])) }
    cursor.event += 1
    cursor.item += 1
    if kind.hasFavoritedDate {
      input.zigzag(columns.favoritedDates[cursor.favoritedDate])
      cursor.favoritedDate += 1
    }
    if kind.hasFields {
      let shape = Int(columns.shapePlaces[cursor.shape])
      cursor.shape += 1
      let members = columns.shapes[shape].members
      input.varint(UInt64(members.count))
      for place in members.indices {
        input.raw(memberRows[shape][place])
        switch columns.nextValue(of: members[place], &cursor) {
        case .null, .bool: break
        case .int64(let value): input.zigzag(value)
        case .double(let value): input.u64(value.bitPattern)
        case .string(let bytes), .json(let bytes), .unknown(_, let bytes): input.lengthAndBytes(bytes)
        }
      }
    }
    if kind.hasMembers {
      let members = columns.eventMembers[cursor.members]
      cursor.members += 1
      input.varint(UInt64(members.count))
      for member in members {
        input.varint(member.tag)
        input.lengthAndBytes(member.bytes)
      }
    }
    return input.hash(with: &hasher)
  }
}

extension MerkleTree {
  /// Appends what a part of a block adds, in the order of the parts: the tree must end in front of the block's first commit.
  package mutating func append(_ hashes: BlockLeafHasher.Hashes, hasher: inout SHA256Hasher) {
    switch hashes {
    case .subtree(let root): append(subtree: root, height: BlockLeafHasher.height, hasher: &hasher)
    case .leaves(let leaves): for leaf in leaves { append(leaf: leaf, hasher: &hasher) }
    }
  }
}
