import HeartlogFormat

/// The frame of a snapshot as in docs/format.md: a header, mapped parts, a directory of them, and a trailer.
///
/// The header identifies the file. The trailer is written last and shows that the file is complete.
enum SnapshotLayout {
  static let magic: [UInt8] = [0x89, 0x48, 0x53, 0x4E, 0x41, 0x50, 0x0D, 0x0A]
  static let version: UInt16 = 6
  /// The alignment of parts, and the length of the header and the trailer.
  static let alignment = 64
  private static let checkedBytes = 56

  static func seed(_ id: (UInt64, UInt64)) -> UInt64 { id.0 ^ id.1 }

  static func header(id: (UInt64, UInt64)) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(magic)
    writer.u32(UInt32(version))
    writer.u32(0)
    writer.u64(id.0)
    writer.u64(id.1)
    return sealed(writer, seed: 0, offset: 0)
  }

  static func trailer(
    id: (UInt64, UInt64), directory: SnapshotWriter.Location, checksum: UInt64, at offset: Int
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.u64(UInt64(directory.offset))
    writer.u64(UInt64(directory.count))
    writer.u64(checksum)
    writer.u64(UInt64(offset + alignment))
    return sealed(writer, seed: seed(id), offset: offset)
  }

  private static func sealed(_ writer: ByteWriter, seed: UInt64, offset: Int) -> [UInt8] {
    var writer = writer
    writer.raw([UInt8](repeating: 0, count: checkedBytes - writer.count))
    writer.u64(writer.bytes.withUnsafeBytes { SnapshotSource.checksum($0, seed: seed, offset: offset) })
    return writer.bytes
  }

  /// The contents of a header and a trailer.
  struct Frame {
    let seed: UInt64
    let directory: UnsafeRawBufferPointer
    let directoryOffset: Int
  }

  /// Returns false only if the header is intact and states another version.
  static func isOfThisVersion(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= alignment, var header = try? unsealed(bytes, at: 0, seed: 0, "header"),
      let found = try? (header.take(8).elementsEqual(magic), header.u32())
    else { return true }
    return !found.0 || found.1 == UInt32(version)
  }

  /// Reads the header and the trailer, and checks the checksum of the directory.
  static func read(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) -> Frame {
    guard bytes.count >= 2 * alignment, bytes.count % alignment == 0 else {
      throw MalformedError("a snapshot that is cut short")
    }
    var header = try unsealed(bytes, at: 0, seed: 0, "header")
    guard try header.take(8).elementsEqual(magic) else { throw MalformedError("no snapshot") }
    let found = try header.u32()
    guard found == UInt32(version) else { throw MalformedError("a snapshot of version \(found)") }
    _ = try header.u32()
    let seed = seed((try header.u64(), try header.u64()))
    let end = bytes.count - alignment
    var trailer = try unsealed(bytes, at: end, seed: seed, "trailer")
    let offset = try trailer.u64()
    let count = try trailer.u64()
    let checksum = try trailer.u64()
    guard try trailer.u64() == UInt64(bytes.count), offset <= UInt64(end), count <= UInt64(end) - offset
    else {
      throw MalformedError("a snapshot whose trailer does not fit it")
    }
    let directory = UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset + count)])
    guard SnapshotSource.checksum(directory, seed: seed, offset: Int(offset)) == checksum else {
      throw MalformedError("a snapshot whose directory is damaged")
    }
    return Frame(seed: seed, directory: directory, directoryOffset: Int(offset))
  }

  private static func unsealed(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, seed: UInt64, _ what: StaticString
  ) throws(MalformedError) -> ByteReader {
    let checked = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + checkedBytes])
    let checksum = bytes.loadUnaligned(fromByteOffset: offset + checkedBytes, as: UInt64.self)
    guard SnapshotSource.checksum(checked, seed: seed, offset: offset) == UInt64(littleEndian: checksum)
    else {
      throw MalformedError("a snapshot whose \(what) is damaged")
    }
    return ByteReader(checked)
  }
}
