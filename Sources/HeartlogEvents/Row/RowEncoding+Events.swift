// One event as stored in a row. The event's hash is computed over the same bytes.

extension RowEncoding {
  /// Appends one event, as it is in a row.
  package static func append(_ event: Event, to output: inout [UInt8]) {
    var writer = ByteWriter(output)
    write(event, to: &writer)
    output = writer.bytes
  }

  /// The event that `append` has written to exactly these bytes.
  package static func event(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) -> Event {
    var reader = ByteReader(bytes)
    let row = try RowEvent(from: &reader)
    try reader.end()
    guard let event = row.record.event else { throw MalformedError("a placeholder where an event should be") }
    return event
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
        default: if let bytes = field.value.bytes { writer.lengthAndBytes(bytes) }
        }
      }
    }
    if header.hasMembers { write(members: event.unknownMembers, to: &writer) }
  }
}
