import AppleBranches
import HeartlogFormat
import TestSupport
import Testing

@Suite("LZ4 of the Compression framework, compared with liblz4")
struct LZ4Tests {
  /// One platform's LZ4.
  struct Branch: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let compress: @Sendable ([UInt8]) -> [UInt8]?
    let compressWell: @Sendable ([UInt8]) -> [UInt8]?
    /// Nil for a malformed block.
    let decompress: @Sendable (_ block: [UInt8], _ count: Int) -> [UInt8]?

    static let linux = Branch(
      testDescription: "liblz4",
      compress: { $0.withUnsafeBytes { HeartlogFormat.LZ4.compress($0) } },
      compressWell: { $0.withUnsafeBytes { HeartlogFormat.LZ4.HighCompressor().compress($0) } },
      decompress: { block, count in
        decompressed(count) { output in
          try block.withUnsafeBytes { try HeartlogFormat.LZ4.decompress($0, into: output) }
        }
      })

    static let apple = Branch(
      testDescription: "Compression",
      compress: { $0.withUnsafeBytes { AppleBranches.LZ4.compress($0) } },
      compressWell: { $0.withUnsafeBytes { AppleBranches.LZ4.HighCompressor().compress($0) } },
      decompress: { block, count in
        decompressed(count) { output in
          try block.withUnsafeBytes { try AppleBranches.LZ4.decompress($0, into: output) }
        }
      })

    static let all = [linux, apple]

