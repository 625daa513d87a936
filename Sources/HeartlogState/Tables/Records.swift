import CHeartlogPlatform
import HeartlogFormat

// The records of a library's tables. A record of zeros is an item, field and so on that was never written. Optional indices are therefore
// stored plus one, and 0 means none. A malformed snapshot may contain any index; one that is out of range wraps and points nowhere. Flags
// are bytes, set if not 0, because a Bool with bits other than 0 and 1 is undefined behavior.

/// A record that contains the position of a write.
protocol WrittenRecord {
  var stamp: UInt64 { get set }
  var sequence: UInt64 { get set }
  /// The replica slot plus one.
  var replica: Int32 { get set }
}

extension WrittenRecord {
  @inline(__always) var position: WritePosition {
    get { WritePosition(stamp: stamp, sequence: sequence, replica: ReplicaSlot(index: replica &- 1)) }
    set {
      stamp = newValue.stamp
      sequence = newValue.sequence
      replica = newValue.replica.index &+ 1
    }
  }
}

/// A record that contains a field's value: see `StoredValue`.
protocol ValueRecord {
  var word: UInt64 { get set }
  var length: UInt32 { get set }
  var tag: UInt8 { get set }
}

extension ValueRecord {
  @inline(__always) var value: StoredValue {
    get { StoredValue(word: word, length: length, tag: tag) }
    set {
      word = newValue.word
      length = newValue.length
      tag = newValue.tag
    }
  }
}

/// An item: its id, its membership register, and the location of its fields.
///
/// A lookup reads one cache line: records are 96 bytes, and the first 32 hold the id and the flags.
struct ItemRecord: KeyedRecord, WrittenRecord {
  private(set) var key: Key
  private var favoriteFlag: UInt8 = 0
  private var movedFlag: UInt8 = 0
  var stamp: UInt64 = 0
  var sequence: UInt64 = 0
  /// Meaningless unless the item is a favorite.
  var favoritedDate: Milliseconds = 0
  var replica: Int32 = 0
  /// The index of the first field from the snapshot. The others follow it, sorted by name.
  var baseFields: Int32 = 0
  var baseFieldCount: Int32 = 0
  private var lastField: Int32 = 0
  /// The number of fields added since the snapshot. The newest is `newestField`; the others are linked by `next`.
  var addedFieldCount: Int32 = 0
  /// The number of fields with a value other than null.
  var heldCount: Int32 = 0
  private var firstRival: Int32 = 0
  /// The last count of changed items that includes this one: see `ItemTable.beginCountingChanges`.
  var counted: UInt32 = 0
  /// The offset of the item's first field text in the snapshot's texts: a hint for prefetching.
  var baseTexts: UInt64 = 0

  init(key: Key) { self.key = key }

  var isFavorite: Bool {
    get { favoriteFlag != 0 }
    set { favoriteFlag = newValue ? 1 : 0 }
  }

  /// Whether the item has left its position in the snapshot's order.
  var isMoved: Bool {
    get { movedFlag != 0 }
    set { movedFlag = newValue ? 1 : 0 }
  }

  /// Returns the record with another key.
  func with(_ key: Key) -> ItemRecord {
    var record = self
    record.key = key
    return record
  }

  /// Returns the range of the fields from the snapshot, in a table of `count` fields.
  @inline(__always)
  func baseFieldRange(of count: Int) -> Range<Int> {
    let first = max(0, Int(baseFields))
    return first..<max(first, min(first + Int(baseFieldCount), count))
  }

  /// Prefetches the registers of a record.
  @inline(__always)
  static func prefetchRegisters(_ record: UnsafePointer<ItemRecord>) {
    // The two cache lines with the flags and the registers.
    heartlog_prefetch(UnsafeRawPointer(record) + 28)
    heartlog_prefetch(UnsafeRawPointer(record) + 84)
  }

  var membership: WritePosition {
    get { position }
    set { position = newValue }
  }

  /// The index of the newest field added since the snapshot; -1 for none.
  var newestField: Int32 {
    get { lastField &- 1 }
    set { lastField = newValue &+ 1 }
  }

  /// The first of the membership's writes that lost to a concurrent one; -1 for none.
  var rivals: Int32 {
    get { firstRival &- 1 }
    set { firstRival = newValue &+ 1 }
  }

  /// Whether a write at that position is the membership's first, or simply follows one of the same replica, without rivals.
  @inline(__always)
  func isNext(_ position: WritePosition) -> Bool {
    if replica == 0 { return firstRival == 0 }
    return position.replica.index &+ 1 == replica && firstRival == 0
      && (position.stamp > stamp || position.stamp == stamp && position.sequence > sequence)
  }

  var isVisible: Bool { isFavorite || heldCount > 0 }
  var hasMembership: Bool { replica != 0 }
  /// Visible, or a tombstone: an item that was ever a favorite stays in the list of all items.
  var isListed: Bool { isVisible || hasMembership }
  /// Whether no field of the item was ever written.
  var hasNoFields: Bool { baseFieldCount == 0 && addedFieldCount == 0 }

  var wasWritten: Bool { hasMembership || baseFieldCount > 0 || addedFieldCount > 0 }
}

/// A field register. Its index never changes, because registers are never removed: null is a value.
struct FieldRecord: BitwiseCopyable, WrittenRecord, ValueRecord {
  var stamp: UInt64
  var sequence: UInt64
  var word: UInt64
  var length: UInt32
  var replica: Int32
  let name: FieldNameSlot
  private var nextField: Int32
  private var firstRival: Int32 = 0
  var tag: UInt8
  private var quietFlag: UInt8

