import Testing

@testable import Heartlog
@testable import HeartlogSync

/// A stream that cannot be taken stands in no other's way, and is told.
@Suite("Streams that are passed over")
struct SkippedStreamTests {
  /// Two streams that lie before those of devices.
  private func madeUp(isWaiting: Bool = false) throws -> [MadeUpStream] {
    var streams = (1...2).map { MadeUpStream(ReplicaID(high: 0, low: $0), "device \($0)") }
    for number in 1...9 {
      try streams[0].append(
        "a\(number)", stamp: isWaiting ? Self.stamp(UInt64(number)) : nil, wallTime: 1_000)
      try streams[1].append("b\(number)")
    }
    return streams
  }

  /// A store that has three streams of nine commits and gives them in runs of four. It writes the last one itself.
  private func hub(_ others: [MadeUpStream]) throws -> (store: FavoritesStore, streams: [ReplicaID]) {
    let store = try FavoritesStore.device(3, "device 3", eventsPerRun: 4)
    try store.write(9)
    for other in others { try store.hold(other) }
    return (store, others.map(\.replica) + [store.replica])
  }

  /// A stamp that is taken if the one before it was taken.
  private static func stamp(_ number: UInt64) -> HybridTimestamp {
    HybridTimestamp(rawValue: HybridTimestamp.lastOfClocks.rawValue + number)
  }

  @Test("a stream that waits is passed over, and those behind it arrive", arguments: [true, false])
  func waiting(isCalling: Bool) throws {
    let (hub, streams) = try hub(madeUp(isWaiting: true))
    let store = try FavoritesStore.device(9, "phone")
    let dialogue = try isCalling ? Dialogue.between(store, hub) : Dialogue.between(hub, store)
    let report = try (isCalling ? dialogue.calling : dialogue.serving).get()
    _ = try (isCalling ? dialogue.serving : dialogue.calling).get()
    #expect(try Set(store.streams.keys) == Set(streams[1...]) && report.received.commits == 18)
    let skipped = try #require(report.skipped.first)
    #expect(report.skipped.count == 1 && skipped.replica == streams[0] && skipped.name == "device 1")
    #expect(skipped.cause == .waiting && skipped.firstCommit.rawValue == 1)
    #expect(skipped.reason.contains("nothing in this store leads up to it"))
    // What it waited for.
    var first = MadeUpStream(4)
    try first.append("c", stamp: Self.stamp(0), wallTime: 1_000)
    try hub.hold(first)
    _ = try Dialogue.between(store, hub).report()
    #expect(try store.streams == hub.streams)
  }

