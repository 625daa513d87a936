/// Concatenated texts, from which a column of strings is encoded.
struct Texts {
  private(set) var bytes: [UInt8] = []
  private(set) var lengths: [Int] = []

  var count: Int { lengths.count }
  var isEmpty: Bool { lengths.isEmpty }

  mutating func append(_ text: String) {
    text.withUTF8Bytes { append($0) }
  }

  mutating func append(_ text: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: text)
    lengths.append(text.count)
  }

  /// Calls `body` with the bytes of each text until it returns false. Returns whether it never did.
  func allSatisfy(_ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for length in lengths {
        // In bounds: the lengths add up to the number of bytes, because only `append` changes both.
        guard body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])) else { return false }
        start += length
      }
      return true
    }
  }

  /// Returns the distinct texts in order of first use, and the index of each text among them; nil if there are more than `most`.
  func distinct(atMost most: Int) -> (texts: Texts, indices: [Int64])? {
    var interner = Interner<UTF8Key>()
    var distinct = Texts()
    var indices: [Int64] = []
    indices.reserveCapacity(count)
    let isWithin = allSatisfy { bytes in
      let (index, isNew) = interner.index(of: UTF8Key(String(decoding: bytes, as: UTF8.self)))
      guard index < most else { return false }
      indices.append(Int64(index))
      if isNew { distinct.append(bytes) }
      return true
    }
    return isWithin ? (distinct, indices) : nil
  }
}

/// The location of a text in a block's `BlockTexts`.
package struct TextSlice: Sendable, BitwiseCopyable {
  /// The count of bytes in the high 32 bits, the offset in the low 32 bits. One word, so that slices can be stored in place of numbers.
  let word: Int64

  init(word: Int64) { self.word = word }

  /// - Parameters:
  ///   - offset: below 2^32, as `TextBuilder` ensures.
  ///   - count: smaller than 2^32 too, because a column has at most 64 MiB.
  @inline(__always)
  init(offset: Int, count: Int) {
    assert(
      offset >= 0 && offset <= Int(UInt32.max) && count >= 0 && count <= Int(UInt32.max),
      "a slice fits a word")
    word = Int64(truncatingIfNeeded: count &<< 32 | offset)
  }

  @inline(__always)
  package var offset: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }

  /// The length in bytes.
  @inline(__always)
  package var count: Int { Int(truncatingIfNeeded: word &>> 32) }
}

/// Collects the texts of a block, column by column.
///
/// Only `reserve` may move the memory; pointers into it stay valid between calls of it.
struct TextBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// Creates a builder with room for `capacity` bytes.
  init(capacity: Int) { memory = .allocate(byteCount: max(64, capacity), alignment: 16) }

  deinit { memory.deallocate() }

  /// Reserves room for `more` bytes after the existing ones.
  mutating func reserve(_ more: Int) throws(MalformedError) {
    let needed = count + more
    guard needed > memory.count else { return }
    // Never reached: all columns together take at most 64 MiB, and rows of 16 MiB have at most 8 million values.
    guard needed <= Int(UInt32.max) else { throw MalformedError("a block of \(needed) bytes of texts") }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(needed, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  /// The reserved room after the texts.
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// Adds the first `more` bytes of the room, which must have been written. Returns their offset.
  @discardableResult
  mutating func take(_ more: Int) -> Int {
    precondition(more >= 0 && more <= memory.count - count, "more than was reserved")
    defer { count += more }
    return count
  }

  /// Copies `bytes` and returns their offset; room must have been reserved.
  mutating func place(_ bytes: UnsafeRawBufferPointer) -> Int {
    precondition(bytes.count <= memory.count - count, "room was reserved for the bytes")
    UnsafeMutableRawBufferPointer(rebasing: room[..<bytes.count]).copyMemory(from: bytes)
    return take(bytes.count)
  }

  func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    assert(slice.offset + slice.count <= count, "a text of another block")
    return UnsafeRawBufferPointer(rebasing: memory[slice.offset..<slice.offset + slice.count])
  }

  /// Ends building and returns the texts.
  consuming func finish() -> BlockTexts {
    let texts = BlockTexts(memory)
    discard self
    return texts
  }
}

