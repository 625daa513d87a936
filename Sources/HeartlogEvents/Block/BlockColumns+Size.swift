extension BlockColumns {
  /// What the row encodings of the commits would take together: `RowEncoding.byteCount(of:)` of each, from the columns.
  ///
  /// - Parameter firstSequence: the sequence number of the first event.
  func rowByteCount(firstSequence: SequenceNumber) -> Int {
    headerByteCount(firstSequence: firstSequence) + eventByteCount + valueByteCount
  }

  private func headerByteCount(firstSequence: SequenceNumber) -> Int {
    var count = 0
    var sequence = firstSequence.rawValue
    for (place, eventCount) in commits.eventCounts.enumerated() {
      let offset = commits.wallTimes[place] &- commits.stamps[place].milliseconds
      count += 1 + 8 + ByteWriter.varintByteCount(ByteWriter.zigzag(offset))
      count += ByteWriter.varintByteCount(sequence) + ByteWriter.varintByteCount(UInt64(eventCount))
      if let origin = commits.origins[place] {
        count += ByteWriter.lengthAndBytesByteCount(origin.utf8.count)
      }
      let heads = commits.heads[place]
      if !heads.isEmpty { count += RowEncoding.byteCount(ofHeads: heads) }
      let members = commits.members[place]
      if !members.isEmpty { count += RowEncoding.byteCount(ofMembers: members) }
      sequence += UInt64(eventCount)
    }
    return count
  }

  /// All of the events but the values of their fields.
  private var eventByteCount: Int {
    // What is withheld has a hash in place of all that follows the head byte.
    var count = kinds.count + 32 * withheldHashes.count
    let libraryByteCounts = libraries.map { ByteWriter.lengthAndBytesByteCount($0.utf8.count) }
    let itemByteCounts = items.map {
      libraryByteCounts[$0.library] + ByteWriter.lengthAndBytesByteCount($0.id.utf8.count)
    }
    for place in itemPlaces { count += itemByteCounts[place] }
    for date in favoritedDates { count += ByteWriter.varintByteCount(ByteWriter.zigzag(date)) }
    let shapeByteCounts = shapes.map { shape in
      shape.members.reduce(ByteWriter.varintByteCount(UInt64(shape.members.count))) {
        $0 + ByteWriter.lengthAndBytesByteCount($1.name.utf8.count) + 1
      }
    }
    for place in shapePlaces { count += shapeByteCounts[place] }
    for members in eventMembers { count += RowEncoding.byteCount(ofMembers: members) }
    // Their head bytes are among `kinds`.
    for record in unknownEvents { count += RowEncoding.byteCount(of: record) - 1 }
    return count
  }

  private var valueByteCount: Int {
    var count = 0
    for column in values {
      switch column {
      case .ints(let values):
        for value in values { count += ByteWriter.varintByteCount(ByteWriter.zigzag(value)) }
      case .doubles(let values): count += 8 * values.count
      case .strings(let values):
        for value in values { count += ByteWriter.lengthAndBytesByteCount(value.utf8.count) }
      case .json(let values):
        for value in values { count += ByteWriter.lengthAndBytesByteCount(value.text.utf8.count) }
      case .opaque(let values, _):
        for value in values { count += ByteWriter.lengthAndBytesByteCount(value.count) }
      }
    }
    return count
  }
}
