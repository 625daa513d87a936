import Heartlog
import Synchronization

/// Writes the messages of this end, one by one.
final class MessageWriter: Sendable {
  private struct State: ~Copyable {
    var checksum = RunningChecksum()
    /// Whether a message was cut off: the peer could not decode what follows.
    var isBroken = false
  }

  private let link: MonitoredChannel
  private let state = Mutex(State())

  init(_ link: MonitoredChannel) { self.link = link }

  func write(_ message: Message) throws(HeartlogError) {
    try state.withLock { (state) throws(HeartlogError) in
      let bytes = Self.encode(message, &state.checksum)
      state.isBroken = true
      try link.write(bytes)
      state.isBroken = false
    }
  }

  /// Tells the peer why this end gives up, if it can still be told.
  func writeFailure(_ code: Message.ErrorCode, _ sentence: String) {
    writeLast(.failed(code, Self.cut(sentence)))
  }

  /// Tells the peer of an error, if it can still be told.
  ///
  /// - Parameter versions: what is said to a peer that greeted in another version; nil at the calling end, which is answered so.
  func writeFailure(_ error: HeartlogError, versions: ClosedRange<UInt8>?) {
    switch error.code {
    // The peer may be unable to read this.
    case .timedOut, .locked: writeFailure(.later, error.message)
    case .peer: writeFailure(.dialogue, error.message)
    case .newerFormat:
      if let versions { writeLast(.versions(least: versions.lowerBound, most: versions.upperBound)) }
    case .corrupt: writeFailure(.store, Message.damage(error))
    // The store's error may contain paths, which the peer is not told.
    default: writeFailure(.store, "its store failed (\(error.code.rawValue))")
    }
  }

  /// Tells the peer why it is not admitted, or why this end is not to be.
  func writeRefusal(_ sentence: String) { writeLast(.refused(Self.cut(sentence))) }

  /// Writes the last message, if the peer can still decode it.
  func writeLast(_ message: Message) {
    state.withLock { state in
      guard !state.isBroken else { return }
      state.isBroken = true
      let bytes = Self.encode(message, &state.checksum)
      // The peer may be gone; the failure is reported here in any case.
      _ = try? link.writeLast(bytes)
    }
  }

  private static func encode(_ message: Message, _ checksum: inout RunningChecksum) -> [UInt8] {
    let payload = message.payload()
    var writer = ByteWriter(capacity: payload.count + 12)
    writer.u8(message.kind.rawValue)
    writer.varint(payload.count)
    let end = checksum.take(writer.bytes, payload)
    writer.raw(payload)
    writer.raw(end)
    return writer.bytes
  }

  /// Cuts a sentence to the most bytes that a message allows, at a character boundary.
  private static func cut(_ sentence: String) -> String {
    var cut = sentence[...]
    while cut.utf8.count > Message.sentenceBytesMax { cut.removeLast() }
    return String(cut)
  }
}