  init(name: FieldNameSlot, next: Int32, position: WritePosition, value: StoredValue, isQuiet: Bool) {
    self.name = name
    nextField = next &+ 1
    stamp = position.stamp
    sequence = position.sequence
    replica = position.replica.index &+ 1
    word = value.word
    length = value.length
    tag = value.tag
    quietFlag = isQuiet ? 1 : 0
  }

  var isQuiet: Bool {
    get { quietFlag != 0 }
    set { quietFlag = newValue ? 1 : 0 }
  }

  /// The index of the item's field that was added before this one; -1 for none.
  var next: Int32 { nextField &- 1 }

  /// The first of the field's writes that lost to a concurrent one; -1 for none.
  var rivals: Int32 {
    get { firstRival &- 1 }
    set { firstRival = newValue &+ 1 }
  }
}

/// A write of a membership or a field that lost to a concurrent one.
struct RivalRecord: BitwiseCopyable, WrittenRecord, ValueRecord {
  var stamp: UInt64 = 0
  var sequence: UInt64 = 0
  /// For a membership its favorited date, for a field as in `StoredValue`.
  var word: UInt64 = 0
  var length: UInt32 = 0
  var replica: Int32 = 0
  let item: ItemSlot
  private var fieldNumber: Int32
  private var nextRival: Int32 = 0
  var tag: UInt8 = 0
  /// For a membership: whether it made the item a favorite. For a field: whether the write was quiet.
  private var flag: UInt8

  /// Creates a rival of a membership.
  init(item: ItemSlot, position: WritePosition, isFavorite: Bool, favoritedDate: Milliseconds) {
    self.item = item
    fieldNumber = 0
    word = UInt64(bitPattern: favoritedDate)
    flag = isFavorite ? 1 : 0
    self.position = position
  }

  /// Creates a rival of the field at index `field`.
  init(item: ItemSlot, field: Int32, position: WritePosition, value: StoredValue, isQuiet: Bool) {
    self.item = item
    fieldNumber = field &+ 1
    flag = isQuiet ? 1 : 0
    word = value.word
    length = value.length
    tag = value.tag
    self.position = position
  }

  /// The index of the field; -1 for the membership.
  var field: Int32 {
    get { fieldNumber &- 1 }
    set { fieldNumber = newValue &+ 1 }
  }

  var isFavorite: Bool { field < 0 && flag != 0 }
  var isQuiet: Bool { field >= 0 && flag != 0 }
  var favoritedDate: Milliseconds { Milliseconds(bitPattern: word) }
  /// The next rival of the register; -1 for none.
  var next: Int32 {
    get { nextRival &- 1 }
    set { nextRival = newValue &+ 1 }
  }

  /// Whether the record is unused and its slot is free.
  var isFree: Bool { replica == 0 }
}

// Offsets as in docs/format.md. They are declared here because flags and links are private to the records.

extension ItemRecord: MappedRecord {
  static var layout: [MappedInteger<Self>] {
    [
      .init(\.key.words.0, at: 0), .init(\.key.words.1, at: 8), .init(\.key.words.2, at: 16),
      .init(\.key.count, at: 24), .init(\.favoriteFlag, at: 28), .init(\.movedFlag, at: 29),
      .init(\.stamp, at: 32), .init(\.sequence, at: 40), .init(\.favoritedDate, at: 48),
      .init(\.replica, at: 56), .init(\.baseFields, at: 60), .init(\.baseFieldCount, at: 64),
      .init(\.lastField, at: 68), .init(\.addedFieldCount, at: 72), .init(\.heldCount, at: 76),
      .init(\.firstRival, at: 80), .init(\.counted, at: 84), .init(\.baseTexts, at: 88),
    ]
  }
  static var layoutBytes: Int { 96 }
  static var isPacked: Bool { true }
}

extension FieldRecord: MappedRecord {
  static var layout: [MappedInteger<Self>] {
    [
      .init(\.stamp, at: 0), .init(\.sequence, at: 8), .init(\.word, at: 16), .init(\.length, at: 24),
      .init(\.replica, at: 28), .init(\.name.index, at: 32), .init(\.nextField, at: 36),
      .init(\.firstRival, at: 40), .init(\.tag, at: 44), .init(\.quietFlag, at: 45),
    ]
  }
  static var layoutBytes: Int { 48 }
  static var isPacked: Bool { true }
}

extension RivalRecord: MappedRecord {
  static var layout: [MappedInteger<Self>] {
    [
      .init(\.stamp, at: 0), .init(\.sequence, at: 8), .init(\.word, at: 16), .init(\.length, at: 24),
      .init(\.replica, at: 28), .init(\.item.index, at: 32), .init(\.fieldNumber, at: 36),
      .init(\.nextRival, at: 40), .init(\.tag, at: 44), .init(\.flag, at: 45),
    ]
  }
  static var layoutBytes: Int { 48 }
  static var isPacked: Bool { true }
}

extension CommitNumbers.Run: MappedRecord {
  static var layout: [MappedInteger<Self>] {
    [.init(\.commit, at: 0), .init(\.sequence, at: 8), .init(\.eventsPerCommit, at: 16)]
  }
  static var layoutBytes: Int { 24 }
}

extension SeenCommits.Entry: MappedRecord {
  static var layout: [MappedInteger<Self>] { [.init(\.commit, at: 0), .init(\.seen, at: 8)] }
  static var layoutBytes: Int { 16 }
}

extension UInt64: MappedRecord {
  static var layout: [MappedInteger<Self>] { [.init(\.self, at: 0)] }
  static var layoutBytes: Int { 8 }
}

extension Int32: MappedRecord {
  static var layout: [MappedInteger<Self>] { [.init(\.self, at: 0)] }
  static var layoutBytes: Int { 4 }
}

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
