import Foundation
import HeartlogTesting
import TestSupport
import Testing

@testable import HeartlogFuzzing

/// Recorded dialogues in which messages are changed, cut, moved, repeated and made up, with all checksums put right. The target says what
/// must hold: a session ends, and the store that heard it is sound, keeps its own favorites, and is the same when it is opened again.
@Suite("Fuzzed dialogues")
struct FuzzedDialogueTests {
  private static let dialogues = 400

  @Test("a session ends, and its store is sound", arguments: [1, 2, 3, SeededRandom.testSeed()])
  func fuzzed(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    let target = FuzzTarget.sync
    let dialogues = try target.seeds(Fixtures("")).map { try FuzzTarget.messages(of: $0.bytes) }
    let others = dialogues.flatMap(\.messages)
    for number in 0..<Self.dialogues {
      let (header, messages) = dialogues[number % dialogues.count]
      let input = header + Self.mutated(messages, others, &chance)
      #expect(throws: Never.self, "seed \(seed), dialogue \(number)") { try target.run(input) }
    }
  }

  /// The messages with one to three changes, as the target reads them.
  private static func mutated(
    _ messages: [RawMessage], _ others: [RawMessage], _ chance: inout SeededGenerator
  ) -> [UInt8] {
    var messages = messages
    for _ in 0..<Int.random(in: 1...3, using: &chance) where !messages.isEmpty {
      let place = messages.indices.randomElement(using: &chance) ?? 0
      let count = messages[place].payload.count
      let byte = count == 0 ? 0 : Int.random(in: 0..<count, using: &chance)
      switch Int.random(in: 0..<10, using: &chance) {
      case 0, 1, 2:
        if count > 0 { messages[place].payload[byte] ^= 1 << UInt8.random(in: 0..<8, using: &chance) }
      case 3:
        if count > 0 {
          messages[place].payload[byte] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &chance) ?? 0
        }
      case 4: messages[place].payload.insert(UInt8.random(in: 0...255, using: &chance), at: byte)
      case 5: messages[place].payload.removeSubrange(byte..<Int.random(in: byte...count, using: &chance))
      case 6: messages.swapAt(place, messages.indices.randomElement(using: &chance) ?? place)
      case 7: messages.insert(messages[place], at: messages.indices.randomElement(using: &chance) ?? place)
      case 8: messages.remove(at: place)
      default: messages.insert(others.randomElement(using: &chance) ?? messages[place], at: place)
      }
    }
    var bytes = FuzzTarget.bytes(of: messages)
    if Int.random(in: 0..<8, using: &chance) == 0 {
      bytes.removeLast(Int.random(in: 0...bytes.count, using: &chance))
    }
    return bytes
  }
}
