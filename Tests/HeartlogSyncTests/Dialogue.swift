import Dispatch
import Heartlog
import Synchronization
import Testing

@testable import HeartlogSync

/// Two ends of a session on two threads.
struct Dialogue {
  var calling: Result<SyncReport, HeartlogError>
  var serving: Result<SyncReport, HeartlogError>

  /// Holds a dialogue between two stores, over a pair of sockets unless other channels are given.
  static func between(
    _ caller: FavoritesStore, _ server: FavoritesStore, options: SyncOptions = SyncOptions(),
    serving servingOptions: SyncOptions? = nil, channels: (any ByteChannel, any ByteChannel)? = nil
  ) throws -> Dialogue {
    let (one, other): (any ByteChannel, any ByteChannel)
    if let channels { (one, other) = channels } else { (one, other) = try DescriptorChannel.pair() }
    let served = Mutex<Result<SyncReport, HeartlogError>?>(nil)
    let group = DispatchGroup()
    var quiet = options
    quiet.progress = nil
    let serverOptions = servingOptions ?? quiet
    DispatchQueue(label: "serving").async(group: group) {
      let result = Result { () throws(HeartlogError) in
        try SyncSession(server, over: other, role: .serving, options: serverOptions).run()
      }
      other.close()
      served.withLock { $0 = result }
    }
    let called = Result { () throws(HeartlogError) in
      try SyncSession(caller, over: one, role: .calling, options: options).run()
    }
    one.close()
    group.wait()
    return Dialogue(calling: called, serving: try #require(served.withLock { $0 }))
  }

  /// The calling end's report, where both ends were content.
  func report() throws -> SyncReport {
    _ = try serving.get()
    return try calling.get()
  }
}

/// A channel of an end that lies: it changes its messages, and puts their checksums right.
final class ForgingChannel: ByteChannel {
  private let channel: any ByteChannel
  private let writer: MessageWriter
  private let listed: Int
  private let change: @Sendable (Message) throws -> Message
  private let unwritten = Mutex<[UInt8]>([])

  /// - Parameter listed: How many streams the other end names, where this one answers it.
  init(
    _ channel: any ByteChannel, answering listed: Int = 0,
    _ change: @escaping @Sendable (Message) throws -> Message
  ) {
    self.channel = channel
    self.listed = listed
    self.change = change
    writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    let messages = unwritten.withLock { unwritten in
      unwritten += bytes
      return RawMessage.takeWhole(from: &unwritten)
    }
    for message in messages {
      let forged: Message
      do { forged = try change(message.decoded(answering: listed)) } catch {
        throw HeartlogError(.invalid, "a message that cannot be forged: \(error)")
      }
      try writer.write(forged)
    }
    return bytes.count
  }

  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    try channel.read(atMost: count, milliseconds: milliseconds)
  }

  func close() { channel.close() }
}

/// A message as it is written, without its checksum.
struct RawMessage {
  var kind: UInt8
  var payload: [UInt8]

  func decoded(answering listed: Int = 0) throws -> Message {
    try Message(try #require(Message.Kind(rawValue: kind)), payload: payload, answering: listed)
  }

  /// Takes the messages from the start of `bytes` that are there to their ends.
  static func takeWhole(from bytes: inout [UInt8]) -> [RawMessage] {
    var messages: [RawMessage] = []
    var start = 0
    while let end = bytes[start...].dropFirst().firstIndex(where: { $0 < 0x80 }) {
      let length = bytes[(start + 1)...end].reversed().reduce(0) { $0 << 7 | Int($1 & 0x7F) }
      let next = end + 1 + length + RunningChecksum.byteCount
      guard next <= bytes.count else { break }
      messages.append(RawMessage(kind: bytes[start], payload: Array(bytes[end + 1..<end + 1 + length])))
      start = next
    }
    bytes.removeFirst(start)
    return messages
  }

  /// The messages with right checksums.
  static func joined(_ messages: [RawMessage]) -> [UInt8] {
    var checksum = RunningChecksum()
    var bytes: [UInt8] = []
    for message in messages {
      var writer = ByteWriter()
      writer.u8(message.kind)
      writer.varint(message.payload.count)
      bytes += writer.bytes + message.payload + checksum.take(writer.bytes, message.payload)
    }
    return bytes
  }
}

/// A channel that keeps what was written, and reads what it was made with, then the end.
final class RecordedChannel: ByteChannel {
  private struct State {
    var toRead: ArraySlice<UInt8>
    var written: [UInt8] = []
  }

  private let state: Mutex<State>
  /// Whether nothing comes for ever where the bytes are read, instead of the end.
  private let isSilentAtEnd: Bool

  init(reading bytes: [UInt8], isSilentAtEnd: Bool = false) {
    state = Mutex(State(toRead: bytes[...]))
    self.isSilentAtEnd = isSilentAtEnd
  }

  var written: [UInt8] { state.withLock { $0.written } }

  func read(atMost count: Int, milliseconds: Int) -> [UInt8]? {
    state.withLock { state in
      if state.toRead.isEmpty, isSilentAtEnd { return nil }
      let bytes = Array(state.toRead.prefix(count))
      state.toRead = state.toRead.dropFirst(count)
      return bytes
    }
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) -> Int {
    state.withLock { $0.written += bytes }
    return bytes.count
  }

  func close() {}
}

/// Passes everything on, and keeps what came.
final class TappedChannel: ByteChannel {
  private let channel: any ByteChannel
  private let read = Mutex<[UInt8]>([])

  init(_ channel: any ByteChannel) { self.channel = channel }

  var bytesRead: [UInt8] { read.withLock { $0 } }

  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    let bytes = try channel.read(atMost: count, milliseconds: milliseconds)
    if let bytes { read.withLock { $0 += bytes } }
    return bytes
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    try channel.write(bytes, milliseconds: milliseconds)
  }

  func close() { channel.close() }
}
