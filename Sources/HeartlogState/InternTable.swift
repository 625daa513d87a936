import HeartlogFormat

/// Byte strings, numbered from 0 in the order of insertion: a name is stored once and is a small integer
/// from then on.
///
/// Open addressing with linear probing over (hash, number) pairs of eight bytes; keys up to 24 bytes, which most
/// ids are, are stored in the records that they lead to, so that a lookup accesses two memory addresses. A Dictionary keyed
/// by String costs several times as much for each event, and treats canonically equivalent texts as one key.
struct InternTable<Record: KeyedRecord>: Sendable {
  /// A power of two of them, or none. 0 is free; otherwise the hash in the high half, the number plus one in the low.
  private(set) var entries = PagedTable<UInt64>()
  /// Indexed by number.
  var records = PagedTable<Record>()
  /// The bytes of the keys that do not fit into a `Key`.
  private(set) var texts = TextTable()
  /// Random, so that chosen ids cannot be made to collide.
  let seed: UInt64

  init() { seed = .random(in: .min ... .max) }

  /// The table of a snapshot.
  ///
  /// - Parameter entries: a power of two of them, some of which are free.
  init(seed: UInt64, entries: PagedTable<UInt64>, records: PagedTable<Record>, texts: TextTable) {
    assert(
      entries.count.nonzeroBitCount <= 1 && records.count <= entries.count,
      "a search soon reaches a free entry")
    self.seed = seed
    self.entries = entries
    self.records = records
    self.texts = texts
  }

  /// The number of keys.
  @inline(__always) var count: Int { records.count }

  /// The number of entries for `count` keys: at most three quarters of them are used, so that a search soon reaches a free one.
  static func capacity(for count: Int) -> Int {
    var capacity = 16
    while capacity / 4 * 3 < count { capacity *= 2 }
    return capacity
  }

  /// The number of a key; nil if it is absent.
  @inline(__always)
  func find(_ key: UnsafeRawBufferPointer) -> Int32? {
    finder.find(key) { texts.holds($0, key) }?.number
  }

  /// Finds keys as long as the table exists and is not written to. It counts no references.
  struct Finder {
    fileprivate let entries: PagedReader<UInt64>
    let records: PagedReader<Record>
    fileprivate let seed: UInt64

    /// The number of a key, and the address of its record.
    ///
    /// - Parameter isText: whether the text of that name is the key, if it is too long to be stored in the record.
    @inline(__always)
    func find(
      _ bytes: UnsafeRawBufferPointer, isText: (UInt64) -> Bool
    ) -> (number: Int32, record: UnsafePointer<Record>)? {
      let key = Key(bytes)
      return find(key, hash: InternTable.hash(of: bytes, as: key, seed), isText: isText)
    }

    @inline(__always)
    fileprivate func find(
      _ key: Key, hash: UInt32, isText: (UInt64) -> Bool
    ) -> (number: Int32, record: UnsafePointer<Record>)? {
      let mask = entries.count - 1
      var slot = Int(hash) & mask
      var steps = entries.count
      // At most as many steps as there are slots: a corrupt snapshot may have no free slot.
      while steps > 0 {
        let entry = entries.read(slot).pointee
        if entry == 0 { return nil }
        if UInt32(truncatingIfNeeded: entry >> 32) == hash {
          let number = Int32(truncatingIfNeeded: entry) &- 1
          let other = records.read(Int(number))
          if key.isInline
            ? other.pointee.key == key
            : other.pointee.key.count == key.count && isText(other.pointee.key.words.0)
          {
            return (number, other)
          }
        }
        slot = (slot + 1) & mask
        steps -= 1
      }
      return nil
    }

    /// The number of a prefetched key; nil if it is absent, or is not stored in its record.
    @inline(__always)
    func find(_ sought: Probe) -> Int32? {
      sought.key.isInline ? find(sought.key, hash: sought.hash) { _ in false }?.number : nil
    }

