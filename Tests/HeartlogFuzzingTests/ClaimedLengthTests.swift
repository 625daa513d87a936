import Foundation
import Testing

@testable import HeartlogFuzzing

/// Inputs that say of a part that it has terabytes. A decoder that believed one would ask for more memory than there is, which ends the
/// process. The targets put checksums right, so that each place is reached.
@Suite("Claimed lengths")
struct ClaimedLengthTests {
  private static let fixtures = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "fixtures")

  /// The targets that read bytes with lengths in them.
  private static let names = [
    "row", "block", "frame", "segment", "position", "snapshot", "checkpoint", "proof", "run-file", "message",
    "dialogue", "sync",
  ]

  /// Lengths as the formats write them: varints of 2^42 and of 2^63, and numbers of four and eight bytes.
  private static let claims: [[UInt8]] = [
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    [0xFF, 0xFF, 0xFF, 0x7F],
    [0, 0, 0, 0, 0, 4, 0, 0],
  ]

  /// The most places of an input that are tried.
  private static let placesMax = 12

  @Test("a length of terabytes at any place of an input is refused, or is no length", arguments: names)
  func claims(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let seeds = try target.seeds(Fixtures(Self.fixtures.path)).map(\.bytes).filter { !$0.isEmpty }
    // The smallest ones have every part as well, and more of their places are tried.
    let chosen = seeds.sorted { $0.count < $1.count }.prefix(3)
    #expect(!chosen.isEmpty)
    for seed in chosen {
      for place in stride(from: 0, to: seed.count, by: max(1, seed.count / Self.placesMax)) {
        for claim in Self.claims {
          let over = seed[..<place] + claim + seed[min(seed.count, place + claim.count)...]
          // In place of a varint of one byte.
          let instead = seed[..<place] + claim + seed[(place + 1)...]
          for input in [over, instead] {
            #expect(throws: Never.self, "\(name) at \(place)") { try target.run(Array(input)) }
          }
        }
      }
    }
  }
}
