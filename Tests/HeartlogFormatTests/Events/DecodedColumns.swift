@testable import HeartlogFormat

// Columns as arrays, which nothing but a test wants.

extension IntsColumn {
  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [Int64] {
    try Array(count: count) { (output) throws(MalformedError) in try decode(from: &reader, into: output) }
  }
}

extension DoublesColumn {
  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [Double] {
    let words: [Int64] = try Array(count: count) { (output) throws(MalformedError) in
      try decode(from: &reader, into: output)
    }
    return words.map { Double(bitPattern: UInt64(bitPattern: $0)) }
  }
}

extension StringsColumn {
  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [String] {
    try decodeWithTraits(from: &reader, count: count).texts
  }

  static func decodeWithTraits(
    from reader: inout ByteReader, count: Int
  ) throws(MalformedError) -> (texts: [String], traits: TextTraits) {
    var texts = TextBuilder(capacity: 0)
    var traits = TextTraits(isPrintable: false)
    let words: [Int64] = try Array(count: count) { (output) throws(MalformedError) in
      traits = try decode(from: &reader, into: output, texts: &texts)
    }
    let finished = texts.finish()
    return (words.map { finished.string(TextSlice(word: $0)) }, traits)
  }
}

extension KindsColumn {
  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [EventHeader] {
    let indices = UnsafeMutableBufferPointer<Int64>.allocate(capacity: count)
    defer { indices.deallocate() }
    return try decode(from: &reader, indices: indices)
  }
}
