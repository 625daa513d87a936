/// The head bytes of events: see "kinds" in docs/format.md.
enum KindsColumn {
  /// - Parameter heads: at least one.
  static func encode(_ heads: [UInt8], to writer: inout ByteWriter) {
    var counts = [Int](repeating: 0, count: 256)
    for head in heads { counts[Int(head)] += 1 }
    let distinct = (0..<256).filter { counts[$0] > 0 }
      .sorted { (counts[$1], $0) < (counts[$0], $1) }
    var indices = [Int64](repeating: 0, count: 256)
    writer.u8(UInt8(distinct.count))
    for (index, head) in distinct.enumerated() {
      writer.u8(UInt8(head))
      indices[head] = Int64(index)
    }
    IntsColumn.encode(heads.map { indices[Int($0)] }, to: &writer)
  }

  /// - Parameter indices: scratch space for one number per event.
  static func decode(
    from reader: inout ByteReader, indices: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) -> [EventHeader] {
    let distinctCount = Int(try reader.u8())
    var distinct: [EventHeader] = []
    for _ in 0..<distinctCount { distinct.append(try EventHeader(checking: try reader.u8())) }
    try IntsColumn.decode(from: &reader, into: indices)
    var highest: UInt64 = 0
    for index in indices { highest = max(highest, UInt64(bitPattern: index)) }
    guard highest < UInt64(distinctCount) else { throw MalformedError("an event of kind \(highest)") }
    return [EventHeader](unsafeUninitializedCapacity: indices.count) { heads, count in
      // Each index is within `distinct`, as checked above.
      distinct.withUnsafeBufferPointer { distinct in
        for event in indices.indices { heads.initializeElement(at: event, to: distinct[Int(indices[event])]) }
      }
      count = indices.count
    }
  }
}
