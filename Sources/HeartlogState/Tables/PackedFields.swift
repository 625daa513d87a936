import HeartlogEvents

/// A field as it is packed.
struct PackedField: BitwiseCopyable {
  /// A text that does not lie in place is named by its offset behind the last field.
  var value: StoredValue
  let name: FieldNameSlot
}

struct PackedFieldsHeader {
  let count: Int
  /// All names of fields that the state knows.
  let names: FieldNames.Texts
}

/// The fields of one item in one piece of memory, the bytes of their texts behind them. It is written when it is made, and read from then on.
final class PackedFields: ManagedBuffer<PackedFieldsHeader, PackedField> {
  /// Packs the registers at those places that hold a value; nil where none does.
  ///
  /// - Parameters:
  ///   - textBytesMax: how many there can be: what a snapshot claims is not believed before it is found.
  ///   - text: the bytes of a text by its name. Not the table of texts, to which references would be counted.
  @inline(__always)
  static func make(
    of places: some Collection<Int>, in fields: PagedReader<FieldRecord>, names: FieldNames.Texts,
    textBytesMax: Int,
    text: (_ name: UInt64, _ count: Int) -> UnsafeRawBufferPointer
  ) -> PackedFields? {
    var count = 0
    var textBytes = 0
    for place in places {
      let value = fields.read(place).pointee.value
      guard !value.isNull else { continue }
      count += 1
      if value.isNamed { textBytes += Int(value.length) }
    }
    guard count > 0 else { return nil }
    guard textBytes <= textBytesMax else {
      // Whoever is asked for a text that cannot be there notes the damage.
      _ = text(.max, 1)
      return nil
    }
    let stride = MemoryLayout<PackedField>.stride
    let room = count + (textBytes + stride - 1) / stride
    let made = unsafeDowncast(
      create(minimumCapacity: room) { _ in PackedFieldsHeader(count: count, names: names) },
      to: PackedFields.self)
    made.withUnsafeMutablePointerToElements { first in
      let behind = UnsafeMutableRawPointer(first + count)
      var next = first
      var used = 0
      for place in places {
        let field = fields.read(place)
        let value = field.pointee.value
        guard !value.isNull else { continue }
        var packed = PackedField(value: value, name: field.pointee.name)
        if value.isNamed {
          let text = text(value.word, Int(value.length))
          if let source = text.baseAddress { (behind + used).copyMemory(from: source, byteCount: text.count) }
          packed.value.word = UInt64(used)
          // Fewer where the snapshot is damaged, and then nothing of this is shown.
          packed.value.length = UInt32(text.count)
          used += text.count
        }
        next.initialize(to: packed)
        next += 1
      }
    }
    return made
  }

  var count: Int { withUnsafeMutablePointerToHeader { $0.pointee.count } }

  /// An empty name for a number that stands for none, which only a snapshot can claim.
  func name(_ place: Int) -> String {
    withUnsafeMutablePointers { header, fields in
      let number = Int(fields[place].name.index)
      let names = header.pointee.names.strings
      return names.indices.contains(number) ? names[number] : ""
    }
  }

  /// Where the field of a name is; nil where there is none.
  func index(of name: UnsafeRawBufferPointer) -> Int? {
    withUnsafeMutablePointers { header, fields in
      let names = header.pointee.names.strings
      return (0..<header.pointee.count).first { index in
        let number = Int(fields[index].name.index)
        return names.indices.contains(number) && names[number].utf8.count == name.count
          && names[number].withBytes { $0.hasSameBytes(as: name) }
      }
    }
  }

  /// Whether no name that the state knows is equivalent to another one.
  var namesAreASCII: Bool { withUnsafeMutablePointerToHeader { $0.pointee.names.areASCII } }

  func value(_ index: Int) -> FieldValue { withBorrowedValue(at: index) { FieldValue(copying: $0) } }

  /// The value of a field, borrowed for the length of the call.
  @inline(__always)
  func withBorrowedValue<R>(at index: Int, _ body: (BorrowedValue) throws -> R) rethrows -> R {
    try withUnsafeMutablePointers { header, fields in
      try fields[index].value.withBorrowed(
        in: PackedTexts(start: UnsafeRawPointer(fields + header.pointee.count)), body)
    }
  }
}

/// The texts of packed fields, for as long as these are there.
private struct PackedTexts: TextSource {
  let start: UnsafeRawPointer

  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + Int(name), count: count)
  }
}
