/// Byte strings, numbered from 0 in the order of their arrival: a name is stored once and is a small integer
/// from then on.
///
/// Open addressing with linear probing over (hash, number) pairs of eight bytes; keys up to 24 bytes, which most
/// ids are, lie in a dense table of their own, so that a look-up touches two places in memory. A Dictionary keyed
/// by String costs several times as much at each event, and takes canonically equivalent texts for one key.
struct KeyTable: Sendable {
  private struct Key: Sendable {
    static let inlineBytesMax = 24

    /// The key's bytes in their order, zeros after them; of a longer key, its offset in the arena and zeros.
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    var count: Int

    var isInline: Bool { count <= Self.inlineBytesMax }

    init(_ bytes: UnsafeRawBufferPointer) {
      count = bytes.count
      // Within `words`: an inline key has at most their 24 bytes.
      if isInline { Swift.withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) } }
    }
  }

  /// A power of two of them, or none. 0 is free; else the hash in the high half, the number plus one in the low.
  private var entries: [UInt64] = []
  /// By number.
  private var keys: [Key] = []
  /// The bytes of the keys that do not fit into a `Key`, one after the other.
  private var arena: [UInt8] = []
  /// Random, so that nobody who chooses ids can make them collide.
  private let seed = UInt64.random(in: .min ... .max)

  /// How many keys there are.
  var count: Int { keys.count }

  /// Makes room for `count` keys in all.
  mutating func reserve(_ count: Int) {
    keys.reserveCapacity(count)
    var capacity = max(16, entries.count)
    while capacity / 4 * 3 < count { capacity *= 2 }
    if capacity > entries.count { rehash(into: capacity) }
  }

  /// The number of a key; nil where it is not there.
  func find(_ key: UnsafeRawBufferPointer) -> Int32? {
    guard !entries.isEmpty else { return nil }
    let entry = entries[place(of: key, as: Key(key), hash: hash(of: key))]
    return entry == 0 ? nil : Int32(truncatingIfNeeded: entry) - 1
  }

  /// The number of a key, which is added where it is not there.
  mutating func intern(_ key: UnsafeRawBufferPointer) -> Int32 {
    // At most three quarters full: a search always meets a free place.
    if (count + 1) * 4 > entries.count * 3 { rehash(into: max(16, entries.count * 2)) }
    let hash = hash(of: key)
    var new = Key(key)
    let place = place(of: key, as: new, hash: hash)
    if entries[place] != 0 { return Int32(truncatingIfNeeded: entries[place]) - 1 }
    let number = Int32(count)
    if !new.isInline {
      new.words.0 = UInt64(arena.count)
      arena.append(contentsOf: key)
    }
    keys.append(new)
    entries[place] = UInt64(hash) << 32 | UInt64(number + 1)
    return number
  }

  func find(_ key: String) -> Int32? { key.withBytes { find($0) } }
  mutating func intern(_ key: String) -> Int32 { key.withBytes { intern($0) } }

  /// The bytes of key `number`, for the length of the call.
  func withBytes<R>(of number: Int32, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let key = keys[Int(number)]
    guard key.isInline else {
      let start = Int(key.words.0)
      return try arena.withUnsafeBytes {
        try body(UnsafeRawBufferPointer(rebasing: $0[start..<start + key.count]))
      }
    }
    return try Swift.withUnsafeBytes(of: key.words) {
      try body(UnsafeRawBufferPointer(rebasing: $0[..<key.count]))
    }
  }

  /// Key `number` as a string.
  func string(of number: Int32) -> String { withBytes(of: number) { String(decoding: $0, as: UTF8.self) } }

  /// Whether key `a` comes before key `b` in the order of bytes.
  func precedes(_ a: Int32, _ b: Int32) -> Bool {
    withBytes(of: a) { first in withBytes(of: b) { first.precedes($0) } }
  }

  /// Where the key is, or the free place where it would go.
  private func place(of bytes: UnsafeRawBufferPointer, as key: Key, hash: UInt32) -> Int {
    let mask = entries.count - 1
    var place = Int(hash) & mask
    while true {
      let entry = entries[place]
      if entry == 0 { return place }
      if UInt32(truncatingIfNeeded: entry >> 32) == hash {
        let number = Int32(truncatingIfNeeded: entry) - 1
        let other = keys[Int(number)]
        if other.count == key.count,
          key.isInline ? other.words == key.words : withBytes(of: number, { $0.hasSameBytes(as: bytes) })
        {
          return place
        }
      }
      place = (place + 1) & mask
    }
  }

  private mutating func rehash(into capacity: Int) {
    var new = [UInt64](repeating: 0, count: capacity)
    let mask = capacity - 1
    for entry in entries where entry != 0 {
      var place = Int(entry >> 32) & mask
      while new[place] != 0 { place = (place + 1) & mask }
      new[place] = entry
    }
    entries = new
  }

  /// Multiply and fold, as wyhash does (Wang Yi, 2019), over words of eight bytes.
  private func hash(of key: UnsafeRawBufferPointer) -> UInt32 {
    var hash = seed ^ UInt64(key.count)
    var offset = 0
    while offset + 8 <= key.count {
      hash = Self.fold(
        hash ^ key.loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0xa076_1d64_78bd_642f)
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < key.count {
      tail = tail << 8 | UInt64(key[offset])
      offset += 1
    }
    hash = Self.fold(hash ^ tail, 0xe703_7ed1_a0b4_28db)
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
