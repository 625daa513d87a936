import Heartlog
import Synchronization

/// Reads the messages of the other end, one after the other. What is allocated is what has arrived.
final class MessageReader: Sendable {
  private struct State: ~Copyable {
    var checksum = RunningChecksum()
    var buffer: [UInt8] = []
    var start = 0
  }

  private static let portionBytes = 64 << 10
  private let link: Link
  private let state = Mutex(State())

  init(_ link: Link) { self.link = link }

  /// The next message, which must be of one of `kinds`, or the peer's reason to give up.
  ///
  /// - Throws: `peer` for anything else, `newerFormat` for a greeting in another version.
  func read(_ kinds: Message.Kind..., answering: Int = 0) throws(HeartlogError) -> Message {
    try state.withLock { (state) throws(HeartlogError) in
      let (kind, payload) = try next(kinds, &state)
      let message: Message
      do { message = try Message(kind, payload: payload, answering: answering) } catch let error
        as Message.OtherVersion
      {
        throw HeartlogError(
          .newerFormat,
          "the peer speaks version \(error.version) of the dialogue, this Heartlog \(Message.version)")
      } catch let error as MalformedError {
        throw .peer(error.reason)
      } catch {
        throw .peer("\(error)")
      }
      if case .failed(let code, let sentence) = message { throw HeartlogError(code, sentence) }
      if case .versions(let least, let most) = message {
        throw HeartlogError(
          .newerFormat,
          "the peer speaks versions \(least) to \(most) of the dialogue, this Heartlog \(Message.version)")
      }
      return message
    }
  }

  private func next(
    _ kinds: [Message.Kind], _ state: inout State
  ) throws(HeartlogError) -> (Message.Kind, [UInt8]) {
    let first = try take(1, &state)
    guard let kind = Message.Kind(rawValue: first[0]) else { throw .peer("a message of kind \(first[0])") }
    guard kinds.contains(kind) || kind == .failed || (kind == .versions && kinds.contains(.answer)) else {
      throw .peer("a message of kind \(first[0]) out of turn")
    }
    var head = first
    var length: UInt64 = 0
    // 5 bytes hold more than any message may have.
    for index in 0..<5 {
      let byte = try take(1, &state)[0]
      head.append(byte)
      length |= UInt64(byte & 0x7F) << UInt64(7 * index)
      guard byte >= 0x80 else {
        if index > 0, byte == 0 { throw .peer("a length that is not in its shortest form") }
        break
      }
    }
    guard length <= UInt64(kind.payloadBytesMax) else {
      throw .peer("a message of \(length) bytes, the most is \(kind.payloadBytesMax)")
    }
    let payload = try take(Int(length), &state)
    let expected = state.checksum.take(head, payload)
    guard try take(RunningChecksum.byteCount, &state) == expected else {
      throw .peer("bytes that were changed on their way: a checksum does not hold")
    }
    return (kind, payload)
  }

  /// Exactly `count` bytes.
  private func take(_ count: Int, _ state: inout State) throws(HeartlogError) -> [UInt8] {
    if state.buffer.count - state.start < count, state.start > 0 {
      state.buffer.removeFirst(state.start)
      state.start = 0
    }
    while state.buffer.count - state.start < count {
      state.buffer += try link.read(atMost: Self.portionBytes)
    }
    defer {
      state.start += count
      if state.start == state.buffer.count {
        // A large run's memory goes with it.
        state.buffer.removeAll(keepingCapacity: state.buffer.capacity <= 4 * Self.portionBytes)
        state.start = 0
      }
    }
    return Array(state.buffer[state.start..<state.start + count])
  }
}

extension HeartlogError {
  static func peer(_ reason: String) -> HeartlogError {
    HeartlogError(.peer, "the peer sends what is no part of a sync: \(reason)")
  }

  /// What the peer gave as its reason.
  fileprivate init(_ code: Message.ErrorCode, _ sentence: String) {
    let own: Code =
      switch code {
      case .store: .inputOutput
      case .dialogue: .peer
      case .later: .locked
      }
    self.init(own, "the peer gave up: \(sentence)")
  }
}
