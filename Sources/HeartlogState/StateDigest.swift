import HeartlogFormat

extension FavoritesState {
  /// SHA-256 of everything visible in all libraries. Equal states have equal digests on any machine. Stamps and counts are not part of it.
  ///
  /// The input: for each library that has a visible item, in the order of the bytes of their names, the name (u32 length, UTF-8) and the
  /// library's digest (32 bytes). All integers are little-endian.
  public var digest: HeartlogDigest {
    var hasher = SHA256Hasher()
    var bytes = ByteWriter()
    let slots = (0..<Int32(tables.count)).filter { tables[Int($0)].hasVisibleItems }
      .sorted { libraryNames.precedes($0, $1) }
    for slot in slots {
      libraryNames.withBytes(of: slot) { bytes.counted($0) }
      bytes.raw(digest(of: tables[Int(slot)]))
    }
    hasher.update(bytes.bytes)
    return hasher.finish()
  }

  /// SHA-256 of everything visible in one library; of no bytes if nothing is.
  ///
  /// The input: each visible item, in the order of the bytes of their ids. All integers are little-endian.
  ///
  ///     id                u32 length, UTF-8
  ///     flag              u8, 1 for a favorite, else 0
  ///     favorited date    i64 milliseconds since 1970; only where the flag is 1
  ///     field count       u32
  ///     fields, those that are not null, by the bytes of their names:
  ///       name            u32 length, UTF-8
  ///       tag             u8: 1 bool, 2 int64, 3 double, 4 string, 5 JSON, 6 unknown (0, null, does not occur)
  ///       value           bool u8 · int64 8 bytes · double its 8 bytes of IEEE 754 · string and JSON u32 length,
  ///                       UTF-8 · unknown its own tag u8, u32 length, bytes
  package func digest(of library: String) -> HeartlogDigest { digest(of: table(of: library) ?? ItemTable()) }

  private func digest(of table: ItemTable) -> Digest {
    var hasher = SHA256Hasher()
    var bytes = ByteWriter()
    for slot in ItemListing(of: table, order: .byID, replicas: replicas, where: { $1.pointee.isVisible })
      .slots
    {
      let item = table.items[Int(slot.index)]
      table.ids.withBytes(of: slot.index) { bytes.counted($0) }
      bytes.u8(item.isFavorite ? 1 : 0)
      if item.isFavorite { bytes.u64(UInt64(bitPattern: item.favoritedDate)) }
      bytes.u32(UInt32(truncatingIfNeeded: item.heldCount))
      for index in table.heldFieldIndices(of: slot, names: fieldNames) {
        let field = table.fields[index]
        fieldNames.withBytes(of: field.name) { bytes.counted($0) }
        field.value.withBorrowed(in: table.texts) { bytes.value($0) }
      }
      // The hasher prefers large pieces, but buffering a whole library would double the memory.
      if bytes.count >= 1 << 16 {
        hasher.update(bytes.bytes)
        bytes.bytes.removeAll(keepingCapacity: true)
      }
    }
    hasher.update(bytes.bytes)
    return hasher.finish()
  }
}

extension ByteWriter {
  /// Appends a u32 length, then the bytes. The limits of the format keep every length far below 2^32.
  fileprivate mutating func counted(_ bytes: UnsafeRawBufferPointer) {
    u32(UInt32(bytes.count))
    raw(bytes)
  }

  fileprivate mutating func value(_ value: BorrowedValue) {
    switch value {
    case .null: u8(0)
    case .bool(let isTrue):
      u8(1)
      u8(isTrue ? 1 : 0)
    case .int64(let integer):
      u8(2)
      u64(UInt64(bitPattern: integer))
    case .double(let number):
      u8(3)
      u64(number.bitPattern)
    case .string(let text):
      u8(4)
      counted(text)
    case .json(let json):
      u8(5)
      counted(json)
    case .unknown(let tag, let bytes):
      u8(6)
      u8(tag)
      counted(bytes)
    }
  }
}
