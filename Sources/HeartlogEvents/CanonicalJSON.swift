/// A JSON object or array in the canonical form of RFC 8785.
public struct CanonicalJSON: Hashable, Sendable {
  /// The canonical text.
  public let text: String
}
