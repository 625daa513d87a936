// Fixed-size integers of headers and frames. Offsets are constants within buffers of known size.

extension UnsafeRawBufferPointer {
  func littleEndian<T: FixedWidthInteger>(_ offset: Int, as type: T.Type) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// Returns the `count` bytes that start at `offset`.
  func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// Checked word by word, because readers check 64 KiB of zeros at the end of a tail.
  var isAllZero: Bool {
    var offset = 0
    while offset + 8 <= count {
      if loadUnaligned(fromByteOffset: offset, as: UInt64.self) != 0 { return false }
      offset += 8
    }
    while offset < count {
      if self[offset] != 0 { return false }
      offset += 1
    }
    return true
  }
}

extension [UInt8] {
  mutating func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    Swift.withUnsafeBytes(of: value.littleEndian) { bytes in
      for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
    }
  }

  mutating func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
    for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
  }
}
