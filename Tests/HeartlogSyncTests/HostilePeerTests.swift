import Heartlog
import Testing

@testable import HeartlogSync

/// What comes from the other end is not what a session sends. Whatever it is, a session ends with an error, and the store is as
/// it was or knows a part of what was sent.
@Suite("Hostile peers")
struct HostilePeerTests {
  private let caller: FavoritesStore
  private let server: FavoritesStore
  /// What the serving end of a good dialogue sends.
  private let answer: [UInt8]

  init() throws {
    caller = try .device(1, "phone")
    server = try .device(2, "tablet", eventsPerRun: 4)
    try caller.write(5, tag: "a")
    try server.write(9, tag: "b")
    let (one, other) = try DescriptorChannel.pair()
    let tapped = TappedChannel(one)
    _ = try Dialogue.between(try caller.copy(), try server.copy(), channels: (tapped, other)).report()
    answer = tapped.bytesRead
  }

  /// Calls a peer that sends `bytes`, and then hangs up.
  private func call(_ bytes: [UInt8], silent: Bool = false, milliseconds: Int = 30_000) throws -> (
    Result<SyncReport, HeartlogError>, FavoritesStore
  ) {
    let store = try caller.copy()
    var options = SyncOptions()
    options.inactivityMillisecondsMax = milliseconds
    let result = Result { () throws(HeartlogError) in
      try SyncSession(
        store, over: RecordedChannel(reading: bytes, isSilentAtEnd: silent), role: .calling, options: options
      ).run()
    }
    return (result, store)
  }

  /// The own stream is untouched, and the other is a first part of what the server has.
  private func isSound(_ store: FavoritesStore) throws -> Bool {
    let streams = try store.streams
    guard streams.count <= 2, try streams[caller.replica] == caller.streamHead(of: caller.replica) else {
      return false
    }
    guard let received = streams[server.replica] else { return true }
    return try received.root == server.streamRoot(of: server.replica, at: received.commit)
  }

  /// The messages of `answer`, whole.
  private var messages: [[UInt8]] { Self.messages(answer) }

