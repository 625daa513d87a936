extension BlockColumns {
  /// Throws if the row encodings of the commits would exceed the size allowed for a block.
  func checkRowByteCount(firstSequence: SequenceNumber) throws(MalformedError) {
    if rowByteCountBound <= Limits.blockRowBytesMax { return }
    try Block.validateRowByteCount(rowByteCount(firstSequence: firstSequence))
  }

  /// An upper bound of `rowByteCount`, computed without reading any event: sufficient for most blocks.
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

  /// The total size of the row encodings of the commits: `RowEncoding.byteCount(of:)` of each, computed from the columns.
  ///
  /// - Parameter firstSequence: the sequence number of the first event.
  func rowByteCount(firstSequence: SequenceNumber) -> Int {
    headerByteCount(firstSequence: firstSequence) + eventByteCount + valueByteCount
  }

  private func headerByteCount(firstSequence: SequenceNumber) -> Int {
    let originByteCounts = [0] + commits.origins.map { ByteWriter.lengthAndBytesByteCount($0.utf8.count) }
    var count = partsByteCount
    for index in 0..<commits.count {
      let offset = commits.wallTimes[index] &- commits.stamps[index].milliseconds
      let sequence = firstSequence.rawValue + UInt64(commits.eventStarts[index])
      count += 1 + 8 + ByteWriter.varintByteCount(ByteWriter.zigzag(offset))
      count += ByteWriter.varintByteCount(sequence)
      count += ByteWriter.varintByteCount(UInt64(commits.eventCount(at: index)))
      count += originByteCounts[Int(commits.originIndices[index])]
    }
    return count
  }

  /// Heads and members of commits.
  private var partsByteCount: Int {
    var count = 0
    for heads in commits.heads.values {
      count += RowEncoding.byteCount { RowEncoding.write(heads: heads, to: &$0) }
    }
    for members in commits.members.values {
      count += RowEncoding.byteCount { RowEncoding.write(members: members, to: &$0) }
    }
    return count
  }

  /// All parts of the events except the values of their fields.
  private var eventByteCount: Int {
    var count = kinds.count + shapeRowByteCount + rareByteCount
    let libraryByteCounts = libraries.map { ByteWriter.lengthAndBytesByteCount($0.utf8.count) }
    let itemByteCounts = items.map {
      libraryByteCounts[Int($0.library)] + ByteWriter.lengthAndBytesByteCount($0.id.count)
    }
    for index in itemIndices { count += itemByteCounts[Int(index)] }
    for date in favoritedDates { count += ByteWriter.varintByteCount(ByteWriter.zigzag(date)) }
    return count
  }

  /// Members, withheld records, and records of a later version.
  private var rareByteCount: Int {
    // A withheld record has a hash instead of everything after the head byte.
    var count = 32 * withheldHashes.count
    for members in eventMembers {
      count += RowEncoding.byteCount { RowEncoding.write(members: members, to: &$0) }
    }
    // Their head bytes are counted in `kinds`.
    for record in unknownEvents { count += RowEncoding.byteCount { RowEncoding.write(record, to: &$0) } - 1 }
    return count
  }

  private var valueByteCount: Int {
    var count = 0
    for column in values {
      switch column.tag {
      case ValueTag.int64:
        for index in column.range { count += ByteWriter.varintByteCount(ByteWriter.zigzag(words[index])) }
      case ValueTag.double: count += 8 * column.range.count
      default:
        count += column.byteCount
        for index in column.range {
          count += ByteWriter.varintByteCount(UInt64(TextSlice(word: words[index]).count))
        }
      }
    }
    return count
  }
}