/// The bytes of all texts of a block, in one immutable allocation.
package final class BlockTexts: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  /// Takes ownership of allocated memory.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  deinit { memory.deallocate() }

  /// Returns the bytes of a text. Valid only while this object is alive.
  @inline(__always)
  package func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    let (offset, count) = (slice.offset, slice.count)
    precondition(offset + count <= memory.count, "a text of another block")
    // In bounds, as checked above.
    return UnsafeRawBufferPointer(start: memory.baseAddress.map { $0 + offset }, count: count)
  }

  /// Returns a copy of a text as a string.
  package func string(_ slice: TextSlice) -> String { String(decoding: bytes(slice), as: UTF8.self) }
}

/// Properties that hold for all texts of a column.
struct TextTraits {
  /// Whether all bytes are known from the encoding to be within 20…7E.
  var isPrintable: Bool
  /// The length of the shortest text in bytes.
  var shortest = Int.max
  var longest = 0
  /// The total length of all texts in bytes.
  var byteCount = 0
  /// Whether several entries may share the same text in memory.
  var isRepeated = false

  @inline(__always)
  mutating func note(_ count: Int) {
    shortest = min(shortest, count)
    longest = max(longest, count)
    byteCount &+= count
  }
}

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

  /// Fills `output` with texts.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    // Each text takes at least its end.
    guard output.count <= 2 * reader.remaining else { throw .endOfBytes }
    let bytes = reader.rest
    try texts.reserve(2 * bytes.count)
    let (room, offset) = (texts.room, texts.count)
    var traits = TextTraits(isPrintable: true)
    var half = 0
    var count = 0
    try alphabet.withUnsafeBufferPointer { (alphabet) throws(MalformedError) in
      for index in output.indices {
        let start = count
        while true {
          guard half < 2 * bytes.count else { throw .endOfBytes }
          let character = bytes[half &>> 1] &>> UInt8(truncatingIfNeeded: half &<< 2 & 4) & 15
          half &+= 1
          if character == end { break }
          // In bounds: no more characters than halves.
          room[count] = alphabet[Int(character)]
          count &+= 1
        }
        let slice = TextSlice(offset: offset + start, count: count - start)
        output.initializeElement(at: index, to: slice.word)
        traits.note(count - start)
      }
    }
    texts.take(count)
    let used = try reader.take((half + 1) / 2)
    if half % 2 == 1, let last = used.last, last >> 4 != 0 {
      throw MalformedError("bits after the last text")
    }
    return traits
  }
}

/// UUIDs as text columns encode them: 8-4-4-4-12 hexadecimal digits, all in one case.
enum UUIDText {
  static let length = 36
  private static let dashes = [8, 13, 18, 23]

  static func suits(_ text: UnsafeRawBufferPointer, isUpper: Bool) -> Bool {
    guard text.count == length else { return false }
    for (offset, byte) in text.enumerated() {
      if dashes.contains(offset) {
        guard byte == UInt8(ascii: "-") else { return false }
      } else {
        let isDigit = byte <= UInt8(ascii: "9") || (byte < UInt8(ascii: "a")) == isUpper
        guard isDigit, Hexadecimal.value(of: byte) != nil else { return false }
      }
    }
    return true
  }

  /// Appends the 16 bytes of a text for which `suits` is true.
  static func append(_ text: UnsafeRawBufferPointer, to writer: inout ByteWriter) {
    let digits = String(decoding: text.filter { $0 != UInt8(ascii: "-") }, as: UTF8.self)
    guard let bytes = Hexadecimal.bytes(digits), bytes.count == 16 else {
      preconditionFailure("a UUID has 32 digits")
    }
    writer.raw(bytes)
  }

  /// By byte: its two digits, the high one first.
  private static let lowerDigits = digits("0123456789abcdef")
  private static let upperDigits = digits("0123456789ABCDEF")

  private static func digits(_ alphabet: String) -> [UInt16] {
    let digits = Array(alphabet.utf8)
    return (0..<256).map { UInt16(digits[$0 >> 4]) | UInt16(digits[$0 & 15]) << 8 }
  }

  /// - Parameters:
  ///   - bytes: 16 bytes.
  ///   - text: a buffer of at least `length` bytes.
  static func write(_ bytes: UnsafeRawBufferPointer, isUpper: Bool, to text: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count == 16 && text.count >= length, "16 bytes and their text")
    (isUpper ? upperDigits : lowerDigits).withUnsafeBufferPointer { digits in
      var offset = 0
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          text[offset] = UInt8(ascii: "-")
          offset += 1
        }
        text.storeBytes(of: digits[Int(byte)].littleEndian, toByteOffset: offset, as: UInt16.self)
        offset += 2
      }
    }
  }
}
