import HeartlogFormat

@testable import HeartlogState

/// Where the parts of a snapshot lie, read by docs/format.md alone, and their checksums made anew after a change.
struct SnapshotAnatomy {
  /// Bytes, and where their checksum stands.
  private struct Checked {
    let bytes: Range<Int>
    let checksum: Int
  }

  private struct Place {
    let offset: Int
    let count: Int
  }

  let directory: Range<Int>
  /// The pages of all parts that hold records.
  private(set) var pages: [Range<Int>] = []
  private(set) var textPages: [Range<Int>] = []
  private var checked: [Checked] = []
  private let seed: UInt64
  private let byteCount: Int

  init(_ bytes: [UInt8]) throws {
    func u64(_ offset: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }
    byteCount = bytes.count
    seed = u64(16) ^ u64(24)
    let trailer = bytes.count - 64
    directory = Int(u64(trailer))..<Int(u64(trailer) + u64(trailer + 8))
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
      add(reader.place(), recordBytes: 24)
      reader.skip(16)
      for _ in 0..<reader.varint() {
        _ = reader.varint()
        add(reader.place(), recordBytes: 16)
      }
    }
    for _ in 0..<reader.varint() { _ = reader.bytes() }
    for _ in 0..<reader.varint() {
      _ = reader.bytes()
      reader.skip(8)
      for _ in 0..<3 { _ = reader.varint() }
      reader.skip(8)
      for recordBytes in [8, 96, 48, 48, 4] { add(reader.place(), recordBytes: recordBytes) }
      let texts = reader.place()
      let checksums = reader.place()
      for (number, start) in stride(from: 0, to: texts.count, by: 4_096).enumerated() {
        let page = texts.offset + start..<texts.offset + min(start + 4_096, texts.count)
        textPages.append(page)
        // In front of the page that its checksum stands in.
        checked.append(
          Checked(bytes: page, checksum: checksums.offset + number / 256 * (2_048 + 64) + number % 256 * 8))
      }
      add(checksums, recordBytes: 8)
    }
    guard reader.isAtEnd else { throw MalformedError("a directory with more than it should have") }
  }

  private mutating func add(_ place: Place, recordBytes: Int) {
    var perPage = 1
    while perPage * 2 * recordBytes <= 2_048 { perPage *= 2 }
    let pageBytes = perPage * recordBytes
    for number in 0..<(place.count + perPage - 1) / perPage {
      let start = place.offset + number * (pageBytes + 64)
      pages.append(start..<start + pageBytes)
      for part in 0..<8 {
        let bytes = start + part * pageBytes / 8..<start + (part + 1) * pageBytes / 8
        checked.append(Checked(bytes: bytes, checksum: start + pageBytes + part * 8))
      }
    }
  }

  /// Makes checksums right again.
  ///
  /// - Parameter changed: where bytes were changed, nil for anywhere: the others hold already.
  func seal(_ bytes: inout [UInt8], changed: [Range<Int>]? = nil) {
    func sum(_ range: Range<Int>, seed: UInt64) -> [UInt8] {
      let sum = bytes.withUnsafeBytes {
        SnapshotSource.checksum(
          UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed, offset: range.lowerBound)
      }
      return withUnsafeBytes(of: sum.littleEndian) { Array($0) }
    }
    // In order: the checksum of a page of texts stands in a page that has its own.
    var changed = changed
    for part in checked where changed?.contains(where: { $0.overlaps(part.bytes) }) ?? true {
      changed?.append(part.checksum..<part.checksum + 8)
      bytes.replaceSubrange(part.checksum..<part.checksum + 8, with: sum(part.bytes, seed: seed))
    }
    let trailer = byteCount - 64
    bytes.replaceSubrange(trailer + 16..<trailer + 24, with: sum(directory, seed: seed))
    bytes.replaceSubrange(byteCount - 8..<byteCount, with: sum(trailer..<byteCount - 8, seed: seed))
    bytes.replaceSubrange(56..<64, with: sum(0..<56, seed: 0))
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

    mutating func place() -> Place {
      let offset = varint()
      return Place(offset: offset, count: varint())
    }
  }
}
