import HeartlogFormat

extension FavoritesState {
  /// SHA-256 of everything visible in all libraries. Equal states have equal digests on any machine. Stamps and counts are not part of it.
  ///
  /// The input: for each library that has a visible item, in the order of the bytes of their names, the name (u32 length, UTF-8) and the
  /// library's digest (32 bytes). All integers are little-endian.
  public var digest: HeartlogDigest {
    var hasher = SHA256Hasher()
    var bytes: [UInt8] = []
    let slots = (0..<Int32(tables.count)).filter { tables[Int($0)].hasVisibleItems }
      .sorted { libraryNames.precedes($0, $1) }
    for slot in slots {
      libraryNames.withBytes(of: slot) { bytes.appendCounted($0) }
      bytes.append(contentsOf: digest(of: tables[Int(slot)]).bytes)
    }
    hasher.update(bytes)
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
    var bytes: [UInt8] = []
    for slot in ItemListing(of: table, order: .byID, replicas: replicas, where: { $1.pointee.isVisible })
      .slots
    {
      let item = table.items[Int(slot.index)]
      table.ids.withBytes(of: slot.index) { bytes.appendCounted($0) }
      bytes.append(item.isFavorite ? 1 : 0)
      if item.isFavorite { bytes.appendInteger(UInt64(bitPattern: item.favoritedDate)) }
      bytes.appendInteger(UInt32(truncatingIfNeeded: item.heldCount))
      for index in table.heldFieldIndices(of: slot, names: fieldNames) {
        let field = table.fields[index]
        fieldNames.withBytes(of: field.name) { bytes.appendCounted($0) }
        field.value.withBorrowed(in: table.texts) { bytes.appendValue($0) }
      }
      // The hasher prefers large pieces, but buffering a whole library would double the memory.
      if bytes.count >= 1 << 16 {
        hasher.update(bytes)
        bytes.removeAll(keepingCapacity: true)
      }
    }
    hasher.update(bytes)
    return hasher.finish()
  }
}

extension [UInt8] {
  fileprivate mutating func appendInteger(_ value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// Appends a u32 length, then the bytes. The limits of the format keep every length far below 2^32.
  fileprivate mutating func appendCounted(_ bytes: UnsafeRawBufferPointer) {
    appendInteger(UInt32(bytes.count))
    append(contentsOf: bytes)
  }

  fileprivate mutating func appendValue(_ value: BorrowedValue) {
    switch value {
    case .null: append(0)
    case .bool(let isTrue):
      append(1)
      append(isTrue ? 1 : 0)
    case .int64(let integer):
      append(2)
      appendInteger(integer)
    case .double(let number):
      append(3)
      appendInteger(number.bitPattern)
    case .string(let text):
      append(4)
      appendCounted(text)
    case .json(let json):
      append(5)
      appendCounted(json)
    case .unknown(let tag, let bytes):
      append(6)
      append(tag)
      appendCounted(bytes)
    }
  }
}