  @Test(
    "commits that do not lead to their root are refused, the rest arrives, and both ends fail",
    arguments: [true, false])
  func refused(isCalling: Bool) throws {
    let (hub, streams) = try hub(madeUp())
    let store = try FavoritesStore.device(9, "phone")
    let (one, other) = try DescriptorChannel.pair()
    let forging = ForgingChannel(isCalling ? other : one) { message in
      guard case .run(let run) = message, run.name == "device 2" else { return message }
      let forged = try #require(run.file(of: streams[1], called: "", nil).runs.first).forged()
      return .run(
        ShippedRun(
          stream: run.stream, firstCommit: run.firstCommit, commitCount: run.commitCount, name: run.name,
          root: run.root, extensionRoots: [], body: forged.body))
    }
    let dialogue =
      try isCalling
      ? Dialogue.between(store, hub, channels: (one, forging))
      : Dialogue.between(hub, store, channels: (forging, other))
    let report = try (isCalling ? dialogue.calling : dialogue.serving).get()
    #expect(try Set(store.streams.keys) == [streams[0], streams[2]] && report.forks.isEmpty)
    #expect(
      report.skipped.map(\.replica) == [streams[1]] && report.skipped[0].cause == .refused
        && report.skipped[0].firstCommit.rawValue == 1)
    guard case .failure(let told) = isCalling ? dialogue.serving : dialogue.calling else {
      Issue.record("the end that sent them is not told")
      return
    }
    #expect(told.code == .peer && told.message.contains("do not lead to the root"), "\(told)")
  }

  /// The stream in the middle cannot be read behind a commit.
  private func damagedHub(
    _ notice: DamageNotice, behind last: Int = 5
  ) throws -> (store: FavoritesStore, streams: [ReplicaID]) {
    let others = try madeUp()
    let (hub, streams) = try hub([others[0]])
    if last > 0 { try hub.hold(others[1], 1...last) }
    let end = try hub.endOfTail(of: others[1].replica)
    for number in last + 1...9 { try hub.hold(others[1], number...number) }
    return (try hub.damaged(others[1].replica, at: end, notice), [streams[0], others[1].replica, streams[1]])
  }

  @Test(
    "a damaged peer gives all that can be read, and the message says that it is damaged, where, and what to run",
    arguments: DamageNotice.allCases)
  func damagedPeer(notice: DamageNotice) throws {
    let (hub, streams) = try damagedHub(notice)
    let store = try FavoritesStore.device(9, "phone")
    try store.write(3)
    let report = try StoreCarrier(hub, description: "/hub").sync(store, options: SyncOptions())
    #expect(try Set(store.streams.keys) == Set(streams + [store.replica]))
    #expect(try streams.map { try store.commitCount(of: $0) } == [9, 5, 9])
    #expect(!report.isComplete && report.received.commits == 23)
    let told = try #require(report.peerDamage ?? report.skipped.first?.reason)
    // A file that was read before is not read again to find the place.
    let place =
      notice == .whenReading
      ? ["does not continue after commit 5 up to its head 9"]
      : ["replicas/\(streams[1])/0000000000000001.open", "at offset 4", "commit 6"]
    for word in ["its store is damaged", "verify", "repair"] + place {
      #expect(told.contains(word), "\(told)")
    }
    #expect(!told.contains(hub.path), "\(told)")
    // What is known to be damaged before the dialogue takes nothing; else the rest of the store goes on.
    #expect((try hub.streams[store.replica] == nil) == (notice == .whenOpening))
    let again = try StoreCarrier(hub, description: "/hub").sync(store, options: SyncOptions())
    #expect(!again.isComplete && again.received.commits == 0)
  }

  @Test(
    "a damaged store gives a peer all that can be read, and says that it is damaged itself",
    arguments: DamageNotice.allCases)
  func damagedCaller(notice: DamageNotice) throws {
    let (hub, streams) = try damagedHub(notice)
    let store = try FavoritesStore.device(9, "phone")
    try store.write(3)
    let report = try StoreCarrier(store, description: "/phone").sync(hub, options: SyncOptions())
    #expect(try streams.map { try store.commitCount(of: $0) } == [9, 5, 9])
    #expect(!report.isComplete && report.peerDamage == nil)
    let skipped = try #require(report.skipped.first)
    #expect(skipped.cause == .damaged && skipped.reason.contains("this store is damaged"))
    #expect(skipped.replica == (notice == .whenOpening ? store.replica : streams[1]))
    #expect((try hub.streams[store.replica] == nil) == (notice == .whenOpening))
  }

  @Test(
    "a pull, a dry run and a stream of which nothing can be read are no obstacle either",
    arguments: [true, false])
  func damagedOtherwise(isDryRun: Bool) throws {
    let (hub, streams) = try damagedHub(.whenLooking, behind: 0)
    let store = try FavoritesStore.device(9, "phone")
    _ = try store.receive(madeUp()[1].run(1...2))
    var options = SyncOptions()
    options.isPull = true
    options.isDryRun = isDryRun
    let report = try StoreCarrier(hub, description: "/hub").sync(store, options: options)
    #expect(report.received.commits == 18 && !report.isComplete)
    #expect(
      try streams.map { try store.commitCount(of: $0) ?? 0 } == (isDryRun ? [0, 2, 0] : [9, 2, 9]))
  }
}
