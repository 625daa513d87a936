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
    /// The version of the dialogue, once a greeting was read.
    var version = Message.version
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
    try read(kinds, answering: answering)
  }

  func read(_ kinds: [Message.Kind], answering: Int = 0) throws(HeartlogError) -> Message {
    try state.withLock { (state) throws(HeartlogError) in
      let (kind, payload): (Message.Kind, [UInt8])
      do throws(HeartlogError) { (kind, payload) = try next(kinds, &state) } catch {
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
        message = try Message(kind, payload: payload, answering: answering, version: state.version)
      } catch let error as Message.OtherVersion {
        throw .otherVersions(error.version...error.version, known: error.known)
      } catch let error as MalformedError {
        throw .peer(error.reason)
      } catch {
        throw .peer("\(error)")
      }
      if case .failed(let code, let sentence) = message { throw HeartlogError(code, sentence) }
      switch message {
      case .heads(let heads): state.version = heads.greeting.version
      case .answer(let answer): state.version = answer.greeting.version
      default: break
      }
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
    guard kinds.contains(kind) || kind == .failed || (kind == .versions && kinds.contains(where: \.isReply))
    else {
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

  /// Takes exactly `count` bytes.
  private func take(_ count: Int, _ state: inout State) throws(HeartlogError) -> [UInt8] {
    if state.buffer.count - state.start < count, state.start > 0 {
      state.buffer.removeFirst(state.start)
      state.start = 0
    }
    while state.buffer.count - state.start < count {
      let bytes = try link.read(atMost: Self.portionBytes)
      if let beginning = state.beginning, beginning.count < Self.bannerBytesMax {
        state.beginning = beginning + bytes.prefix(Self.bannerBytesMax)
      }
      state.buffer += bytes
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
  static func peer(_ reason: String) -> HeartlogError {
    HeartlogError(.peer, "the peer violated the protocol: \(reason)")
  }

  /// The error for a peer that does not speak a version of this program.
  static func otherVersions(
    _ theirs: ClosedRange<UInt8>, known: ClosedRange<UInt8> = Message.versions
  ) -> HeartlogError {
    func shown(_ versions: ClosedRange<UInt8>) -> String {
      versions.count == 1 ? "\(versions.lowerBound)" : "\(versions.lowerBound) to \(versions.upperBound)"
    }
    return HeartlogError(
      .newerFormat,
      "the peer uses protocol version \(shown(theirs)); this Heartlog uses \(shown(known))")
  }

  private static let gaveUp = "the peer gave up: "

  /// What the peer said about its damaged store, if that is why it gave up.
  var peerDamage: String? {
    guard code == .inputOutput, message.hasPrefix(Self.gaveUp) else { return nil }
    let sentence = String(message.dropFirst(Self.gaveUp.count))
    return Message.tellsDamage(sentence) ? sentence : nil
  }

  /// An error with the reason that the peer gave.
  fileprivate init(_ code: Message.ErrorCode, _ sentence: String) {
    let own: Code =
      switch code {
      case .store: .inputOutput
      case .dialogue: .peer
      case .later: .locked
      case .removed: .noKey
      }
    self.init(own, "\(Self.gaveUp)\(sentence)")
  }
}
