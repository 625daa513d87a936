import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Texts are read as bytes, and believed only where they are well-formed")
struct TextDecodingTests {
  private func decode(_ payload: [UInt8], count: Int) throws -> (texts: [String], traits: TextTraits) {
    try payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let result = try StringsColumn.decodeWithTraits(from: &reader, count: count)
      try reader.end()
      return result
    }
  }

  @Test("random bytes are judged as the standard library does", arguments: 0..<20)
  func random(seed: Int) {
    print("UTF-8: seed \(seed)")
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<500 {
      var bytes = Array(
        String(
          (0..<Int.random(in: 0...60, using: &random)).map { _ in "aé€𝕏z ".randomElement(using: &random)! }
        ).utf8)
      if !bytes.isEmpty, random.chance(50) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
      }
      let isWellFormed = (try? bytes.withUnsafeBytes { try $0.checkUTF8() }) != nil
      #expect(isWellFormed == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
    }
  }

  @Test("one byte among letters, at every place, is judged as the standard library does")
  func places() {
    for byte in UInt8.min ... .max {
      for before in 0...17 {
        for after in [0, 1, 7, 8] {
          let bytes =
            [UInt8](repeating: 0x61, count: before) + [byte] + [UInt8](repeating: 0x61, count: after)
          let isWellFormed = (try? bytes.withUnsafeBytes { try $0.checkUTF8() }) != nil
          #expect(isWellFormed == (byte < 0x80), "\(bytes)")
        }
      }
    }
  }

  @Test("a text that begins within a character is refused, though all texts together are well-formed")
  func splitCharacters() throws {
    // Plain, lengths packed: "é" as two texts of one byte each, and as one.
    #expect(throws: MalformedError.self) { try decode([0, 2, 0, 2, 0xC3, 0xA9], count: 2) }
    #expect(try decode([0, 2, 0, 4, 0xC3, 0xA9], count: 1).texts == ["é"])
    // "é" and "", then "" and "é": an empty text begins nowhere.
    #expect(try decode([0, 3, 1, 4, 0, 0xC3, 0xA9], count: 2).texts == ["é", ""])
    #expect(try decode([0, 3, 1, 0, 4, 0xC3, 0xA9], count: 2).texts == ["", "é"])
    #expect(throws: MalformedError.self) { try decode([0, 2, 0, 2, 0xC3], count: 1) }
  }

  @Test("lengths that pass the bytes are refused, however large")
  func lengths() {
    #expect(throws: MalformedError.self) { try decode([0, 2, 0, 6, 0x61, 0x61], count: 1) }
    #expect(throws: MalformedError.self) { try decode([0, 2, 0, 1, 0x61], count: 1) }
    var writer = ByteWriter()
    IntsColumn.encode([.max, .max, 2], to: &writer)
    #expect(throws: MalformedError.self) {
      try decode([0, UInt8(writer.count)] + writer.bytes + [0x61, 0x61], count: 3)
    }
  }

  @Test("texts of four bits a character, of every length and from every place on", arguments: 0...40)
  func nibbles(length: Int) throws {
    let alphabet = Array("0123456789.v-/:")
    let texts = (0..<9).map { place in
      String((0..<(length + place % 3)).map { alphabet[($0 * 7 + place * 5 + length) % alphabet.count] })
    }
    var writer = ByteWriter()
    StringsColumn.encode(Texts(texts), to: &writer)
    #expect(writer.bytes[0] == StringsColumn.nibbles)
    let result = try decode(writer.bytes, count: texts.count)
    #expect(result.texts == texts)
    #expect(result.traits.isPrintable)
    #expect(result.traits.shortest == length)
    #expect(result.traits.longest == length + 2)
    #expect(result.traits.byteCount == texts.reduce(0) { $0 + $1.utf8.count })
    #expect(throws: MalformedError.self) { try decode(writer.bytes.dropLast(), count: texts.count) }
    #expect(throws: MalformedError.self) { try decode(writer.bytes, count: texts.count + 2) }
  }

  @Test("what is said of a column's texts is not said of texts that nothing uses")
  func unused() throws {
    // Two distinct texts, "" and "abc", of which eight places use the second alone.
    let payload: [UInt8] = [6, 2, 0, 3, 1, 0, 6, 0x61, 0x62, 0x63, 0, 2]
    let result = try decode(payload, count: 8)
    #expect(result.texts == Array(repeating: "abc", count: 8))
    #expect(result.traits.shortest == 3)
    #expect(result.traits.byteCount == 24)
    #expect(result.traits.isRepeated)
    #expect(throws: MalformedError.self) { try decode(payload.dropLast() + [4], count: 8) }
  }

  @Test("texts stay what they are while others come")
  func growth() throws {
    var builder = TextBuilder(capacity: 0)
    var slices: [TextSlice] = []
    var texts: [String] = []
    for place in 0..<300 {
      let text = String(repeating: "é\(place) ", count: place % 40)
      try builder.reserve(text.utf8.count)
      let offset = text.withUTF8Bytes { builder.place($0) }
      slices.append(TextSlice(offset: offset, count: text.utf8.count))
      texts.append(text)
    }
    let finished = builder.finish()
    #expect(slices.map { finished.string($0) } == texts)
  }
}
