/// The names and kinds of an event's fields, which many events share.
package struct Shape: Sendable {
  package struct Member: Sendable {
    package let name: String
    package let tag: UInt8
    package let isQuiet: Bool
    /// The place of the column that holds the value; nil for tags that have none.
    package let values: Int?
  }

  package let members: [Member]
}

/// The values of one field name and tag, in the order of the events.
package enum ValueColumn: Sendable {
  case ints([Int64])
  case doubles([Double])
  case strings([String])
  case json([CanonicalJSON])
  case opaque([[UInt8]], tag: UInt8)
}

extension BlockColumns {
  /// Reads the shapes, the names and the values that the shapes ask for.
  static func shapes(
    _ table: inout ColumnTable, _ uses: NewOrKnown
  ) throws(MalformedError) -> ([Shape], [ValueColumn]) {
    let raw = try table.opaque(.shapes, count: uses.distinctCount) {
      (reader) throws(MalformedError) in try readShape(from: &reader)
    }
    var namePlaces: [Int64] = []
    for shape in raw { for member in shape { namePlaces.append(member.name) } }
    let names = try table.table(.fieldNames, count: try firstUses(namePlaces, what: "a field name"))
    for name in names { try NameRules.checkFieldName(name) }
    try checkRoom(raw, uses, names: names)

    var useCounts = [Int](repeating: 0, count: raw.count)
    for place in uses.places { useCounts[place] += 1 }
    // How many values each column has, and where it stands in `columns`.
    var counts: [ColumnKey: Int] = [:]
    for (shape, useCount) in zip(raw, useCounts) {
      for member in shape where member.hasValue { counts[member.key, default: 0] += useCount }
    }
    let keys = counts.keys.sorted()
    var places: [ColumnKey: Int] = [:]
    var columns: [ValueColumn] = []
    for key in keys {
      places[key] = columns.count
      columns.append(try readValues(&table, key, count: counts[key] ?? 0))
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
            values: member.hasValue ? places[member.key] : nil))
      }
      shapes.append(Shape(members: members))
    }
    return (shapes, columns)
  }

  private struct RawMember {
    let name: Int64
    let tag: UInt8
    let isQuiet: Bool

    var hasValue: Bool { tag > ValueTag.yes }
    /// `name` was checked to be a place in a table before this is asked for.
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

  /// Refuses what no block has room for, before as many fields are made: null and constant values take no
  /// bytes of their own, so that a short block may claim any number of fields.
  private static func checkRoom(
    _ shapes: [[RawMember]], _ uses: NewOrKnown, names: [String]
  ) throws(MalformedError) {
    let sizes = shapes.map { shape in
      shape.reduce(0) {
        let name = names[Int($1.name)].utf8.count
        return $0 + ByteWriter.lengthAndBytesByteCount(name) + ($1.hasValue ? 2 : 1)
      }
    }
    var room = Limits.blockRowBytesMax
    for place in uses.places {
      room -= sizes[place]
      guard room >= 0 else {
        throw MalformedError("a block whose rows pass \(Limits.blockRowBytesMax) bytes")
      }
    }
  }

  private static func readValues(
    _ table: inout ColumnTable, _ key: ColumnKey, count: Int
  ) throws(MalformedError) -> ValueColumn {
    let tag = UInt8(key.index % 64)
    switch tag {
    case ValueTag.int64: return .ints(try table.ints(key, count: count))
    case ValueTag.double: return .doubles(try table.doubles(key, count: count))
    case ValueTag.string:
      let texts = try table.strings(key, count: count)
      for text in texts { try FieldValue.checkByteCount(text.utf8.count) }
      return .strings(texts)
    case ValueTag.json:
      var values: [CanonicalJSON] = []
      values.reserveCapacity(count)
      for text in try table.strings(key, count: count) { values.append(try CanonicalJSON(canonical: text)) }
      return .json(values)
    default:
      let values = try table.opaque(key, count: count) {
        (reader) throws(MalformedError) in Array(try reader.lengthAndBytes())
      }
      return .opaque(values, tag: tag)
    }
  }
}
