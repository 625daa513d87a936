import Heartlog
import HeartlogCrashModel
import HeartlogFiles
import Synchronization
import Testing

@testable import HeartlogSync

@Suite("A sync with a deadline")
struct DeadlineTests {
  /// A clock that only moves when it is told to.
  private final class HandMovedClock: Sendable {
    private let time = Mutex(ContinuousClock.now)

    func advance(_ seconds: Int = 1) { time.withLock { $0 += .seconds(seconds) } }

    /// Options with a deadline in so many seconds.
    func options(_ seconds: Int) -> SyncOptions {
      var options = SyncOptions(deadline: time.withLock { $0 } + .seconds(seconds))
      options.now = { self.time.withLock { $0 } }
      return options
    }

    /// Options with a deadline after so many runs, in either direction.
    func options(runs: Int) -> SyncOptions {
      var options = options(runs)
      options.progress = { progress in
        if progress.receivedCommits + progress.sentCommits > 0 { self.advance() }
      }
      return options
    }
  }

  /// A peer that sends some bytes, one with each read, and a byte again and again after that. Each read takes a second.
  private final class SlowPeer: ByteChannel {
    private let state: Mutex<(toRead: ArraySlice<UInt8>, written: [UInt8])>
    private let last: [UInt8]?
    private let clock: HandMovedClock

    init(_ clock: HandMovedClock, sending bytes: [UInt8], then last: [UInt8]?) {
      state = Mutex((bytes[...], []))
      self.last = last
      self.clock = clock
    }

    var written: [UInt8] { state.withLock { $0.written } }

    func read(atMost count: Int, milliseconds: Int) -> [UInt8]? {
      clock.advance()
      return state.withLock { state in state.toRead.popFirst().map { [$0] } ?? last }
    }

    func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) -> Int {
      state.withLock { $0.written += bytes }
      return bytes.count
    }

