/// The head bytes of events: see "kinds" in docs/format.md.
enum KindsColumn {
  /// - Parameter heads: at least one.
  static func encode(_ heads: [UInt8], to writer: inout ByteWriter) {
    var counts = [Int](repeating: 0, count: 256)
    for head in heads { counts[Int(head)] += 1 }
    let distinct = (0..<256).filter { counts[$0] > 0 }
      .sorted { (counts[$1], $0) < (counts[$0], $1) }
    var places = [Int64](repeating: 0, count: 256)
    writer.u8(UInt8(distinct.count))
    for (place, head) in distinct.enumerated() {
      writer.u8(UInt8(head))
      places[head] = Int64(place)
    }
    IntsColumn.encode(heads.map { places[Int($0)] }, to: &writer)
  }

  /// - Parameter places: scratch space for one number per event.
  static func decode(
    from reader: inout ByteReader, places: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) -> [EventHeader] {
    let distinctCount = Int(try reader.u8())
    var distinct: [EventHeader] = []
    for _ in 0..<distinctCount { distinct.append(try EventHeader(checking: try reader.u8())) }
    try IntsColumn.decode(from: &reader, into: places)
    var highest: UInt64 = 0
    for place in places { highest = max(highest, UInt64(bitPattern: place)) }
    guard highest < UInt64(distinctCount) else { throw MalformedError("an event of kind \(highest)") }
    return [EventHeader](unsafeUninitializedCapacity: places.count) { heads, count in
      // Each index is within `distinct`, as checked above.
      distinct.withUnsafeBufferPointer { distinct in
        for place in places.indices { heads.initializeElement(at: place, to: distinct[Int(places[place])]) }
      }
      count = places.count
    }
  }
}
