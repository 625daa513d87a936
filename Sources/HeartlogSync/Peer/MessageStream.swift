import Heartlog
import Synchronization

/// Reads the messages of the other end, one by one. Memory is allocated only for bytes that have arrived.
final class MessageReader: Sendable {
  private struct State: ~Copyable {
    var checksum = RunningChecksum()
    var buffer: [UInt8] = []
    var start = 0
    /// The first bytes received; `nil` once a whole message has been read.
    var beginning: [UInt8]? = []
  }

  /// A printed line is cut to this length in an error.
  private static let bannerCharactersMax = 60
  private static let bannerBytesMax = 512

  private static let portionBytes = 64 << 10
  private let link: MonitoredChannel
  private let state = Mutex(State())

  init(_ link: MonitoredChannel) { self.link = link }

  /// Reads the next message.
  ///
  /// - Parameters:
  ///   - kinds: the kinds that the message may have.
  ///   - answering: the number of streams that this end announced, needed to decode an answer.
  /// - Throws: `peer` for any other message, `newerFormat` for a greeting in another version, and the peer's
  ///   reason if it gave up.
  func read(_ kinds: Message.Kind..., answering: Int = 0) throws(HeartlogError) -> Message {
    guard let message = try readUnlessAtEnd(kinds, answering: answering) else { throw .hungUp }
    return message
  }

  /// Reads the next message; `nil` if the other end closed the channel after its last one.
  func readUnlessAtEnd(
    _ kinds: [Message.Kind], answering: Int = 0
  ) throws(HeartlogError) -> Message? {
    try state.withLock { (state) throws(HeartlogError) in
      let (kind, payload): (Message.Kind, [UInt8])
      do throws(HeartlogError) {
        if state.start == state.buffer.count {
          guard let bytes = try link.readUnlessAtEnd(atMost: Self.portionBytes) else {
            if state.beginning?.isEmpty == false { throw HeartlogError.hungUp }
            return nil
          }
          Self.add(bytes, to: &state)
        }
        (kind, payload) = try next(kinds, &state)
      } catch {
        guard error.code == .peer || error.code == .inputOutput, kinds.contains(where: \.isReply),
          let beginning = state.beginning, !beginning.isEmpty,
          let banner = Self.banner(
            beginning + link.readRest(atMost: max(0, Self.bannerBytesMax - beginning.count)))
        else { throw error }
        throw HeartlogError(
          .peer,
          "the peer printed \"\(banner)\" before the dialogue: its shell's startup files print text; "
            + "they must not do so in a shell that is not interactive")
      }
      state.beginning = nil
      let message: Message
      do {
        message = try Message(kind, payload: payload, answering: answering)
      } catch let error as HeartlogError {
        throw error
      } catch let error as MalformedError {
        throw .peer(error.reason)
      } catch {
        throw .peer("\(error)")
      }
      if case .failed(let code, let sentence) = message { throw HeartlogError(code, sentence) }
      return message
    }
  }

  /// The first line of text that arrived instead of a message; `nil` if it was not text.
  private static func banner(_ bytes: [UInt8]) -> String? {
    let marks: Set<UInt8> = [0x07, 0x09, 0x0A, 0x0D, 0x1B]
    // The dialogue may follow the text; its first byte cannot occur in text.
    let text = String(decoding: bytes.prefix { $0 >= 0x20 || marks.contains($0) }, as: UTF8.self)
    let lines = text.split(whereSeparator: \.isNewline).map { line in
      String(line.filter { $0.isASCII ? (" "..."~").contains($0) : $0.isLetter })
    }
    guard let line = lines.first(where: { line in line.contains { $0.isLetter } }), line.count > 2 else {
      return nil
    }
    return line.count > bannerCharactersMax ? "\(line.prefix(bannerCharactersMax))…" : line
  }

