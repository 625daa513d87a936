import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Block encoding")
struct BlockEncodingTests {
  @Test("what was encoded decodes to the same block and encodes to the same bytes", arguments: 0..<100)
  func roundTrip(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed))
    let block = generator.block([1, 2, 3, 40, 120][seed % 5])
    for compressed in [true, false] {
      let bytes = try BlockEncoding.encode(block, compressed: compressed)
      let decoded = try Block.decoded(bytes, like: block)
      #expect(decoded == block)
      #expect(try BlockEncoding.encode(decoded, compressed: compressed) == bytes)
    }
  }

  @Test("every cut is refused", arguments: 0..<6)
  func cuts(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    let block = generator.block(4)
    for compressed in [true, false] {
      let bytes = try BlockEncoding.encode(block, compressed: compressed)
      let taken = (0..<bytes.count).filter { (try? Block.decoded(Array(bytes[..<$0]), like: block)) != nil }
      #expect(taken.isEmpty)
    }
  }

  @Test("whatever decodes after a change is a valid block", arguments: 0..<5)
  func mutations(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    // Every value of every byte of one small block; of larger ones, the neighbours of every fourth byte's value. The fuzzer has more time.
    let block = generator.block(seed == 0 ? 1 : 4 * seed, eventsMax: 3)
    let bytes = try BlockEncoding.encode(block, compressed: seed % 2 == 1)
    for place in stride(from: seed, to: min(bytes.count, 1_000), by: seed == 0 ? 1 : 4) {
      let byte = bytes[place]
      let values: [UInt8] =
        seed == 0
        ? Array(0...UInt8.max) : (0..<8).map { byte ^ 1 << $0 } + [byte &+ 1, byte &- 1, 0, 255]
      for value in values where value != bytes[place] {
        var changed = bytes
        changed[place] = value
        guard let decoded = try? Block.decoded(changed, like: block) else { continue }
        do { try decoded.validate() } catch { Issue.record("byte \(place) as \(value): \(error)") }
      }
    }
  }

  @Test("garbage in the columns of a block never traps", arguments: 0..<20)
  func garbage(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    let block = generator.block(6)
    let bytes = try BlockEncoding.encode(block, compressed: false)
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<400 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        changed[Int.random(in: 0..<bytes.count, using: &random)] =
          UInt8(truncatingIfNeeded: random.next()) >> (random.next() % 8)
      }
      guard let decoded = try? Block.decoded(changed, like: block) else { continue }
      do { try decoded.validate() } catch { Issue.record("\(changed): \(error)") }
    }
  }
}
