/// Concatenated texts, from which a column of strings is encoded.
struct Texts {
  private(set) var bytes: [UInt8] = []
  private(set) var lengths: [Int] = []

  var count: Int { lengths.count }
  var isEmpty: Bool { lengths.isEmpty }

  mutating func append(_ text: String) {
    text.withUTF8Bytes { append($0) }
  }

  mutating func append(_ text: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: text)
    lengths.append(text.count)
  }

  /// Calls `body` with the bytes of each text until it returns false. Returns whether it never did.
  func allSatisfy(_ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for length in lengths {
        // In bounds: the lengths add up to the number of bytes, because only `append` changes both.
        guard body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])) else { return false }
        start += length
      }
      return true
    }
  }

  /// Returns the distinct texts in order of first use, and the index of each text among them; nil if there are more than `most`.
  func distinct(atMost most: Int) -> (texts: Texts, indices: [Int64])? {
    var known: [UTF8Key: Int64] = [:]
    var distinct = Texts()
    var indices: [Int64] = []
    indices.reserveCapacity(count)
    let isWithin = allSatisfy { bytes in
      let key = UTF8Key(String(decoding: bytes, as: UTF8.self))
      if let index = known[key] {
        indices.append(index)
        return true
      }
      guard distinct.count < most else { return false }
      indices.append(Int64(distinct.count))
      known[key] = Int64(distinct.count)
      distinct.append(bytes)
      return true
    }
    return isWithin ? (distinct, indices) : nil
  }
}

/// The location of a text in a block's `BlockTexts`.
package struct TextSlice: Sendable, BitwiseCopyable {
  /// The count of bytes in the high 32 bits, the offset in the low 32 bits. One word, so that slices can be stored in place of numbers.
  let word: Int64

  init(word: Int64) { self.word = word }

  /// - Parameters:
  ///   - offset: below 2^32, as `TextBuilder` ensures.
  ///   - count: smaller than 2^32 too, because a column has at most 64 MiB.
  @inline(__always)
  init(offset: Int, count: Int) { word = Int64(truncatingIfNeeded: count &<< 32 | offset) }

  @inline(__always)
  package var offset: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }

  /// The length in bytes.
  @inline(__always)
  package var count: Int { Int(truncatingIfNeeded: word &>> 32) }
}

/// Collects the texts of a block, column by column.
///
/// Only `reserve` may move the memory; pointers into it stay valid between calls of it.
struct TextBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// Creates a builder with room for `capacity` bytes.
  init(capacity: Int) { memory = .allocate(byteCount: max(64, capacity), alignment: 16) }

  deinit { memory.deallocate() }

  /// Reserves room for `more` bytes after the existing ones.
  mutating func reserve(_ more: Int) throws(MalformedError) {
    let needed = count + more
    guard needed > memory.count else { return }
    // Never reached: all columns together take at most 64 MiB, and rows of 16 MiB have at most 8 million values.
    guard needed <= Int(UInt32.max) else { throw MalformedError("a block of \(needed) bytes of texts") }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(needed, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  /// The reserved room after the texts.
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// Adds the first `more` bytes of the room, which must have been written. Returns their offset.
  @discardableResult
  mutating func take(_ more: Int) -> Int {
    precondition(more >= 0 && more <= memory.count - count, "more than was reserved")
    defer { count += more }
    return count
  }

  /// Returns the offset of `bytes`, if they are inside this builder.
  func offset(of bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let first = memory.baseAddress, start >= first, start < first + count
    else { return nil }
    return start - UnsafeRawPointer(first)
  }

  /// Returns the offset of `bytes`. Copies them first if they are not in this builder; room must have been reserved.
  mutating func place(_ bytes: UnsafeRawBufferPointer) -> Int {
    if bytes.isEmpty { return 0 }
    if let offset = offset(of: bytes) { return offset }
    UnsafeMutableRawBufferPointer(rebasing: room[..<bytes.count]).copyMemory(from: bytes)
    return take(bytes.count)
  }

  func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[slice.offset..<slice.offset + slice.count])
  }

  /// Ends building and returns the texts.
  consuming func finish() -> BlockTexts {
    let texts = BlockTexts(memory)
    discard self
    return texts
  }
}

/// The bytes of all texts of a block, in one immutable allocation.
package final class BlockTexts: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  /// Takes ownership of allocated memory.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  deinit { memory.deallocate() }

  /// Returns the bytes of a text. Valid only while this object is alive.
  @inline(__always)
  package func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    let (offset, count) = (slice.offset, slice.count)
    precondition(offset + count <= memory.count, "a text of another block")
    // In bounds, as checked above.
    return UnsafeRawBufferPointer(start: memory.baseAddress.map { $0 + offset }, count: count)
  }

  /// Returns a copy of a text as a string.
  package func string(_ slice: TextSlice) -> String { String(decoding: bytes(slice), as: UTF8.self) }
}

/// Properties that hold for all texts of a column.
struct TextTraits {
  /// Whether all bytes are known from the encoding to be within 20…7E.
  var isPrintable: Bool
  /// The length of the shortest text in bytes.
  var shortest = Int.max
  var longest = 0
  /// The total length of all texts in bytes.
  var byteCount = 0
  /// Whether several entries may share the same text in memory.
  var isRepeated = false

  @inline(__always)
  mutating func note(_ count: Int) {
    shortest = min(shortest, count)
    longest = max(longest, count)
    byteCount &+= count
  }
}
