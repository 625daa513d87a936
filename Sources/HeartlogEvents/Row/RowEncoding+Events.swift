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

  static func write(_ record: EventRecord, to writer: inout (some ByteOutput & ~Copyable)) {
    switch record {
    case .withheld(let hash):
      writer.u8(EventHeader.withheld.rawValue)
      writer.raw(hash)
    case .unknown(let kind, let bytes):
      writer.u8(EventHeader.unknown.rawValue)
      writer.varint(kind)
      writer.lengthAndBytes(bytes)
    case .event(let event): write(event, to: &writer)
    }
  }

  static func write(_ event: some EventView, to writer: inout (some ByteOutput & ~Copyable)) {
    let header = event.header
    writer.u8(header.rawValue)
    event.withNames { library, item in
      writer.lengthAndBytes(library)
      writer.lengthAndBytes(item)
    }
    if let date = event.favoritedDate { writer.zigzag(date) }
    if header.hasFields {
      writer.varint(event.fieldCount)
      event.forEachField { field in
        writer.lengthAndBytes(field.name)
        writer.u8(field.tagByte)
        switch field.value {
        case .null, .bool: break
        case .int64(let value): writer.zigzag(value)
        case .double(let value): writer.u64(value.bitPattern)
        case .string(let bytes), .json(let bytes), .unknown(_, let bytes): writer.lengthAndBytes(bytes)
        }
      }
    }
    if header.hasMembers { write(members: event.unknownMembers, to: &writer) }
  }
}
