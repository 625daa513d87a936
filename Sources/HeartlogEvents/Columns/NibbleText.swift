/// Texts of digits and a few signs, four bits a character, as ids and plain dates are.
enum NibbleText {
  private static let alphabet = Array("0123456789.v-/:".utf8)
  private static let end: UInt8 = 15
  /// The place of each byte in the alphabet; 255 where it is not in it.
  private static let places: [UInt8] = {
    var places = [UInt8](repeating: 255, count: 256)
    for (place, byte) in alphabet.enumerated() { places[Int(byte)] = UInt8(place) }
    return places
  }()

  static func suits(_ texts: Texts) -> Bool {
    texts.bytes.allSatisfy { places[Int($0)] != 255 }
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
      for place in start..<start + length { put(places[Int(texts.bytes[place])], to: &writer) }
      put(end, to: &writer)
      start += length
    }
    if let low { writer.u8(low) }
  }

  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [String] {
    // Each text has at least its end.
    guard count <= 2 * reader.remaining else { throw .endOfBytes }
    let bytes = reader.rest
    var nibble = 0
    var texts: [String] = []
    texts.reserveCapacity(count)
    var text: [UInt8] = []
    for _ in 0..<count {
      text.removeAll(keepingCapacity: true)
      while true {
        guard nibble < 2 * bytes.count else { throw .endOfBytes }
        let place = bytes[nibble / 2] >> (nibble % 2 == 0 ? 0 : 4) & 15
        nibble += 1
        if place == end { break }
        text.append(alphabet[Int(place)])
      }
      texts.append(String(decoding: text, as: UTF8.self))
    }
    let used = try reader.take((nibble + 1) / 2)
    if nibble % 2 == 1, let last = used.last, last >> 4 != 0 {
      throw MalformedError("bits after the last text")
    }
    return texts
  }
}