    /// Prepares to intern a key: prefetches its entry into the cache.
    @inline(__always)
    func seek(_ key: UnsafeRawBufferPointer) -> Probe {
      let inline = Key(key)
      let sought = Probe(key: inline, hash: InternTable.hash(of: key, as: inline, seed))
      if entries.count > 0 { entries.seek(Int(sought.hash) & (entries.count - 1)) }
      return sought
    }

    /// Prefetches the record that is probably the key's into the cache, once its entry is there.
    @inline(__always)
    func seekRecord(_ sought: Probe) {
      guard entries.count > 0 else { return }
      let entry = entries.read(Int(sought.hash) & (entries.count - 1)).pointee
      if UInt32(truncatingIfNeeded: entry >> 32) == sought.hash, entry != 0 {
        records.seek(Int(Int32(truncatingIfNeeded: entry) &- 1))
      }
    }
  }

  @inline(__always)
  var finder: Finder { Finder(entries: entries.reader, records: records.reader, seed: seed) }

  /// How many keys to prefetch before the first of them is found, so that the waits for memory overlap.
  static var soughtTogether: Int { 32 }

  /// A key being searched for.
  struct Probe: BitwiseCopyable {
    fileprivate var key: Key
    fileprivate let hash: UInt32
  }

  /// The number of a key, which is added if it is absent.
  mutating func intern(_ key: UnsafeRawBufferPointer) -> Int32 {
    let inline = Key(key)
    return intern(key, Probe(key: inline, hash: Self.hash(of: key, as: inline, seed)))
  }

  /// `intern` of a prefetched key.
  mutating func intern(_ key: UnsafeRawBufferPointer, _ sought: Probe) -> Int32 {
    let found = finder.find(sought.key, hash: sought.hash) { texts.holds($0, key) }
    if let found { return found.number }
    if (count + 1) * 4 > entries.count * 3 { rehash(into: max(16, entries.count * 2)) }
    assert(entries.count.nonzeroBitCount == 1 && count < entries.count, "a search reaches a free entry")
    var new = sought.key
    let number = Int32(count)
    if !new.isInline { new.words.0 = texts.append(key) }
    records.append(Record(key: new))
    if !Self.insert(Self.entry(sought.hash, number), into: &entries) { rebuildEntries() }
    assert(count == Int(number) + 1, "keys are numbered in the order of insertion")
    return number
  }

  static func entry(_ hash: UInt32, _ number: Int32) -> UInt64 { UInt64(hash) << 32 | UInt64(number + 1) }

  @inline(__always)
  func find(_ key: String) -> Int32? { key.withUTF8Bytes { find($0) } }
  mutating func intern(_ key: String) -> Int32 { key.withUTF8Bytes { intern($0) } }

  /// The bytes of key `number`, valid for the duration of the call.
  @inline(__always)
  func withBytes<R>(of number: Int32, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let record = records.read(Int(number))
    let key = record.pointee.key
    guard key.isInline else { return try body(texts.bytes(key.words.0, count: Int(key.count))) }
    // A key is first in its record, and words are first in a key.
    return try body(UnsafeRawBufferPointer(start: record, count: Int(key.count)))
  }

  /// Key `number` as a string.
  func string(of number: Int32) -> String { withBytes(of: number) { String(decoding: $0, as: UTF8.self) } }

  /// Whether key `a` sorts before key `b` by bytes.
  func precedes(_ a: Int32, _ b: Int32) -> Bool {
    let (first, second) = (records.read(Int(a)).pointee.key, records.read(Int(b)).pointee.key)
    if first.isInline, second.isInline { return first < second }
    return withBytes(of: a) { first in withBytes(of: b) { first.bytesPrecede($0) } }
  }

  /// The hash of key `number`.
  func hash(of number: Int32) -> UInt32 {
    withBytes(of: number) { Self.hash(of: $0, as: records[Int(number)].key, seed) }
  }

  /// Checks all parts that are stored in a snapshot.
  func loadAll() {
    entries.loadAll()
    records.loadAll()
    texts.loadAll()
  }

