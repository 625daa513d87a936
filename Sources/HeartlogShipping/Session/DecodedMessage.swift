import Heartlog

/// A message outside of a dialogue, for whoever looks at its bytes only.
package struct DecodedMessage: Hashable {
  private let message: Message

  /// The number of kinds of messages.
  package static let kindCount = Message.Kind.allCases.count

  /// Decodes a payload.
  ///
  /// - Parameter answering: the number of streams that the calling end announced; an answer has a state for each.
  /// - Throws: an error for anything that is not a message of this kind.
  package init(kind: UInt8, payload: [UInt8], answering: Int, version: UInt8) throws {
    guard let kind = Message.Kind(rawValue: kind) else { throw MalformedError("a message of kind \(kind)") }
    message = try Message(kind, payload: payload, answering: answering, version: version)
  }

  /// The payload, encoded again.
  package var payload: [UInt8] { message.payload() }
}