    private static func decompressed(
      _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Void
    ) -> [UInt8]? {
      var output = [UInt8](repeating: 0xA5, count: count)
      do {
        try output.withUnsafeMutableBytes(body)
        return output
      } catch {
        // `decompress` throws nothing but MalformedError.
        return nil
      }
    }
  }

  /// Sizes at which something begins: a compressible input, a length of another byte, a match out of reach.
  static let sizes =
    Array(0...40) + [254, 255, 256, 269, 270, 271, 285, 525, 4_096, 65_535, 65_536, 65_537, 200_000]

  @Test("what one platform compresses, every platform reads", arguments: Branch.all)
  func roundTrips(writer: Branch) {
    var random = SeededGenerator(seed: 3)
    for count in Self.sizes {
      for input in [[UInt8](repeating: 7, count: count), random.text(count), random.bytes(count)] {
        for block in [writer.compress(input), writer.compressWell(input)] {
          guard let block else {
            #expect(count < 40 || input[0] != 7 || input[1] != 7, "\(count) equal bytes are not compressed")
            continue
          }
          #expect(block.count < count)
          for reader in Branch.all {
            #expect(reader.decompress(block, count) == input, "\(count) bytes")
            #expect(reader.decompress(block, count - 1) == nil)
            #expect(reader.decompress(block, count + 1) == nil)
          }
        }
      }
    }
  }

  @Test("what does not become smaller is not compressed", arguments: Branch.all)
  func incompressible(branch: Branch) {
    var random = SeededGenerator(seed: 4)
    for count in [0, 1, 12, 13, 300, 70_000] {
      #expect(branch.compress(random.bytes(count)) == nil)
      #expect(branch.compressWell(random.bytes(count)) == nil)
    }
    #expect(branch.compress([UInt8](repeating: 0, count: 12)) == nil)
  }

  /// 20 literals, a match of 8 bytes that copies the first 8, and 12 literals: 40 bytes.
  private static let block: [UInt8] =
    [0xF4, 5] + (0..<20).map { $0 } + [20, 0, 0xC0] + (0..<12).map { 100 + $0 }
  private static let blockBytes = 40

  @Test("a block made by hand is read", arguments: Branch.all)
  func byHand(branch: Branch) {
    let expected = [0..<20, 0..<8, 100..<112].flatMap { (range: Range<UInt8>) in Array(range) }
    #expect(branch.decompress(Self.block, Self.blockBytes) == expected)
  }

  /// Changes of that block, each of which breaks a rule.
  static let broken: [(String, [Int: UInt8])] = [
    ("a distance beyond the start", [22: 21]),
    ("a distance far beyond the start", [23: 1]),
    ("more literals than there are bytes", [24: 0xD0]),
    ("fewer literals than there are bytes", [24: 0xB0]),
    ("a length that the block does not end", [24: 0xF0]),
    ("a match of one byte more than there is room for", [0: 0xF5]),
    ("literals that end the block", [1: 35]),
  ]

  @Test("a malformed block is refused", arguments: Branch.all, broken.map(\.0))
  func malformed(branch: Branch, rule: String) throws {
    let changes = try #require(Self.broken.first { $0.0 == rule }).1
    var block = Self.block
    for (offset, byte) in changes { block[offset] = byte }
    #expect(branch.decompress(block, Self.blockBytes) == nil)
  }

  @Test("a match that copies nothing is refused, where liblz4 reads what is nowhere written")
  func distanceOfNothing() {
    var block = Self.block
    block[22] = 0
    #expect(Branch.apple.decompress(block, Self.blockBytes) == nil)
  }

  @Test("the end of a block is literals, and no match begins just before", arguments: Branch.all)
  func ends(branch: Branch) {
    // 4 literals, a match of `match` bytes that repeats the last one, and `literals` literals.
    func block(match: UInt8, literals: UInt8) -> [UInt8] {
      [0x40 | (match - 4), 1, 2, 3, 4, 1, 0, literals << 4] + [UInt8](repeating: 9, count: Int(literals))
    }
    #expect(branch.decompress(block(match: 7, literals: 5), 16) != nil)
    #expect(branch.decompress(block(match: 6, literals: 5), 15) == nil, "a match 11 bytes before the end")
    #expect(branch.decompress(block(match: 8, literals: 4), 16) == nil, "4 literals at the end")
    #expect(branch.decompress(block(match: 12, literals: 0), 16) == nil, "a match at the end")
  }

  @Test("nothing is no block, and none decompresses to nothing", arguments: Branch.all)
  func nothing(branch: Branch) {
    #expect(branch.decompress([], 0) == nil)
    #expect(branch.decompress([], 1) == nil)
    #expect(branch.decompress([0], 0) == nil)
    #expect(branch.decompress([0], 1) == nil)
    #expect(branch.decompress([0x10], 1) == nil)
    #expect(branch.decompress([0x10, 7], 1) == [7])
  }

  @Test("a block that would fill far more than there is room for is refused", arguments: Branch.all)
  func bomb(branch: Branch) {
    let block = [0x1F, 7, 1, 0] + [UInt8](repeating: 255, count: 60_000) + [0, 0x50, 1, 2, 3, 4, 5]
    let count = 1 + 4 + 15 + 255 * 60_000 + 5
    #expect(branch.decompress(block, 64) == nil)
    #expect(branch.decompress(block, count - 1) == nil)
    #expect(branch.decompress(block, count)?.suffix(6) == [7, 1, 2, 3, 4, 5])
  }

  @Test("of changed blocks, both platforms read the same", arguments: 1...6 as ClosedRange<UInt64>)
  func changedBlocks(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var read = 0
    for _ in 0..<300 {
      let count = Int.random(in: 300...1_000, using: &random)
      var block = try #require(Branch.linux.compressWell(random.text(count)))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let offset = Int.random(in: 0..<block.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: block[offset] = UInt8.random(in: 0...255, using: &random)
        case 1: block[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: block.insert(UInt8.random(in: 0...255, using: &random), at: offset)
        default: if block.count > 1 { block.remove(at: offset) }
        }
      }
      let size = count + Int.random(in: -1...1, using: &random)
      let linux = Branch.linux.decompress(block, size)
      let apple = Branch.apple.decompress(block, size)
      #expect(linux == apple, "seed \(seed): \(block) for \(size)")
      if apple != nil { read += 1 }
    }
    #expect(read > 10 && read < 290)
  }
}
