import Heartlog
import Synchronization

/// Writes the messages of one end, one after the other.
final class MessageWriter: Sendable {
  private struct State: ~Copyable {
    var checksum = RunningChecksum()
    /// A message was cut off: nothing that follows could be understood.
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

  /// Tells the peer why this end gives up, where it can still be told.
  func writeFailure(_ code: Message.ErrorCode, _ sentence: String) {
    writeLast(.failed(code, Self.cut(sentence)))
  }

  /// Writes a message that nothing follows, where it can still be understood.
  func writeLast(_ message: Message) {
    state.withLock { state in
      guard !state.isBroken else { return }
      state.isBroken = true
      let bytes = Self.encode(message, &state.checksum)
      // The peer may be gone, and the failure is told here in any case.
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

  /// The first bytes of a sentence, whole characters.
  private static func cut(_ sentence: String) -> String {
    var cut = sentence[...]
    while cut.utf8.count > Message.sentenceBytesMax { cut.removeLast() }
    return String(cut)
  }
}
