/// A record that takes the place of one of a page, which was written to here and there.
///
/// In memory: the record, and behind it the word of the page or of its patch before this one, the place of the record on the page, and how
/// many patches the page has with this one.
struct PagePatch {
  /// A page that has this many is taken over whole.
  static let countMax = 8
  private static let recordsPerPageMax = 32
  private static let alignment = 64

  let memory: UnsafeMutableRawPointer

  init(memory: UnsafeMutableRawPointer) { self.memory = memory }

  /// - Parameters:
  ///   - memory: `byteCount` of that.
  ///   - source: the record as it is.
  init(
    _ memory: UnsafeMutableRawPointer, of record: Int, _ recordBytes: Int, from source: UnsafeRawPointer,
    count: Int, next: UInt
  ) {
    self.memory = memory
    memory.copyMemory(from: source, byteCount: recordBytes)
    memory.storeBytes(of: next, toByteOffset: recordBytes, as: UInt.self)
    memory.storeBytes(of: UInt32(record), toByteOffset: recordBytes + 8, as: UInt32.self)
    memory.storeBytes(of: UInt32(count), toByteOffset: recordBytes + 12, as: UInt32.self)
  }

  /// Whether pages of such records have patches: few records, of whole words.
  static func isWorthwhile(_ recordBytes: Int, pageBytes: Int) -> Bool {
    pageBytes / recordBytes <= recordsPerPageMax && recordBytes % MemoryLayout<UInt>.stride == 0
  }

  /// A multiple of 64.
  static func byteCount(_ recordBytes: Int) -> Int { (recordBytes + 16 + alignment - 1) & ~(alignment - 1) }

  /// Where the word stands that leads on.
  func nextPlace(_ recordBytes: Int) -> UnsafeMutablePointer<UInt> {
    (memory + recordBytes).assumingMemoryBound(to: UInt.self)
  }

  func next(_ recordBytes: Int) -> UInt { nextPlace(recordBytes).pointee }
  func record(_ recordBytes: Int) -> Int {
    Int(memory.load(fromByteOffset: recordBytes + 8, as: UInt32.self))
  }
  func count(_ recordBytes: Int) -> Int {
    Int(memory.load(fromByteOffset: recordBytes + 12, as: UInt32.self))
  }
}
