extension ColumnBlock {
  /// Throws if the row encodings of the commits, all that were read, would exceed the size allowed for a block.
  func checkRowByteCount() throws(MalformedError) {
    if columns.rowByteCountBound <= Limits.blockRowBytesMax { return }
    try Block.validateRowByteCount(rowByteCount - columns.withheldHashes.count * Digest.byteCount)
  }

  /// The total size of the row encodings of the commits: `RowEncoding.byteCount(of:)` of each.
  var rowByteCount: Int {
    let commits = columns.commits
    var events = BlockEvents(self)
    return RowEncoding.byteCount { writer in
      for index in commitIndices {
        RowEncoding.write(
          header(at: index), origin: commits.origin(at: index), heads: commits.heads[index] ?? [],
          unknownMembers: commits.members[index] ?? [], to: &writer)
        for _ in 0..<commits.eventCount(at: index) {
          events.write(to: &writer)
          events.pass()
        }
      }
    }
  }
}

extension BlockColumns {
  /// An upper bound of `rowByteCount` of the whole block, computed without reading any event: sufficient for most blocks.
  var rowByteCountBound: Int {
    let varintMax = 10
    // Presence, stamp, wall time, sequence number and number of events.
    let originMax = commits.origins.reduce(0) { max($0, $1.utf8.count) }
    var count = commits.count * (1 + 8 + 3 * varintMax + ByteWriter.lengthAndBytesByteCount(originMax))
    count += partsByteCount
    let libraryMax = libraries.reduce(0) { max($0, $1.utf8.count) }
    let itemMax = items.reduce(0) { max($0, $1.id.count) }
    count +=
      itemIndices.count
      * (ByteWriter.lengthAndBytesByteCount(libraryMax) + ByteWriter.lengthAndBytesByteCount(itemMax))
    count += kinds.count + varintMax * favoritedDates.count + shapeRowByteCount + rareByteCount
    for column in values { count += varintMax * column.range.count + column.byteCount }
    return count
  }

  /// Heads and members of commits.
  private var partsByteCount: Int {
    RowEncoding.byteCount { writer in
      for heads in commits.heads.values { RowEncoding.write(heads: heads, to: &writer) }
      for members in commits.members.values { RowEncoding.write(members: members, to: &writer) }
    }
  }

  /// Members, withheld records, and records of a later version.
  private var rareByteCount: Int {
    RowEncoding.byteCount { writer in
      for members in eventMembers { RowEncoding.write(members: members, to: &writer) }
      for hash in withheldHashes { RowEncoding.write(.withheld(hash), to: &writer) }
      for record in unknownEvents { RowEncoding.write(record, to: &writer) }
    }
  }
}
