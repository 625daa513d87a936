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

  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [EventHead] {
    let distinctCount = Int(try reader.u8())
    var distinct: [EventHead] = []
    for _ in 0..<distinctCount { distinct.append(try EventHead(checking: try reader.u8())) }
    let places = try IntsColumn.decode(from: &reader, count: count)
    var heads: [EventHead] = []
    heads.reserveCapacity(count)
    for place in places {
      guard place >= 0, place < distinct.count else { throw MalformedError("an event of kind \(place)") }
      heads.append(distinct[Int(place)])
    }
    return heads
  }
}
