/// A copy of one record that replaces the record on its page. Used for pages of which only a few records are written.
///
/// Layout in memory: the record; the word that the page had before (its own, or that of its previous patch); the index of the record on the
/// page; the number of patches of the page including this one.
struct PagePatch {
  /// A page with this many patches is copied as a whole.
  static let countMax = 8
  private static let recordsPerPageMax = 32
  private static let alignment = 64

  let memory: UnsafeMutableRawPointer

  init(memory: UnsafeMutableRawPointer) { self.memory = memory }

  /// - Parameters:
  ///   - memory: `byteCount` bytes.
  ///   - source: the current record.
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

  /// Whether pages with records of this size use patches: they have few records, of whole words.
  static func isWorthwhile(_ recordBytes: Int, pageBytes: Int) -> Bool {
    pageBytes / recordBytes <= recordsPerPageMax && recordBytes % MemoryLayout<UInt>.stride == 0
  }

  /// The size of a patch, a multiple of 64.
  static func byteCount(_ recordBytes: Int) -> Int { (recordBytes + 16 + alignment - 1) & ~(alignment - 1) }

  /// The word that links to the previous patch or the page.
  func nextPointer(_ recordBytes: Int) -> UnsafeMutablePointer<UInt> {
    (memory + recordBytes).assumingMemoryBound(to: UInt.self)
  }

  func next(_ recordBytes: Int) -> UInt { nextPointer(recordBytes).pointee }
  func record(_ recordBytes: Int) -> Int {
    Int(memory.load(fromByteOffset: recordBytes + 8, as: UInt32.self))
  }
  func count(_ recordBytes: Int) -> Int {
    Int(memory.load(fromByteOffset: recordBytes + 12, as: UInt32.self))
  }
}
