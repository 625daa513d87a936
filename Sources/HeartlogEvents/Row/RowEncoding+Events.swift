// One event as it stands in a row. The same bytes are what the event's hash is taken over.

extension RowEncoding {
  static func byteCount(of record: EventRecord) -> Int {
    switch record {
    case .withheld: 1 + 32
    case .unknown(let kind, let bytes):
      1 + ByteWriter.varintByteCount(kind) + ByteWriter.lengthAndBytesByteCount(bytes.count)
    case .event(let event): byteCount(of: event)
    }
  }

  private static func byteCount(of event: Event) -> Int {
    var count = 1
    count += ByteWriter.lengthAndBytesByteCount(event.library.utf8.count)
    count += ByteWriter.lengthAndBytesByteCount(event.item.utf8.count)
    if let date = event.favoritedDate { count += ByteWriter.varintByteCount(ByteWriter.zigzag(date)) }
    if !event.fields.isEmpty {
      count += ByteWriter.varintByteCount(UInt64(event.fields.count))
      for field in event.fields {
        count += ByteWriter.lengthAndBytesByteCount(field.name.utf8.count) + 1 + byteCount(of: field.value)
      }
    }
    if !event.unknownMembers.isEmpty { count += byteCount(ofMembers: event.unknownMembers) }
    return count
  }

  static func byteCount(of value: FieldValue) -> Int {
    switch value {
    case .null, .bool: 0
    case .int64(let value): ByteWriter.varintByteCount(ByteWriter.zigzag(value))
    case .double: 8
    case .string(let text): ByteWriter.lengthAndBytesByteCount(text.utf8.count)
    case .json(let json): ByteWriter.lengthAndBytesByteCount(json.text.utf8.count)
    case .unknown(_, let bytes): ByteWriter.lengthAndBytesByteCount(bytes.count)
    }
  }

  static func write(_ record: EventRecord, to writer: inout some RowOutput) {
    writer.u8(record.head.rawValue)
    switch record {
    case .withheld(let hash): writer.raw(hash)
    case .unknown(let kind, let bytes):
      writer.varint(kind)
      writer.lengthAndBytes(bytes)
    case .event(let event): write(event, to: &writer)
    }
  }

  private static func write(_ event: Event, to writer: inout some RowOutput) {
    writer.text(event.library)
    writer.text(event.item)
    if let date = event.favoritedDate { writer.zigzag(date) }
    if !event.fields.isEmpty {
      writer.varint(event.fields.count)
      for field in event.fields {
        writer.text(field.name)
        writer.u8(field.tagByte)
        write(field.value, to: &writer)
      }
    }
    if !event.unknownMembers.isEmpty { write(members: event.unknownMembers, to: &writer) }
  }

  private static func write(_ value: FieldValue, to writer: inout some RowOutput) {
    switch value {
    case .null, .bool: return
    case .int64(let value): writer.zigzag(value)
    case .double(let value): writer.u64(value.bitPattern)
    case .string(let text): writer.text(text)
    case .json(let json): writer.text(json.text)
    case .unknown(_, let bytes): writer.lengthAndBytes(bytes)
    }
  }

  /// Names, order and limits are left to `Commit.validate`.
  static func readRecord(from reader: inout ByteReader) throws(MalformedError) -> EventRecord {
    let head = try EventHeader(checking: try reader.u8())
    guard let action = head.action else {
      if head == .withheld { return .withheld(try reader.digest()) }
      let kind = try reader.varint()
      return .unknown(kind: kind, bytes: Array(try reader.lengthAndBytes()))
    }
    let library = try reader.text()
    let item = try reader.text()
    let date = head.hasFavoritedDate ? try reader.zigzag() : nil
    let fields = head.hasFields ? try readFields(from: &reader) : []
    let members = head.hasMembers ? try readMembers(from: &reader) : []
    return .event(
      Event(
        library: library, item: item, action: action, favoritedDate: date, fields: fields,
        unknownMembers: members))
  }

  private static func readFields(from reader: inout ByteReader) throws(MalformedError) -> [Field] {
    // A field has at least a length, one byte of name, and a tag.
    let count = try reader.count(atMost: reader.remaining / 3, "fields")
    guard count > 0 else { throw MalformedError("fields that are announced and absent") }
    var fields: [Field] = []
    fields.reserveCapacity(count)
    for _ in 0..<count {
      let name = try reader.text()
      let tagByte = try reader.u8()
      let value = try readValue(tag: tagByte & ~ValueTag.quietBit, from: &reader)
      fields.append(Field(name: name, value: value, isQuiet: tagByte & ValueTag.quietBit != 0))
    }
    return fields
  }

  private static func readValue(
    tag: UInt8, from reader: inout ByteReader
  ) throws(MalformedError) -> FieldValue {
    switch tag {
    case ValueTag.null: return .null
    case ValueTag.no: return .bool(false)
    case ValueTag.yes: return .bool(true)
    case ValueTag.int64: return .int64(try reader.zigzag())
    case ValueTag.double: return .double(Double(bitPattern: try reader.u64()))
    case ValueTag.string: return .string(try reader.text())
    case ValueTag.json: return .json(try CanonicalJSON(canonical: try reader.text()))
    case ValueTag.unknown: return .unknown(tag: tag, bytes: Array(try reader.lengthAndBytes()))
    default: throw MalformedError("a value with tag byte \(tag)")
    }
  }
}
