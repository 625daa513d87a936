/// Texts of digits and a few punctuation marks, four bits per character; used for ids and plain dates.
enum NibbleText {
  private static let alphabet = Array("0123456789.v-/:".utf8)
  private static let end: UInt8 = 15
  /// The index of each byte in the alphabet; 255 if it is not in it.
  private static let indices: [UInt8] = {
    var indices = [UInt8](repeating: 255, count: 256)
    for (index, byte) in alphabet.enumerated() { indices[Int(byte)] = UInt8(index) }
    return indices
  }()

  static func suits(_ texts: Texts) -> Bool {
    texts.bytes.allSatisfy { indices[Int($0)] != 255 }
  }

  static func encode(_ texts: Texts, to writer: inout ByteWriter) {
    var low: UInt8?
    func put(_ nibble: UInt8, to writer: inout ByteWriter) {
      if let first = low {
        writer.u8(first | nibble << 4)
        low = nil
      } else {
        low = nibble
      }
    }
    var start = 0
    for length in texts.lengths {
      for offset in start..<start + length { put(indices[Int(texts.bytes[offset])], to: &writer) }
      put(end, to: &writer)
      start += length
    }
    if let low { writer.u8(low) }
  }

  /// The extra room needed after the texts, because characters are written sixteen at a time.
  static let slack = 16

  /// By byte: the two characters of its halves, the low one first. Characters for an end are meaningless.
  private static let pairs: [UInt16] = (0..<256).map { byte in
    let characters = alphabet + [0]
    return UInt16(characters[byte & 15]) | UInt16(characters[byte >> 4]) << 8
  }

  /// Fills `output` with texts. `texts` must have room for two characters per byte, plus the slack.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    // Each text takes at least its end.
    guard output.count <= 2 * reader.remaining else { throw .endOfBytes }
    let bytes = reader.rest
    let room = texts.room
    precondition(room.count >= 2 * bytes.count + slack, "two characters a byte, and the slack")
    var traits = TextTraits(isPrintable: true)
    var nibble = 0
    var count = 0
    let offset = texts.count
    pairs.withUnsafeBufferPointer { pairs in
      for index in output.indices {
        let start = count
        // Reads up to fifteen characters at a time. A half past the end of the bytes reads as an end.
        while true {
          let word = window(bytes, at: nibble)
          let ends = (word & word >> 1 & word >> 2 & word >> 3) & 0x1111_1111_1111_1111
          // The output never has more characters than the input has halves; the surplus goes to the slack.
          write(word, pairs, to: room, at: count)
          let length = ends.trailingZeroBitCount / 4
          count += min(length, 15)
          nibble += min(length + 1, 15)
          if length < 15 || nibble > 2 * bytes.count { break }
        }
        output.initializeElement(at: index, to: TextSlice(offset: offset + start, count: count - start).word)
        traits.note(count - start)
        if nibble > 2 * bytes.count { break }
      }
    }
    guard nibble <= 2 * bytes.count else { throw .endOfBytes }
    texts.take(count)
    let used = try reader.take((nibble + 1) / 2)
    if nibble % 2 == 1, let last = used.last, last >> 4 != 0 {
      throw MalformedError("bits after the last text")
    }
    return traits
  }

  /// Returns fifteen halves from `nibble` on in the low bits, with ends past the last byte. The sixteenth half is meaningless.
  @inline(__always)
  private static func window(_ bytes: UnsafeRawBufferPointer, at nibble: Int) -> UInt64 {
    let byte = nibble / 2
    let shift = UInt64(4 * (nibble & 1))
    if byte <= bytes.count - 8 {
      return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: byte, as: UInt64.self)) >> shift
    }
    var word: UInt64 = .max
    for offset in stride(from: bytes.count - 1, through: byte, by: -1) {
      word = word << 8 | UInt64(bytes[offset])
    }
    return word >> shift
  }

  @inline(__always)
  private static func write(
    _ word: UInt64, _ pairs: UnsafeBufferPointer<UInt16>, to room: UnsafeMutableRawBufferPointer,
    at start: Int
  ) {
    func pair(_ byte: UInt64) -> UInt64 { UInt64(pairs[Int(truncatingIfNeeded: word >> (8 * byte) & 0xFF)]) }
    let first = pair(0) | pair(1) << 16 | pair(2) << 32 | pair(3) << 48
    let second = pair(4) | pair(5) << 16 | pair(6) << 32 | pair(7) << 48
    room.storeBytes(of: first.littleEndian, toByteOffset: start, as: UInt64.self)
    room.storeBytes(of: second.littleEndian, toByteOffset: start + 8, as: UInt64.self)
  }
}