  /// Whether the text with that name is a key too long for its record. Never inlined: short keys, which most are, need none of it.
  @inline(never)
  func holdsText(_ name: UInt64, _ key: UnsafeRawBufferPointer) -> Bool { texts.holds(name, key) }

  /// Stores an entry in the first free slot from its hash on; false if there is none, as in a corrupt snapshot.
  private static func insert(_ entry: UInt64, into entries: inout PagedTable<UInt64>) -> Bool {
    let mask = entries.count - 1
    var slot = Int(entry >> 32) & mask
    for _ in 0...mask {
      if entries[slot] == 0 {
        entries.write(slot).pointee = entry
        return true
      }
      slot = (slot + 1) & mask
    }
    return false
  }

  private mutating func rehash(into capacity: Int) {
    assert(capacity.nonzeroBitCount == 1 && capacity > entries.count, "the entries grow to a power of two")
    var new = PagedTable<UInt64>(zeros: capacity)
    for index in 0..<entries.count where entries[index] != 0 {
      let isInserted = Self.insert(entries[index], into: &new)
      assert(isInserted, "more entries have a free one")
    }
    entries = new
  }

  /// Rebuilds the entries from the keys, if those of a snapshot cannot be correct.
  private mutating func rebuildEntries() {
    entries = PagedTable(zeros: Self.capacity(for: count))
    for number in 0..<Int32(count) {
      let isInserted = Self.insert(Self.entry(hash(of: number), number), into: &entries)
      assert(isInserted, "entries that are rebuilt have a free one")
    }
  }

  /// Multiply and fold, as in wyhash (Wang Yi, 2019), over words of eight bytes.
  @inline(__always)
  private static func hash(of bytes: UnsafeRawBufferPointer, as key: Key, _ seed: UInt64) -> UInt32 {
    var hash = seed ^ UInt64(key.count)
    if key.isInline {
      hash = UnsafeRawBufferPointer.fold(hash ^ key.words.0, 0xa076_1d64_78bd_642f)
      if key.count > 8 { hash = UnsafeRawBufferPointer.fold(hash ^ key.words.1, 0xe703_7ed1_a0b4_28db) }
      if key.count > 16 { hash = UnsafeRawBufferPointer.fold(hash ^ key.words.2, 0x8ebc_6af0_9c88_c6e3) }
    } else if bytes.count >= 8 {
      // The bytes are present, except in a corrupt snapshot.
      var offset = 0
      while offset + 8 <= bytes.count {
        hash = UnsafeRawBufferPointer.fold(
          hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0xa076_1d64_78bd_642f)
        offset += 8
      }
      // The last word overlaps the one before it.
      hash = UnsafeRawBufferPointer.fold(
        hash ^ bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self), 0xe703_7ed1_a0b4_28db)
    }
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }
}

extension UnsafeRawBufferPointer {
  /// Multiplies and folds words of eight bytes, as wyhash does (Wang Yi, 2019). `hash` is a seed or the previous hash.
  func hashed(into hash: inout UInt64) {
    hash ^= UInt64(truncatingIfNeeded: count)
    var offset = 0
    while offset + 8 <= count {
      hash = Self.fold(hash ^ loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0xa076_1d64_78bd_642f)
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < count {
      tail = tail << 8 | UInt64(self[offset])
      offset += 1
    }
    hash = Self.fold(hash ^ tail, 0xe703_7ed1_a0b4_28db)
  }

  @inline(__always)
  static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}

extension Array {
  /// The element at an index; nil if there is none, to which only a malformed snapshot refers.
  subscript(checked index: Int32) -> Element? { indices.contains(Int(index)) ? self[Int(index)] : nil }
}

/// The names of fields, shared by all libraries. Each name has a slot, and a string that is created once.
struct FieldNames: Sendable {
  /// The names as strings, by slot.
  struct Texts: Sendable {
    fileprivate(set) var strings: [String] = []
    /// Whether all names are ASCII, so that no two of them are canonically equivalent.
    fileprivate(set) var areASCII = true

