/// A record that begins with its key, so that finding one gives the other without another lookup.
protocol KeyedRecord: BitwiseCopyable {
  var key: Key { get }
  /// Creates a record with a key and nothing else.
  init(key: Key)
}

/// A byte string of an `InternTable`. Up to 24 bytes are stored inline.
struct Key: KeyedRecord, Equatable {
  static let inlineBytesMax = 24

  /// The bytes of an inline key, padded with zeros. For a longer key: its name in the table's texts, then zeros.
  var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
  var count: UInt32 = 0

  var key: Key { self }

  @inline(__always) var isInline: Bool { count <= Self.inlineBytesMax }

  /// An empty key, as in the record of an unused slot.
  init() {}

  init(key: Key) { self = key }

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    count = UInt32(bytes.count)
    // Stays within `words`, because an inline key has at most 24 bytes.
    guard isInline, let start = bytes.baseAddress else { return }
    let length = bytes.count
    // Whole-word loads that stay inside the buffer.
    if length >= 16 {
      words.0 = start.loadUnaligned(as: UInt64.self)
      words.1 = start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      words.2 = length > 16 ? Self.tail(start, length) : 0
    } else if length >= 8 {
      words.0 = start.loadUnaligned(as: UInt64.self)
      words.1 = Self.bytes(length - 8, at: start + 8)
    } else if length >= 4 {
      // The last four bytes may overlap the first four.
      words.0 =
        UInt64(start.loadUnaligned(as: UInt32.self))
        | UInt64(start.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self)) << UInt64(8 * (length - 4))
    } else {
      for offset in 0..<length { words.0 |= UInt64(bytes[offset]) << UInt64(8 * offset) }
    }
  }

  /// Loads fewer than eight bytes as a word, padded with zeros.
  ///
  /// Does not load the last word and shift it. A string of up to 15 bytes is spilled from two registers. A load that spans both cannot be
  /// forwarded before both stores have reached memory, so lookups would wait for each other.
  @inline(__always)
  private static func bytes(_ count: Int, at start: UnsafeRawPointer) -> UInt64 {
    var word: UInt64 = 0
    var offset = 0
    if count & 4 != 0 {
      word = UInt64(start.loadUnaligned(as: UInt32.self))
      offset = 4
    }
    if count & 2 != 0 {
      word |= UInt64(start.loadUnaligned(fromByteOffset: offset, as: UInt16.self)) << UInt64(8 * offset)
      offset += 2
    }
    if count & 1 != 0 {
      word |= UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) << UInt64(8 * offset)
    }
    return word
  }

  /// Loads the last word of a key of more than sixteen bytes, padded with zeros.
  @inline(__always)
  private static func tail(_ start: UnsafeRawPointer, _ length: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: length - 8, as: UInt64.self)
      >> UInt64(64 - 8 * ((length - 1) & 7 + 1))
  }

  /// Compares two inline keys by their bytes.
  @inline(__always)
  static func == (a: Key, b: Key) -> Bool {
    (a.words.0 ^ b.words.0) | (a.words.1 ^ b.words.1) | (a.words.2 ^ b.words.2) | UInt64(a.count ^ b.count)
      == 0
  }

  /// Orders two inline keys by their bytes; a prefix comes first.
  @inline(__always)
  static func < (a: Key, b: Key) -> Bool {
    if a.words.0 != b.words.0 { return a.words.0.bigEndian < b.words.0.bigEndian }
    if a.words.1 != b.words.1 { return a.words.1.bigEndian < b.words.1.bigEndian }
    if a.words.2 != b.words.2 { return a.words.2.bigEndian < b.words.2.bigEndian }
    return a.count < b.count
  }
}
