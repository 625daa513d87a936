import Heartlog

/// A place in the changes of a vault: "Objects" in docs/hub.md.
struct ChangeCursor: Hashable, CustomStringConvertible {
  let generation: UInt64
  let number: UInt64

  init(generation: UInt64, number: UInt64) {
    self.generation = generation
    self.number = number
  }

  /// Reads exactly what `description` says.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 16, let generation = UInt64(parts[0], radix: 16),
      let number = UInt64(parts[1])
    else { return nil }
    self.init(generation: generation, number: number)
    guard description == text else { return nil }
  }

  /// Reads a cursor that a client sent.
  ///
  /// - Throws: `invalid` if it is none.
  static func sent(_ text: String?) throws(HeartlogError) -> ChangeCursor? {
    guard let text else { return nil }
    guard let cursor = ChangeCursor(text) else { throw HeartlogError(.invalid, "this is no cursor") }
    return cursor
  }

  /// Whether a list can go on from here: there was such a change, up to the last one, in this generation.
  func isKnown(generation: UInt64, last: UInt64) -> Bool {
    self.generation == generation && number <= last
  }

  var description: String {
    let digits = String(generation, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + "-\(number)"
  }
}
