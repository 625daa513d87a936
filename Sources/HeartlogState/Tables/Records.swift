import CXXHash
import HeartlogEvents

// What the tables of a library hold, a record each. Zeros are an item that was never written, a field that was never written, and so
// on: numbers that may be missing are kept one higher, and 0 is none. A snapshot that lies may have any number there: one that is out of
// range wraps, and points nowhere. Flags are bytes, of which any but 0 is set: a Bool of any other bits than 0 and 1 would be undefined.

/// A record of a write.
protocol WrittenRecord {
  var stamp: UInt64 { get set }
  var sequence: UInt64 { get set }
  /// Its slot, one higher.
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

/// A record of a field's value: see `StoredValue`.
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

/// An item: its id, its membership register, and where its fields are.
///
/// What a look-up asks for lies in one cache line: records are 96 bytes, and the first 32 of them the id and the flags.
struct ItemRecord: KeyedRecord, WrittenRecord {
  private(set) var key: Key
  private var favoriteFlag: UInt8 = 0
  private var movedFlag: UInt8 = 0
  var stamp: UInt64 = 0
  var sequence: UInt64 = 0
  /// Means nothing while it is no favorite.
  var favoritedDate: Milliseconds = 0
  var replica: Int32 = 0
  /// The first of the fields that came with a snapshot; the others follow it, by name.
  var baseFields: Int32 = 0
  var baseFieldCount: Int32 = 0
  private var lastField: Int32 = 0
  /// How many fields were added since, the newest of which is `newestField`. The others follow by `next`.
  var addedFieldCount: Int32 = 0
  /// How many of its fields hold a value other than null.
  var heldCount: Int32 = 0
  private var firstRival: Int32 = 0
  /// The last count of changed items that it was part of.
  var counted: UInt32 = 0
  /// Where in its snapshot's texts those of its fields begin: a hint of what will be looked at next.
  var baseTexts: UInt64 = 0

  init(key: Key) { self.key = key }

  var isFavorite: Bool {
    get { favoriteFlag != 0 }
    set { favoriteFlag = newValue ? 1 : 0 }
  }

  /// It has left its position in the order of its snapshot.
  var isMoved: Bool {
    get { movedFlag != 0 }
    set { movedFlag = newValue ? 1 : 0 }
  }

  /// The record with another key.
  func with(_ key: Key) -> ItemRecord {
    var record = self
    record.key = key
    return record
  }

  /// Where in a table of `count` fields those lie that came with the snapshot.
  @inline(__always)
  func baseFieldRange(of count: Int) -> Range<Int> {
    let first = max(0, Int(baseFields))
    return first..<max(first, min(first + Int(baseFieldCount), count))
  }

  /// Has the registers of a record brought into the cache.
  @inline(__always)
  static func prefetchRegisters(_ record: UnsafePointer<ItemRecord>) {
    // The two lines that the flags and the registers lie in.
    heartlog_prefetch(UnsafeRawPointer(record) + 28)
    heartlog_prefetch(UnsafeRawPointer(record) + 84)
  }

  var membership: WritePosition {
    get { position }
    set { position = newValue }
  }

  /// -1 for none.
  var newestField: Int32 {
    get { lastField &- 1 }
    set { lastField = newValue &+ 1 }
  }

  /// Writes of its membership that lost to a concurrent one.
  var rivals: Int32 {
    get { firstRival &- 1 }
    set { firstRival = newValue &+ 1 }
  }

  /// Whether a write at that position is the first of the membership, or follows one of the same replica, and nothing disputes it.
  @inline(__always)
  func isNext(_ position: WritePosition) -> Bool {
    if replica == 0 { return firstRival == 0 }
    return position.replica.index &+ 1 == replica && firstRival == 0
      && (position.stamp > stamp || position.stamp == stamp && position.sequence > sequence)
  }

  var isVisible: Bool { isFavorite || heldCount > 0 }
  var hasMembership: Bool { replica != 0 }
  /// Visible, or a tombstone: what was a favorite once stays in the list of everything.
  var isListed: Bool { isVisible || hasMembership }
  var wasWritten: Bool { hasMembership || baseFieldCount > 0 || addedFieldCount > 0 }
}

/// A field register. It stays where it is, since a register is never taken away: null is a value.
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

  /// The field of the item that was added before this one; -1 for none.
  var next: Int32 { nextField &- 1 }

  /// Writes of the field that lost to a concurrent one.
  var rivals: Int32 {
    get { firstRival &- 1 }
    set { firstRival = newValue &+ 1 }
  }
}

/// A write that lost to a concurrent one, of a membership or of a field.
struct RivalRecord: BitwiseCopyable, WrittenRecord, ValueRecord {
  var stamp: UInt64 = 0
  var sequence: UInt64 = 0
  /// The favorited date of a membership; of a field as in `StoredValue`.
  var word: UInt64 = 0
  var length: UInt32 = 0
  var replica: Int32 = 0
  let item: ItemSlot
  private var fieldNumber: Int32
  private var nextRival: Int32 = 0
  var tag: UInt8 = 0
  /// Of a membership: set where it made a favorite. Of a field: set where it was quiet.
  private var flag: UInt8

  /// A membership.
  init(item: ItemSlot, position: WritePosition, isFavorite: Bool, favoritedDate: Milliseconds) {
    self.item = item
    fieldNumber = 0
    word = UInt64(bitPattern: favoritedDate)
    flag = isFavorite ? 1 : 0
    self.position = position
  }

  /// A field, at `field` of its table.
  init(item: ItemSlot, field: Int32, position: WritePosition, value: StoredValue, isQuiet: Bool) {
    self.item = item
    fieldNumber = field &+ 1
    flag = isQuiet ? 1 : 0
    word = value.word
    length = value.length
    tag = value.tag
    self.position = position
  }

  /// -1 for the membership.
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

  /// Whether it stands for no write, and its slot is free.
  var isFree: Bool { replica == 0 }
}

// Offsets as docs/format.md has them. They stand here, since flags and links are private to the records.

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
