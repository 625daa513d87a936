import HeartlogFormat

/// Snapshot files, by docs/format.md alone: all checksums that what is written in them asks for.
struct SnapshotBytes {
  private(set) var bytes: [UInt8]
  private let seed: UInt64

  private static let alignment = 64
  private static let partsOfPage = 8

  /// Nil if there is no directory.
  init?(sealing file: [UInt8]) {
    var file = file
    file += [UInt8](repeating: 0, count: -file.count & (Self.alignment - 1))
    guard file.count >= 2 * Self.alignment else { return nil }
    bytes = file
    seed = file.number(at: 16, as: UInt64.self) ^ file.number(at: 24, as: UInt64.self)
    let trailer = bytes.count - Self.alignment
    let offset = bytes.number(at: trailer, as: UInt64.self)
    let count = bytes.number(at: trailer + 8, as: UInt64.self)
    guard offset <= UInt64(trailer), count <= UInt64(trailer) - offset else { return nil }
    let directory = Int(offset)..<Int(offset + count)
    // As far as the directory can be read; a reader refuses the rest.
    let names = Array(bytes[directory])
    names.withUnsafeBytes { names in
      var reader = ByteReader(names)
      try? seal(&reader)
    }
    bytes.set(checksum(directory), at: trailer + 16)
    bytes.set(UInt64(bytes.count), at: trailer + 24)
    bytes.set(checksum(trailer..<bytes.count - 8), at: bytes.count - 8)
    bytes.set(Self.checksum(bytes, 0..<56, seed: 0), at: 56)
  }

  private func checksum(_ range: Range<Int>) -> UInt64 { Self.checksum(bytes, range, seed: seed) }

  private static func checksum(_ bytes: [UInt8], _ range: Range<Int>, seed: UInt64) -> UInt64 {
    bytes.checksum(range, seed: 0) ^ (seed &+ UInt64(range.lowerBound))
  }

  private mutating func seal(_ reader: inout ByteReader) throws(MalformedError) {
    _ = try reader.lengthAndBytes()
    for _ in 0..<4 { _ = try reader.u64() }
    for _ in 0..<(try reader.count(atMost: reader.remaining, "")) {
      _ = try reader.take(16)
      _ = try reader.varint()
      for _ in 0..<(try reader.count(atMost: reader.remaining, "")) { _ = try reader.lengthAndBytes() }
    }
    for _ in 0..<(try reader.count(atMost: reader.remaining, "")) {
      _ = try reader.take(16 + 3 * 8)
      for _ in 0..<(try reader.count(atMost: reader.remaining, "")) {
        _ = try reader.take(16)
        _ = try reader.varint()
      }
      sealRecords(try reader.varint(), try reader.varint(), recordBytes: 24)
      _ = try reader.take(16)
      for _ in 0..<(try reader.count(atMost: reader.remaining, "")) {
        _ = try reader.varint()
        sealRecords(try reader.varint(), try reader.varint(), recordBytes: 16)
      }
    }
    for _ in 0..<(try reader.count(atMost: reader.remaining, "")) { _ = try reader.lengthAndBytes() }
    for _ in 0..<(try reader.count(atMost: reader.remaining, "")) {
      _ = try reader.lengthAndBytes()
      _ = try reader.u64()
      for _ in 0..<3 { _ = try reader.varint() }
      _ = try reader.u64()
      for recordBytes in [8, 96, 48, 48, 4] {
        sealRecords(try reader.varint(), try reader.varint(), recordBytes: recordBytes)
      }
      let texts = (offset: try reader.varint(), count: try reader.varint())
      let checksums = (offset: try reader.varint(), count: try reader.varint())
      sealTexts(texts.offset, texts.count, checksums: checksums.offset, checksums.count)
      sealRecords(checksums.offset, checksums.count, recordBytes: 8)
    }
  }

  private static func recordsPerPage(_ recordBytes: Int) -> Int {
    var count = 1
    while count * 2 * recordBytes <= 2_048 { count *= 2 }
    return count
  }

  private mutating func sealRecords(_ offset: UInt64, _ count: UInt64, recordBytes: Int) {
    let perPage = Self.recordsPerPage(recordBytes)
    let pageBytes = perPage * recordBytes
    let stride = pageBytes + Self.partsOfPage * 8
    guard offset <= UInt64(bytes.count), count <= UInt64(bytes.count) else { return }
    for number in 0..<(Int(count) + perPage - 1) / perPage {
      let start = Int(offset) + number * stride
      guard start + stride <= bytes.count else { return }
      for part in 0..<Self.partsOfPage {
        let range =
          start + part * pageBytes / Self.partsOfPage..<start + (part + 1) * pageBytes / Self.partsOfPage
        bytes.set(checksum(range), at: start + pageBytes + part * 8)
      }
    }
  }

  private mutating func sealTexts(
    _ offset: UInt64, _ count: UInt64, checksums: UInt64, _ checksumCount: UInt64
  ) {
    let perPage = UInt64(Self.recordsPerPage(8))
    let end = UInt64(bytes.count)
    guard offset <= end, count <= end - offset, checksums <= end else { return }
    for number in 0..<min(checksumCount, (count + 4_095) / 4_096) {
      let page = Int(offset + number * 4_096)..<Int(offset + min((number + 1) * 4_096, count))
      let place = checksums + number / perPage * (perPage * 8 + 64) + number % perPage * 8
      guard place + 8 <= end else { return }
      bytes.set(checksum(page), at: Int(place))
    }
  }
}
