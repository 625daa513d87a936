/// An error for bytes or values that break a rule of the format.
public struct MalformedError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, as a sentence without a full stop: "an item id of 5000 bytes, the most is 4096".
  public let reason: String

  /// Creates an error.
  ///
  /// - Parameter reason: a sentence without a full stop.
  public init(_ reason: String) { self.reason = reason }

  public var description: String { reason }

  /// Throws where something is wrong.
  @inline(__always)
  static func check(_ problem: String?) throws(MalformedError) {
    if let problem { throw MalformedError(problem) }
  }
}