    func close() {}
  }

  @Test(
    "a peer that says nothing, or a byte a second without an end, ends it with a report, and is told",
    arguments: [nil, [0]] as [[UInt8]?])
  func slow(last: [UInt8]?) throws {
    let clock = HandMovedClock()
    let store = try FavoritesStore.device(1, "phone")
    try store.write(3)
    // An answer of a million bytes.
    let peer = SlowPeer(clock, sending: [Message.Kind.answer.rawValue, 0xC0, 0x84, 0x3D], then: last)
    let report = try SyncSession(store, over: peer, role: .calling, options: clock.options(20)).run()
    #expect(report.unfinished == SyncReport.Unfinished() && !report.isComplete && !report.hasFaults)
    #expect(report.received.commits == 0 && report.received.bytes > 0)
    let told = String(decoding: peer.written, as: UTF8.self)
    #expect(told.contains(HeartlogError.endedEarly.message))
  }

  /// A peer that reads nothing.
  private struct DeafPeer: ByteChannel {
    let clock: HandMovedClock

    func read(atMost count: Int, milliseconds: Int) -> [UInt8]? { nil }

    func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) -> Int {
      clock.advance()
      return 0
    }

    func close() {}
  }

  @Test("a peer that reads nothing ends it with a report")
  func deaf() throws {
    let clock = HandMovedClock()
    let store = try FavoritesStore.device(1, "phone")
    try store.write(3)
    let session = SyncSession(
      store, over: DeafPeer(clock: clock), role: .calling, options: clock.options(5))
    #expect(try session.run().unfinished == SyncReport.Unfinished())
  }

  @Test(
    "a command that hangs is ended, also if it ignores signals",
    arguments: ["sleep 60", "trap '' TERM HUP; sleep 60", "cat >/dev/null; sleep 60"])
  func command(_ command: String) throws {
    let clock = HandMovedClock()
    let store = try FavoritesStore.device(1, "phone")
    try store.write(3)
    var options = clock.options(3)
    let now = options.now
    options.now = {
      clock.advance()
      return now()
    }
    let report = try CommandCarrier.shell("exec 2>/dev/null; \(command)").sync(store, options: options)
    #expect(report.unfinished == SyncReport.Unfinished() && report.received.commits == 0)
  }

  /// How many runs of a stream were written: each is made durable by itself, behind the header of the file.
  private func runCount(of stream: ReplicaID, in files: MemoryFileSystem) -> Int {
    files.trace.count { operation in
      guard case .synchronizeData(let path) = operation else { return false }
      return path.contains("\(stream)")
    } - 1
  }

  @Test("many short syncs receive what one long one does, and each run once")
  func resumes() throws {
    let files = MemoryFileSystem(recording: true)
    let one = try FavoritesStore.device(1, "phone", on: files)
    let other = try FavoritesStore.device(2, "tablet", eventsPerRun: 10)
    try other.write(1_000, tag: "b")
    files.clearTrace()
    var left: UInt64 = 1_000
    var received: UInt64 = 0
    for sync in 1...15 {
      let clock = HandMovedClock()
      let report = try StoreCarrier(other, description: "tablet").sync(one, options: clock.options(runs: 7))
      received += report.received.commits
      // 100 runs, 7 at a time.
      #expect(report.received.commits == min(70, left) && report.received.events == report.received.commits)
      left -= report.received.commits
      #expect(report.unfinished?.commitsToReceive == (sync == 15 ? nil : left))
      #expect(report.isComplete == (sync == 15))
      if sync < 15 { #expect(report.unfinished?.commitsToSend == 0 && report.peer == other.replica) }
    }
    #expect(try received == 1_000 && one.streams == other.streams)
    #expect(runCount(of: other.replica, in: files) == 100)
  }

  @Test("short syncs in both directions come to an end, and no commit that was stored is received again")
  func bothWays() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet(eventsPerRun: 10)
    try one.write(300, tag: "a")
    try other.write(400, tag: "b")
    var syncs = 0
    var received: UInt64 = 0
    while syncs < 1_000 {
      syncs += 1
      let clock = HandMovedClock()
      let report = try StoreCarrier(other, description: "tablet").sync(one, options: clock.options(runs: 9))
      received += report.received.commits
      if report.isComplete { break }
    }
    #expect(try syncs > 1 && received == 400 && one.streams == other.streams)
  }

  @Test("a signed stream arrives in parts, and its checkpoint with the last")
  func signed() throws {
    func store(_ name: String) throws -> FavoritesStore {
      var options = StoreOptions()
      options.name = name
      options.snapshots = .manual
      options.changeStorage = { $0.runEventsMax = 1 }
      return try FavoritesStore.inMemory(options: options)
    }
    let (phone, tablet) = (try store("phone"), try store("tablet"))
    for index in 0..<10 { try phone.library("papers").add("\(index)") }
    var counts: [UInt64] = []
    var isComplete = false
    while !isComplete, counts.count < 20 {
      // More is written in between.
      if counts.count == 1 { try phone.library("papers").add("more") }
      let report = try StoreCarrier(phone, description: "phone").sync(
        tablet, options: HandMovedClock().options(runs: 4))
      #expect(report.skipped.isEmpty && report.forks.isEmpty)
      counts.append(report.received.commits)
      isComplete = report.isComplete
    }
    #expect(counts == [4, 4, 3] && phone.digest == tablet.digest)
    let head = try #require(try tablet.streamHead(of: phone.replica))
    #expect(head.checkpoint?.checkpoint.size == 11 && !head.holdsMore)
  }

  @Test(
    "short passes over a folder write, and then receive, each run once", arguments: ObjectPlace.Kind.allCases)
  func folder(kind: ObjectPlace.Kind) throws {
    let folder = try ObjectPlace(kind)
    let files = MemoryFileSystem(recording: true)
    let writer = try FavoritesStore.device(1, "phone", eventsPerRun: 10)
    let reader = try FavoritesStore.device(2, "tablet", on: files)
    try writer.write(1_000, tag: "a")
    var left: UInt64 = 1_000
    for pass in 1...15 {
      let report = try folder.sync(writer, options: HandMovedClock().options(runs: 7))
      #expect(report.sent.commits == min(70, left) && report.sent.events == report.sent.commits)
      left -= report.sent.commits
      #expect((report.unfinished == nil) == (pass == 15) && report.unfinished?.commitsToSend == nil)
      if pass < 15 { #expect(report.unfinished?.commitsToReceive == 0 && report.folder?.written == 1) }
    }
    #expect(left == 0)

    left = 1_000
    for pass in 1...15 {
      let report = try folder.sync(reader, options: HandMovedClock().options(runs: 7))
      #expect(report.received.commits == min(70, left) && report.received.events == report.received.commits)
      left -= report.received.commits
      #expect(report.unfinished?.commitsToReceive == (pass == 15 ? nil : left))
    }
    #expect(try reader.streams == writer.streams)
    #expect(runCount(of: writer.replica, in: files) == 100)
  }

  @Test(
    "a deadline that is over does nothing, and a later one changes nothing",
    arguments: ObjectPlace.Kind.allCases, [true, false])
  func edges(kind: ObjectPlace.Kind, isOver: Bool) throws {
    let folder = try ObjectPlace(kind)
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(5, tag: "a")
    try other.write(7, tag: "b")
    _ = try folder.sync(other)
    let before = try one.streams
    let options = HandMovedClock().options(isOver ? 0 : 1_000)
    for report in [
      try folder.sync(one, options: options),
      try StoreCarrier(other, description: "tablet").sync(one, options: options),
    ] {
      #expect(report.isComplete == !isOver && (report.unfinished == nil) == !isOver)
    }
    #expect(try one.streams == (isOver ? before : other.streams))
  }

  @Test("a hostile file name does not break the sum of what is left")
  func names() throws {
    let files = MemoryFileSystem()
    try files.createDirectory("/cloud")
    // The most that a name can say, in as many streams as it takes to pass 2^64.
    for number in 1...2_100 as ClosedRange<UInt64> {
      let replica = ReplicaID.made(number)
      for folder in ["/cloud/\(replica)", "/cloud/\(replica)/\(replica)"] {
        try files.createDirectory(folder)
      }
      let name = RunFileName(
        first: 1, last: (1 << 53) - 1, root: RootPrefix(MerkleTree().root),
        content: RootPrefix(MerkleTree().root))
      try files.open("/cloud/\(replica)/\(replica)/\(name.text)", .createNew).write([1], at: 0)
    }
    let store = try FavoritesStore.device(0, "phone")
    let report = try FolderCarrier("/cloud", on: files).sync(store, options: HandMovedClock().options(0))
    #expect(report.unfinished?.commitsToReceive == .max)
    var dry = SyncOptions()
    dry.isDryRun = true
    #expect(try FolderCarrier("/cloud", on: files).sync(store, options: dry).received.commits == .max)
  }

  /// A carrier that runs until it is cancelled.
  private struct EndlessCarrier: Carrier {
    let description = "endless"
    let begun: @Sendable () -> Void

    func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
      begun()
      let (near, far) = try DescriptorChannel.pair()
      defer {
        near.close()
        far.close()
      }
      return try SyncSession(store, over: near, role: .calling, options: options).run()
    }
  }

  @Test("a task's sync does what a thread's does, and ends when the task is cancelled")
  func task() async throws {
    let (one, other) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    try other.library("papers").add("a")
    let report = try await one.sync(with: StoreCarrier(other, description: "tablet"))
    #expect(report.received.commits == 1 && report.isComplete && one.digest == other.digest)

    let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await one.sync(with: EndlessCarrier { continuation.finish() })
    }
    for await _ in begun {}
    task.cancel()
    #expect(try await task.value.unfinished != nil)
  }
}
