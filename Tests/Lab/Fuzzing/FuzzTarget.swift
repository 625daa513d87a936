/// A function over any bytes that must end, within bounded time and memory, and find that what it states always holds.
package struct FuzzTarget: Sendable {
  /// The name, as it is typed: "row". Its corpus is the folder of this name.
  package let name: String
  /// The most bytes of an input that are worth trying.
  package let byteCountMax: Int
  /// Words of the format, which random bytes rarely contain.
  package let words: [String]
  private let body: @Sendable (UnsafeRawBufferPointer) throws -> Void
  private let makeSeeds: @Sendable (Fixtures) throws -> [Seed]
  /// Whether the seeds are the same each time. Tables of items are hashed with random numbers.
  package let seedsAreReproducible: Bool

  /// An input from which fuzzing begins.
  package struct Seed: Sendable {
    package let name: String
    package let bytes: [UInt8]

    init(_ name: String, _ bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }
  }

  /// - Parameters:
  ///   - seeds: makes the inputs from which fuzzing begins, of the project's fixtures if need be.
  ///   - body: gets the input. Bytes that it refuses are no error; each error that it throws is.
  init(
    _ name: String, byteCountMax: Int = 4_096, words: [String] = [],
    seedsAreReproducible: Bool = true, seeds: @escaping @Sendable (Fixtures) throws -> [Seed],
    body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) {
    self.name = name
    self.byteCountMax = byteCountMax
    self.words = words
    makeSeeds = seeds
    self.seedsAreReproducible = seedsAreReproducible
    self.body = body
  }

  /// Tries an input.
  ///
  /// - Throws: `Violation`, or the error of a step that must succeed.
  package func run(_ input: UnsafeRawBufferPointer) throws { try body(input) }

  /// Tries an input.
  package func run(_ input: [UInt8]) throws { try input.withUnsafeBytes { try body($0) } }

  /// The inputs from which fuzzing begins.
  package func seeds(_ fixtures: Fixtures) throws -> [Seed] { try makeSeeds(fixtures) }
}

/// Something that a target states and that does not hold.
package struct Violation: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// States something.
///
/// - Throws: `Violation` if it does not hold.
func state(_ holds: Bool, _ what: @autoclosure () -> String) throws(Violation) {
  guard holds else { throw Violation(what()) }
}
