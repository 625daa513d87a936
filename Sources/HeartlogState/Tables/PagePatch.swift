/// Some records of a page, each in the place of the one that the page has: where it was written to here and there.
///
/// In memory: the word of the page, how many records there are and how many there is room for, then a byte for each record of the page that
/// tells which of those here takes its place, counted from 1, and 0 where none does; and behind all that the records.
struct PagePatch {
  static let recordsMax = 32
  static let roomMin = 4
  static let roomMax = 8
  private static let recordsOffset = 64
  private static let slotsOffset = 16

  let memory: UnsafeMutableRawPointer

  init(memory: UnsafeMutableRawPointer) { self.memory = memory }

  /// A patch without records.
  ///
  /// - Parameter memory: `byteCount` of that room.
  init(_ memory: UnsafeMutableRawPointer, of page: UInt, room: Int) {
    self.memory = memory
    memory.storeBytes(of: page, as: UInt.self)
    memory.storeBytes(of: 0, toByteOffset: 8, as: UInt32.self)
    memory.storeBytes(of: UInt32(room), toByteOffset: 12, as: UInt32.self)
    (memory + Self.slotsOffset).initializeMemory(as: UInt8.self, repeating: 0, count: Self.recordsMax)
  }

  /// A multiple of 64.
  static func byteCount(room: Int, _ recordBytes: Int) -> Int {
    (recordsOffset + room * recordBytes + 63) & ~63
  }

  /// The word of the page, which says what of it may be read.
  var page: UInt {
    get { memory.load(as: UInt.self) }
    nonmutating set { memory.storeBytes(of: newValue, as: UInt.self) }
  }

  var count: Int { Int(memory.load(fromByteOffset: 8, as: UInt32.self)) }
  var room: Int { Int(memory.load(fromByteOffset: 12, as: UInt32.self)) }

  private func slot(of record: Int) -> Int {
    Int(memory.load(fromByteOffset: Self.slotsOffset + record, as: UInt8.self))
  }

  /// Where a record lies that takes the place of the page's; nil where none does.
  func place(of record: Int, _ recordBytes: Int) -> UnsafeMutableRawPointer? {
    let slot = slot(of: record)
    return slot == 0 ? nil : memory + Self.recordsOffset + (slot - 1) * recordBytes
  }

  /// Adds a copy of a record of the page, which lies at `source`.
  ///
  /// - Precondition: there is room, and it is not there.
  func add(_ record: Int, _ recordBytes: Int, from source: UnsafeRawPointer) -> UnsafeMutableRawPointer {
    let before = count
    let place = memory + Self.recordsOffset + before * recordBytes
    place.copyMemory(from: source, byteCount: recordBytes)
    memory.storeBytes(of: UInt32(before + 1), toByteOffset: 8, as: UInt32.self)
    memory.storeBytes(of: UInt8(before + 1), toByteOffset: Self.slotsOffset + record, as: UInt8.self)
    return place
  }

  /// Takes all records of a patch of the same page.
  ///
  /// - Precondition: it has none, and room for them.
  func take(_ other: PagePatch, _ recordBytes: Int) {
    let room = room
    memory.copyMemory(from: other.memory, byteCount: Self.recordsOffset + other.count * recordBytes)
    memory.storeBytes(of: UInt32(room), toByteOffset: 12, as: UInt32.self)
  }

  /// Writes its records to their places in a copy of the page.
  func write(to page: UnsafeMutableRawPointer, _ recordBytes: Int) {
    for record in 0..<Self.recordsMax {
      guard let place = place(of: record, recordBytes) else { continue }
      (page + record * recordBytes).copyMemory(from: place, byteCount: recordBytes)
    }
  }
}
