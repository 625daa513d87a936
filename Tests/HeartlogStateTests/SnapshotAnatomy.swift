import HeartlogFormat

@testable import HeartlogState

/// Where the parts of a snapshot lie, read by docs/format.md alone, and their checksums made anew after a change.
struct SnapshotAnatomy {
  /// Bytes, where their checksum stands, and which offset counts in it.
  private struct Checked {
    let bytes: Range<Int>
    let checksum: Int
    let place: Int
  }

  /// A packed page.
  struct Page {
    /// Where it lies.
    let bytes: Range<Int>
    /// Where the index of its part has it.
    fileprivate let entry: Int
    let records: Records
  }

  /// The records of a page.
  struct Records {
    let count: Int
    let stride: Int
    let columns: [PackedColumn]
  }

  let directory: Range<Int>
  /// The pages of all parts: of texts, of records in place, and packed ones.
  private(set) var pages: [Range<Int>] = []
  private(set) var packedPages: [Page] = []
  /// Where the index of a part says which bytes are a page.
  private(set) var entries: [Range<Int>] = []
  private var checked: [Checked] = []
  private let bytes: [UInt8]
  private let seed: UInt64

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    seed = Self.u64(16, bytes) ^ Self.u64(24, bytes)
    let trailer = bytes.count - 64
    directory = Int(Self.u64(trailer, bytes))..<Int(Self.u64(trailer, bytes) + Self.u64(trailer + 8, bytes))
    var reader = Walk(bytes[directory])
    _ = reader.bytes()
    for _ in 0..<4 { _ = reader.u64() }
    for _ in 0..<reader.varint() {
      reader.skip(16)
      _ = reader.varint()
      for _ in 0..<reader.varint() { _ = reader.bytes() }
    }
    for _ in 0..<reader.varint() {
      reader.skip(16 + 3 * 8)
      for _ in 0..<reader.varint() {
        reader.skip(16)
        _ = reader.varint()
      }
      add(reader.place(), of: CommitNumbers.Run.self)
      reader.skip(16)
      for _ in 0..<reader.varint() {
        _ = reader.varint()
        add(reader.place(), of: SeenCommits.Entry.self)
      }
    }
    for _ in 0..<reader.varint() { _ = reader.bytes() }
    for _ in 0..<reader.varint() {
      _ = reader.bytes()
      reader.skip(8)
      for _ in 0..<3 { _ = reader.varint() }
      reader.skip(8)
      add(reader.place(), of: UInt64.self)
      add(reader.place(), of: ItemRecord.self)
      add(reader.place(), of: FieldRecord.self)
      add(reader.place(), of: RivalRecord.self)
      add(reader.place(), of: Int32.self)
      addPacked(reader.place(), perPage: 4_096) { _ in nil }
    }
    guard reader.isAtEnd else { throw MalformedError("a directory with more than it should have") }
  }

  private static func u64(_ offset: Int, _ bytes: [UInt8]) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }

  /// The offset and the size that an entry has.
  private static func place(_ entry: Int, _ bytes: [UInt8]) -> (offset: Int, count: Int) {
    let word = u64(entry, bytes)
    return (Int(word & (1 << 48 - 1)), Int(word >> 48))
  }

  private mutating func add<Record: MappedRecord>(_ place: (offset: Int, count: Int), of type: Record.Type) {
    var perPage = 1
    while perPage * 2 * Record.layoutBytes <= 2_048 { perPage *= 2 }
    guard perPage > 32 else {
      return addPacked(place, perPage: perPage) {
        Records(
          count: min(perPage, place.count - $0 * perPage), stride: Record.layoutBytes, columns: Record.columns
        )
      }
    }
    let pageBytes = perPage * Record.layoutBytes
    for number in 0..<(place.count + perPage - 1) / perPage {
      let start = place.offset + number * (pageBytes + 64)
      pages.append(start..<start + pageBytes)
      for part in 0..<8 {
        let bytes = start + part * pageBytes / 8..<start + (part + 1) * pageBytes / 8
        checked.append(
          Checked(bytes: bytes, checksum: start + pageBytes + part * 8, place: bytes.lowerBound))
      }
    }
  }

  private mutating func addPacked(
    _ place: (offset: Int, count: Int), perPage: Int, _ records: (_ page: Int) -> Records?
  ) {
    for number in 0..<(place.count + perPage - 1) / perPage {
      let entry = place.offset + number * 16
      let (offset, count) = Self.place(entry, bytes)
      let page = offset..<offset + count
      pages.append(page)
      entries.append(entry..<entry + 8)
      checked.append(Checked(bytes: page, checksum: entry + 8, place: entry))
      if let records = records(number) {
        packedPages.append(Page(bytes: page, entry: entry, records: records))
      }
    }
  }

  private func sum(_ range: Range<Int>, of bytes: [UInt8], seed: UInt64, place: Int? = nil) -> [UInt8] {
    let sum = bytes.withUnsafeBytes {
      SnapshotSource.checksum(
        UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed, offset: place ?? range.lowerBound)
    }
    return Self.bytes(of: sum)
  }

  private static func bytes(of word: UInt64) -> [UInt8] {
    withUnsafeBytes(of: word.littleEndian) { Array($0) }
  }

  /// Makes all checksums right again.
  func seal(_ bytes: inout [UInt8]) {
    for part in checked {
      var range = part.bytes
      if part.place + 8 == part.checksum {
        // The entry may say something else now.
        let (offset, count) = Self.place(part.place, bytes)
        guard offset + count <= bytes.count else { continue }
        range = offset..<offset + count
      }
      let sum = sum(range, of: bytes, seed: seed, place: part.place)
      bytes.replaceSubrange(part.checksum..<part.checksum + 8, with: sum)
    }
    sealFrame(of: &bytes, directory)
  }

  private func sealFrame(of bytes: inout [UInt8], _ directory: Range<Int>) {
    let trailer = bytes.count - 64
    bytes.replaceSubrange(trailer + 16..<trailer + 24, with: sum(directory, of: bytes, seed: seed))
    bytes.replaceSubrange(
      bytes.count - 8..<bytes.count, with: sum(trailer..<bytes.count - 8, of: bytes, seed: seed))
    bytes.replaceSubrange(56..<64, with: sum(0..<56, of: bytes, seed: 0))
  }

  /// The records of a page, unpacked.
  func records(of page: Page) -> [UInt8]? {
    let records = page.records
    var unpacked = [UInt8](repeating: 0, count: records.count * records.stride)
    let isWhole = bytes.withUnsafeBytes { bytes in
      records.columns.withUnsafeBufferPointer { columns in
        unpacked.withUnsafeMutableBytes {
          PagePacking.unpack(
            UnsafeRawBufferPointer(rebasing: bytes[page.bytes]), count: records.count, 0..<records.count,
            stride: records.stride, columns, into: $0.baseAddress!)
        }
      }
    }
    return isWhole ? unpacked : nil
  }

  /// The snapshot with other records on some pages, which are packed again behind the others.
  func with(_ replaced: [(page: Page, records: [UInt8])]) -> [UInt8] {
    var changed = Array(bytes[..<directory.lowerBound])
    for (page, unpacked) in replaced {
      let records = page.records
      let packed = unpacked.withUnsafeBytes {
        PagePacking.pack($0, count: records.count, stride: records.stride, records.columns)
      }
      let range = changed.count..<changed.count + packed.count
      changed += packed
      let entry = UInt64(range.lowerBound) | UInt64(packed.count) << 48
      changed.replaceSubrange(page.entry..<page.entry + 8, with: Self.bytes(of: entry))
      let sum = sum(range, of: changed, seed: seed, place: page.entry)
      changed.replaceSubrange(page.entry + 8..<page.entry + 16, with: sum)
    }
    changed += [UInt8](repeating: 0, count: -changed.count & 63)
    let moved = changed.count..<changed.count + directory.count
    changed += bytes[directory]
    changed += [UInt8](repeating: 0, count: -changed.count & 63)
    changed +=
      Self.bytes(of: UInt64(moved.lowerBound)) + Self.bytes(of: UInt64(moved.count)) + Self.bytes(of: 0)
    changed += Self.bytes(of: UInt64(changed.count + 40)) + [UInt8](repeating: 0, count: 32)
    sealFrame(of: &changed, moved)
    return changed
  }

  /// Reads a directory of which nothing is wrong.
  private struct Walk {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ count: Int) { rest = rest.dropFirst(count) }

    mutating func u64() -> UInt64 {
      defer { skip(8) }
      return rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func varint() -> Int {
      var value = 0
      var shift = 0
      while let byte = rest.popFirst() {
        value |= Int(byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 { break }
      }
      return value
    }

    mutating func bytes() -> [UInt8] {
      let count = varint()
      defer { skip(count) }
      return Array(rest.prefix(count))
    }

    mutating func place() -> (offset: Int, count: Int) {
      let offset = varint()
      return (offset, varint())
    }
  }
}