    /// Returns whether a slot has that name, compared by bytes.
    @inline(__always)
    func isName(_ slot: FieldNameSlot, _ name: String) -> Bool {
      let number = Int(slot.index)
      guard strings.indices.contains(number), strings[number].utf8.count == name.utf8.count else {
        return false
      }
      // Short strings are compared at once by `==`. A text that is equivalent to one of ASCII, but not the same, is longer.
      return areASCII ? strings[number] == name : strings[number].hasSameBytes(as: name)
    }
  }

  private var keys = InternTable<Key>()
  private(set) var texts = Texts()
  var strings: [String] { texts.strings }

  var count: Int { keys.count }

  mutating func intern(_ name: UnsafeRawBufferPointer) -> FieldNameSlot {
    let number = keys.intern(name)
    if Int(number) == texts.strings.count {
      texts.strings.append(String(decoding: name, as: UTF8.self))
      if !name.allSatisfy({ $0 < 0x80 }) { texts.areASCII = false }
    }
    assert(texts.strings.count == keys.count, "each name has a string")
    return FieldNameSlot(index: number)
  }

  func find(_ name: String) -> FieldNameSlot? { keys.find(name).map(FieldNameSlot.init) }

  /// Returns a name; empty for a slot without one.
  func string(of slot: FieldNameSlot) -> String {
    strings[checked: slot.index] ?? ""
  }

  /// Returns all names sorted by bytes, and by slot the index of each in that order.
  func sorted() -> (texts: [String], indices: [Int32]) {
    let order = strings.indices.sorted { keys.precedes(Int32($0), Int32($1)) }
    var indices = [Int32](repeating: 0, count: strings.count)
    for (index, slot) in order.enumerated() { indices[slot] = Int32(index) }
    return (order.map { strings[$0] }, indices)
  }

  /// Passes the bytes of a name to `body`, for the duration of the call.
  func withBytes<R>(of slot: FieldNameSlot, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try keys.withBytes(of: slot.index, body)
  }

  /// Returns whether name `a` comes before name `b` in byte order.
  func precedes(_ a: FieldNameSlot, _ b: FieldNameSlot) -> Bool { keys.precedes(a.index, b.index) }
}

extension FavoritesState {
  /// Whether any item was ever written with a field of this name.
  package func hasField(called name: String) -> Bool { fieldNames.find(name) != nil }
}

/// The name of a library, prepared for repeated lookups.
package struct LibraryKey: Sendable {
  /// The name of the library.
  package let name: String
  /// Whether only the store itself may write to it.
  package let isReserved: Bool
  let key: Key

  package init(_ name: String) {
    self.name = name
    isReserved = name.utf8.starts(with: "heartlog.".utf8)
    key = name.withUTF8Bytes { Key($0) }
  }
}

/// A library that was looked up, and its number.
struct LastLibrary {
  private var key = Key()
  private(set) var number: Int32 = 0

  /// No library. Its key equals no other, because it is longer than any name.
  init() { key.count = .max }

  init(key: Key, number: Int32) {
    self.key = key
    self.number = number
  }

  /// Returns whether a key is that of the library. False for a name that is too long for an inline key.
  @inline(__always)
  func isNamed(_ other: Key) -> Bool { key == other && key.isInline }
}

// Small integers that stand for names inside one state. They mean nothing outside it; a snapshot contains slots of its own. Each has a type
// of its own, so that they cannot be mixed up.

struct LibrarySlot: Hashable, Sendable { let index: Int32 }

/// An item of one library.
struct ItemSlot: Hashable, Sendable { let index: Int32 }

struct FieldNameSlot: Hashable, Sendable { let index: Int32 }

struct ReplicaSlot: Hashable, Sendable {
  let index: Int32

  /// No replica: the register was never written.
  static let none = ReplicaSlot(index: -1)
}