  private func next(
    _ kinds: [Message.Kind], _ state: inout State
  ) throws(HeartlogError) -> (Message.Kind, [UInt8]) {
    let first = try take(1, &state)
    guard let kind = Message.Kind(rawValue: first[0]) else { throw .peer("a message of kind \(first[0])") }
    guard kinds.contains(kind) || kind == .failed else {
      throw .peer("a message of kind \(first[0]) out of turn")
    }
    var head = first
    // 5 bytes can encode more than the longest message.
    for _ in 0..<5 {
      let byte = try take(1, &state)[0]
      head.append(byte)
      if byte < 0x80 { break }
    }
    let length = try Self.length(head[1...])
    guard length <= UInt64(kind.payloadBytesMax) else {
      throw .peer("a message of \(length) bytes, the most is \(kind.payloadBytesMax)")
    }
    let payload = try take(Int(length), &state)
    let expected = state.checksum.take(head, payload)
    guard try take(RunningChecksum.byteCount, &state) == expected else {
      throw .peer("a checksum mismatch: bytes were changed in transit")
    }
    return (kind, payload)
  }

  private static func length(_ bytes: ArraySlice<UInt8>) throws(HeartlogError) -> UInt64 {
    do throws(MalformedError) {
      return try Array(bytes).withBytes { (bytes) throws(MalformedError) in
        var reader = ByteReader(bytes)
        return try reader.varint()
      }
    } catch { throw .peer("the length of a message: \(error.reason)") }
  }

  private static func add(_ bytes: [UInt8], to state: inout State) {
    if let beginning = state.beginning, beginning.count < bannerBytesMax {
      state.beginning = beginning + bytes.prefix(bannerBytesMax)
    }
    state.buffer += bytes
  }

  /// Takes exactly `count` bytes.
  private func take(_ count: Int, _ state: inout State) throws(HeartlogError) -> [UInt8] {
    if state.buffer.count - state.start < count, state.start > 0 {
      state.buffer.removeFirst(state.start)
      state.start = 0
    }
    while state.buffer.count - state.start < count {
      guard let bytes = try link.readUnlessAtEnd(atMost: Self.portionBytes) else {
        throw HeartlogError.hungUp
      }
      Self.add(bytes, to: &state)
    }
    defer {
      state.start += count
      if state.start == state.buffer.count {
        // Release the memory of a large run.
        state.buffer.removeAll(keepingCapacity: state.buffer.capacity <= 4 * Self.portionBytes)
        state.start = 0
      }
    }
    return Array(state.buffer[state.start..<state.start + count])
  }
}

extension HeartlogError {
  static let hungUp = HeartlogError(.inputOutput, "the peer hung up before it was done")

  static func peer(_ reason: String) -> HeartlogError {
    HeartlogError(.peer, "the peer violated the protocol: \(reason)")
  }

  private static let gaveUp = "the peer gave up: "

  /// An error with the reason that the peer gave.
  fileprivate init(_ code: Message.ErrorCode, _ sentence: String) {
    let own: Code =
      switch code {
      case .store: .inputOutput
      case .dialogue: .peer
      case .later: .locked
      case .refused: .noKey
      case .version: .newerFormat
      }
    self.init(own, "\(Self.gaveUp)\(sentence)")
  }
}

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
    writeLast(.failed(code, Message.cut(sentence)))
  }

  /// Tells the peer of an error, if it can still be told.
  func writeFailure(_ error: HeartlogError) {
    switch error.code {
    // The peer may be unable to read this.
    case .timedOut, .locked: writeFailure(.later, error.message)
    case .peer: writeFailure(.dialogue, error.message)
    case .newerFormat: writeFailure(.version, "it uses protocol version \(Message.version)")
    case .corrupt: writeFailure(.store, Message.damage(error))
    case .noKey: writeFailure(.refused, error.message)
    // The store's error may contain paths, which the peer is not told.
    default: writeFailure(.store, "its store failed (\(error.code.rawValue))")
    }
  }

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
}

/// The checksum of one direction of a dialogue.
///
/// Each checksum covers all messages so far. A message that was changed, dropped, swapped or repeated is
/// detected at the next checksum.
struct RunningChecksum: ~Copyable {
  private var hasher = SHA256Hasher()
  private var state = Digest([UInt8](repeating: 0, count: 32))

  static let byteCount = 4

  /// Adds a message, including its kind and length.
  ///
  /// - Returns: The four bytes of the checksum that end the message.
  mutating func take(_ head: [UInt8], _ payload: [UInt8]) -> [UInt8] {
    state.withUnsafeBytes { hasher.update($0) }
    hasher.update(head)
    hasher.update(payload)
    state = hasher.finish()
    return Array(state.bytes[..<Self.byteCount])
  }
}