  private static func messages(_ bytes: [UInt8]) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    var rest = bytes[...]
    while let kind = rest.first {
      var length = 0
      var bytes = 1
      while true {
        let byte = rest[rest.startIndex + bytes]
        length |= Int(byte & 0x7F) << (7 * (bytes - 1))
        bytes += 1
        if byte < 0x80 { break }
      }
      messages.append(Array(rest.prefix(bytes + length + 4)))
      rest = rest.dropFirst(bytes + length + 4)
      precondition(kind < 10)
    }
    return messages
  }

  @Test("what a good peer sent is taken")
  func good() throws {
    let (result, store) = try call(answer)
    _ = try result.get()
    #expect(
      try store.streamHeads().map(\.root)
        == [caller, server].sorted { $0.replica < $1.replica }.map {
          try #require(try $0.streamHead(of: $0.replica)).root
        })
    #expect(messages.count == 5 && messages.flatMap { $0 } == answer)
  }

  @Test("a dialogue cut off anywhere ends in an error")
  func truncated() throws {
    for count in 0..<answer.count {
      let (result, store) = try call(Array(answer.prefix(count)))
      guard case .failure(let error) = result else {
        Issue.record("\(count) of \(answer.count) bytes were enough")
        continue
      }
      #expect(try error.code == .inputOutput && isSound(store), "\(count) bytes: \(error)")
    }
  }

  @Test("a byte flipped anywhere ends in an error", arguments: [0x01, 0x80, 0xFF] as [UInt8])
  func flipped(mask: UInt8) throws {
    for place in answer.indices {
      var bytes = answer
      bytes[place] ^= mask
      let (result, store) = try call(bytes)
      guard case .failure(let error) = result else {
        Issue.record("byte \(place) is not missed")
        continue
      }
      #expect(
        try [.peer, .inputOutput, .newerFormat].contains(error.code) && isSound(store), "\(place): \(error)")
    }
  }

  @Test("bytes behind the content of a message are refused, also with a sound checksum")
  func trailing() throws {
    for message in messages {
      let kind = try #require(Message.Kind(rawValue: message[0]))
      // The body of a run is all that is left, and says itself where it ends.
      guard kind != .run else { continue }
      let start = try #require(message.indices.dropFirst().first { message[$0] < 0x80 }) + 1
      let payload = Array(message[start..<message.count - 4])
      #expect(throws: Never.self, "\(kind)") { try Message(kind, payload: payload, answering: 1) }
      #expect(throws: (any Error).self, "\(kind)") { try Message(kind, payload: payload + [0], answering: 1) }
    }
  }

  @Test("messages left out, swapped or said twice end in an error")
  func reordered() throws {
    let messages = messages
    for first in messages.indices {
      var without = messages
      without.remove(at: first)
      var twice = messages
      twice.insert(messages[first], at: first)
      var variants = [without, twice]
      for second in messages.indices.dropFirst(first + 1) {
        var swapped = messages
        swapped.swapAt(first, second)
        variants.append(swapped)
      }
      for variant in variants {
        let (result, store) = try call(variant.flatMap { $0 })
        guard case .failure = result else {
          // What follows the last message is nobody's business any more.
          #expect(variant.starts(with: messages), "\(first)")
          continue
        }
        #expect(try isSound(store))
      }
    }
  }

  @Test("a peer that says nothing, or stops in the middle, is given up", arguments: [0, 3, 60, 200])
  func silent(count: Int) throws {
    let (result, store) = try call(Array(answer.prefix(count)), silent: true, milliseconds: 150)
    guard case .failure(let error) = result else {
      Issue.record("silence is no answer")
      return
    }
    #expect(try error.code == .timedOut && error.message.contains("silent") && isSound(store))
  }

  @Test("a peer that is given up is told to try again later")
  func givenUp() throws {
    let channel = RecordedChannel(reading: [], isSilentAtEnd: true)
    var options = SyncOptions()
    options.inactivityMillisecondsMax = 150
    let error = #expect(throws: HeartlogError.self) {
      try SyncSession(try caller.copy(), over: channel, role: .calling, options: options).run()
    }
    let messages = Self.messages(channel.written)
    #expect(error?.code == .timedOut && messages.count == 2)
    let last = try #require(messages.last)
    let message = try Message(
      try #require(Message.Kind(rawValue: last[0])), payload: Array(last[2..<last.count - 4]), answering: 0)
    guard case .failed(.later, let sentence) = message else {
      Issue.record("\(message)")
      return
    }
    #expect(sentence == error?.message)
  }

  @Test("lengths, counts and kinds beyond all limits are refused before anything is kept for them")
  func endless() throws {
    let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
    for kind in UInt8(0)...UInt8(255) {
      let (result, store) = try call([kind] + huge)
      #expect(throws: HeartlogError.self) { try result.get() }
      #expect(try isSound(store))
    }
    // Well-formed messages that announce more than there may be.
    let first = Message.Heads(greeting: .init(), heads: [])
    var writer = ByteWriter(Message.heads(first).payload().dropLast())
    writer.varint(5_000)
    #expect(throws: MalformedError.self) { try Message(.heads, payload: writer.bytes) }
    for kind in [Message.Kind.wants, .facts] {
      var writer = ByteWriter()
      writer.varint(UInt64.max)
      #expect(throws: MalformedError.self) { try Message(kind, payload: writer.bytes) }
    }
  }

  /// Plays a server that sends these messages, in order, with right checksums.
  private func play(_ script: [Message]) throws -> (Result<SyncReport, HeartlogError>, FavoritesStore) {
    let channel = RecordedChannel(reading: [])
    let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
    for message in script { try? writer.write(message) }
    return try call(channel.written)
  }

  @Test("runs that were not wanted, out of order, too many, or beyond what was announced are refused")
  func runs() throws {
    let heads = try server.streamHeads()
    let head = ShippedHead(replica: server.replica, position: .init(heads[0]))
    let answer = Message.answer(
      .init(greeting: .init(isServing: true, own: 1, wallTime: 0), states: [.none], heads: [head]))
    func run(_ first: UInt64, _ count: Int, stream: Int = 1) throws -> Message {
      let found = try server.streamRun(
        of: server.replica, after: first - 1, upTo: CommitNumber(rawValue: first + UInt64(count) - 1))
      let run = try #require(found)
      return .run(
        ShippedRun(
          stream: stream, firstCommit: run.firstCommit.rawValue, commitCount: run.commitCount,
          name: first == 1 ? "tablet" : nil,
          root: run.root, extensionRoots: [], body: run.body))
    }
    let good: [Message] = [
      answer, try run(1, 4), try run(5, 4), try run(9, 1),
    ]
    let (result, _) = try play(good + [.done(.init())])
    #expect(try result.get().received.commits == 9)
    let bad: [[Message]] = [
      [try run(5, 4)],  // not from the start
      [try run(1, 4, stream: 0)],  // of the own stream
      [try run(1, 4), try run(1, 4)],  // twice
      [try run(1, 4), try run(9, 1)],  // one left out
      [try run(1, 4), try run(5, 4), try run(9, 1), try run(9, 1)],  // one too many
      [try run(1, 4), .done(.init())],  // too few
    ]
    for script in bad {
      let (result, store) = try play([answer] + script)
      #expect(throws: HeartlogError.self) { try result.get() }
      #expect(try isSound(store))
    }
    // More than was announced.
    let less = ShippedHead(
      replica: server.replica,
      position: .init(
        commit: 2, isEnded: false,
        root: RootPrefix(
          try #require(try server.streamRoot(of: server.replica, at: CommitNumber(rawValue: 2))))))
    let short = Message.answer(
      .init(greeting: .init(isServing: true, own: 1, wallTime: 0), states: [.none], heads: [less]))
    let (refused, store) = try play([short, try run(1, 4)])
    #expect(throws: HeartlogError.self) { try refused.get() }
    #expect(try store.streams[server.replica] == nil)
  }

  @Test("an own stream that is not in the list is refused, also of an empty list", arguments: [0, 7])
  func ownPlace(place: Int) throws {
    let channel = RecordedChannel(reading: [])
    let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
    try writer.write(
      .answer(.init(greeting: .init(isServing: true, own: place, wallTime: 0), states: [], heads: [])))
    let error = #expect(throws: HeartlogError.self) {
      try SyncSession(
        try FavoritesStore.device(3), over: RecordedChannel(reading: channel.written), role: .calling
      ).run()
    }
    #expect(error?.code == .peer)
  }

  @Test("a peer that gives up says why")
  func failed() throws {
    let (result, _) = try play([.failed(.store, "its disk is full")])
    guard case .failure(let error) = result else { return }
    #expect(error.code == .inputOutput && error.message == "the peer gave up: its disk is full")
  }

  @Test("an echo of what is sent is recognised")
  func echo() throws {
    let store = try caller.copy()
    let heads = try store.streamHeads()
    let greeting = Message.Greeting(own: 0, wallTime: 1)
    let (result, _) = try play([
      .heads(
        .init(
          greeting: greeting,
          heads: heads.map { ShippedHead(replica: $0.replica, position: .init($0)) }
        ))
    ])
    guard case .failure(let error) = result else { return }
    #expect(error.code == .peer)
  }

  @Test("a peer of another version is told apart from nonsense")
  func version() throws {
    let channel = RecordedChannel(reading: [])
    var checksum = RunningChecksum()
    var payload = Array("HLS".utf8)
    payload += [3, 0, 0, 0]
    let head = [Message.Kind.answer.rawValue, UInt8(payload.count)]
    let (result, _) = try call(head + payload + checksum.take(head, payload))
    guard case .failure(let error) = result else { return }
    #expect(error.code == .newerFormat && channel.written.isEmpty)
    guard case .failure(let told) = try play([.failed(.version, "it uses protocol version 3")]).0 else {
      return
    }
    #expect(told.code == .newerFormat && told.message.contains("version 3"))
  }

  @Test("a serving end that is greeted in another version tells which it speaks")
  func otherVersion() throws {
    var checksum = RunningChecksum()
    let payload = Array("HLS".utf8) + [3, 0, 0, 0]
    let head = [Message.Kind.heads.rawValue, UInt8(payload.count)]
    let channel = RecordedChannel(reading: head + payload + checksum.take(head, payload))
    #expect {
      try SyncSession(try server.copy(), over: channel, role: .serving).run()
    } throws: { error in
      (error as? HeartlogError)?.code == .newerFormat
    }
    let told = Message.failed(.version, "it uses protocol version 1").payload()
    #expect(channel.written.starts(with: [9, UInt8(told.count)] + told))
  }

  @Test("a serving end holds out against the same, and against endless requests")
  func serving() throws {
    func serve(_ script: [Message]) throws -> Result<SyncReport, HeartlogError> {
      let channel = RecordedChannel(reading: [])
      let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
      for message in script { try? writer.write(message) }
      let store = try server.copy()
      return Result { () throws(HeartlogError) in
        try SyncSession(store, over: RecordedChannel(reading: channel.written), role: .serving).run()
      }
    }
    let heads = Message.heads(.init(greeting: .init(own: nil, wallTime: 0), heads: []))
    func want(_ stream: Int, _ commits: ClosedRange<UInt64>) -> Message {
      .wants([Message.Want(stream: stream, commits: commits)])
    }
    let scripts: [[Message]] = [
      [want(0, 1...1)], [.last], [.done(.init())], [heads, .done(.init())], [heads, .last],
      [heads, want(0, 1...10)], [heads, want(9, 1...1)], [heads, want(0, 10...10)],
      [heads, .facts([StreamFacts(9)])], [heads, .facts([])],
    ]
    for script in scripts {
      guard case .failure(let error) = try serve(script) else {
        Issue.record("\(script) was taken")
        continue
      }
      #expect(error.code == .peer, "\(error)")
    }
    var facts = StreamFacts(0)
    facts.end = CommitRoot(commit: 20, root: RootPrefix(word: 1))
    for endless in [heads, want(0, 1...1), .last, .facts([facts])] {
      guard case .failure(let error) = try serve([heads] + Array(repeating: endless, count: 2_000)) else {
        Issue.record("\(endless) was taken 2,000 times")
        continue
      }
      #expect(error.code == .peer, "\(error)")
    }
    // Each of them is said once, at most.
    guard case .failure(let error) = try serve([heads, .facts([facts]), .facts([facts])]) else {
      Issue.record("facts were taken twice")
      return
    }
    #expect(error.message.contains("duplicate facts"), "\(error)")
  }
}
