import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("How a run is taken")
struct RunReceiverTests {
  private let parts: LogParts
  private var stream = ForgedStream(5)

  init() throws { parts = try LogParts(TestStore.inMemory().1) }

  private var path: String { "replicas/\(stream.replica)/0000000000000001.open" }

  /// The next run of a stream, of one commit in the present.
  private static func nextRun(of stream: inout ForgedStream) throws -> StreamRun {
    try stream.run([.init(HybridTimestamp(milliseconds: 1_772_000_000_000 + Int64(stream.commitCount)))])
  }

  /// The operations that changed files while `body` ran.
  private func changes(_ body: () throws -> Void) throws -> [String] {
    parts.files.clearTrace()
    try body()
    return parts.trace
  }

  @Test("a run is written and made durable before its stream, the clock or the projection have it")
  mutating func durable() throws {
    let run = try Self.nextRun(of: &stream)
    parts.files.failNext(.synchronizeData, onPathSuffix: ".open", code: 5)
    let failure = storageFailure { _ = try parts.receiver.take(run) }
    #expect(failure?.code == .outcomeUnknown && failure?.file?.hasSuffix(path) == true)
    #expect(parts.projection.commits.isEmpty && parts.streamSet.clock.last.rawValue == 0)
    #expect(parts.streamSet.readers[stream.replica] == nil)
    #expect(parts.streamSet.merkleCaches.atHead[stream.replica]?.position == 0)
    #expect(parts.trace.contains { $0.hasPrefix("rename \(path)") && $0.hasSuffix(".suspect") })
  }

  @Test("a run that is not taken changes no file")
  mutating func notTaken() throws {
    let first = try Self.nextRun(of: &stream)
    let second = try Self.nextRun(of: &stream)
    let other = StreamRun(
      replica: first.replica, name: first.name, firstCommit: first.firstCommit,
      commitCount: first.commitCount, body: first.body, root: second.root)
    var far = ForgedStream(6)
    var wrong = ForgedStream(7)
    let waiting = try far.run(steps: 2)
    let refused = try wrong.run([.init(.lastOfClocks, at: Limits.timeMillisecondsMax)])
    let page = parts.lease.lock.page()
    parts.files.clearTrace()
    #expect(try parts.receiver.take(second) == .gap)
    #expect(try parts.receiver.take(other) == .diverged)
    #expect(try parts.receiver.take(waiting).isWaiting)
    #expect(try parts.receiver.take(refused).isRefused)
    let short = StreamRun(
      replica: first.replica, name: first.name, firstCommit: first.firstCommit,
      commitCount: first.commitCount, body: Array(first.body.dropLast()), root: first.root)
    #expect(throws: MalformedError.self) { try parts.receiver.take(short) }
    #expect(parts.trace.isEmpty && parts.lease.lock.page() == page)
    #expect(parts.projection.commits.isEmpty && parts.streamSet.clock.last.rawValue == 0)
    #expect(try parts.receiver.take(first).isAppended && parts.receiver.take(second).isAppended)
    #expect(try parts.receiver.take(first) == .known)
  }

  @Test("a tail stays open for the next run, and is made durable where it has to be opened again")
  mutating func tail() throws {
    _ = try parts.receiver.take(Self.nextRun(of: &stream))
    let second = try Self.nextRun(of: &stream)
    let steps = try changes { _ = try parts.receiver.take(second) }
    #expect(steps.count == 2 && steps[0].hasPrefix("write \(path)") && steps[1] == "synchronizeData \(path)")

    parts.receiver.forgetTail(of: stream.replica)
    let third = try Self.nextRun(of: &stream)
    let reopened = try changes { _ = try parts.receiver.take(third) }
    #expect(
      reopened.prefix(2) == ["synchronizeData \(path)", "synchronizeDirectory replicas/\(stream.replica)"])
    #expect(reopened.count == 4 && parts.projection.commits.count == 3)
  }

  @Test("of many received streams, one more than may stay open closes the others")
  func manyStreams() throws {
    var streams = (0...OpenFileBudget.streamsMax).map { ForgedStream(UInt64($0 + 1)) }
    for index in streams.indices { _ = try parts.receiver.take(Self.nextRun(of: &streams[index])) }
    let open = parts.streamSet.readers.values.filter { $0.cursor?.file != nil }
    #expect(open.map(\.replica) == [streams[OpenFileBudget.streamsMax].replica])
    for index in streams.indices {
      #expect(try parts.receiver.take(Self.nextRun(of: &streams[index])).isAppended)
    }
    #expect(parts.projection.commits.count == 2 * streams.count)
  }

  @Test("a full segment is told, and the next run begins another")
  func rotation() throws {
    let parts = try LogParts(
      TestStore.inMemory().1,
      options: TestStore.options(segmentBytesMax: UInt64(SegmentHeader.byteCount) + 300))
    var stream = ForgedStream(5)
    var count: UInt64 = 0
    repeat {
      _ = try parts.receiver.take(Self.nextRun(of: &stream))
      count += 1
    } while !parts.receiver.isTailFull(of: stream.replica) && count < 20
    #expect(count > 1 && count < 20)
    _ = try parts.receiver.take(Self.nextRun(of: &stream))
    #expect(!parts.receiver.isTailFull(of: stream.replica))
    let names = try parts.files.entries(of: "/store/replicas/\(stream.replica)")
    let first = CommitNumber(rawValue: count + 1)
    #expect(names == ["0000000000000001.open", SegmentFile(firstCommit: first, state: .open).name])
  }

  @Test("where a run continues the own stream, the store is another replica before the run is written")
  mutating func ownStream() throws {
    parts.streamSet.identity.replica = stream.replica
    let run = try Self.nextRun(of: &stream)
    let steps = try changes { _ = try parts.receiver.take(run) }
    #expect(parts.projection.commits.map(\.replica) == [stream.replica])
    #expect(parts.streamSet.identity.replica != stream.replica)
    let renamed = try #require(steps.firstIndex { $0.hasPrefix("rename store.tmp") })
    let created = try #require(steps.firstIndex { $0.hasPrefix("createFile replicas/") })
    #expect(renamed < created)
  }

  @Test("runs wait for what no other run leads up to, and asking changes nothing")
  func reach() throws {
    var (first, second) = (ForgedStream(6), ForgedStream(7))
    let ahead = try second.run(steps: 1, 3)
    let between = try first.run(steps: 0, 2)
    #expect(parts.receiver.runsOutOfReach([ahead]).keys.sorted() == [0])
    #expect(parts.receiver.runsOutOfReach([ahead, between]).isEmpty)
    let next = try second.run(steps: 4, 100)
    let behind = try first.run(steps: 5)
    #expect(
      parts.receiver.runsOutOfReach([ahead, next, between, behind]).keys.sorted() == [1, 3],
      "a run waits as a whole, so step 4 does not lead up to step 5")
    #expect(parts.streamSet.clock.last.rawValue == 0 && parts.trace.isEmpty)
  }
}
