import Heartlog
import HeartlogTesting
import TestSupport
import Testing

@Suite("Devices that wrote apart")
struct MergeTests {
  /// A phone and a tablet, with clocks that stand where a test puts them.
  private struct Devices {
    let clocks = [ManualClock(), ManualClock()]
    let phone: FavoritesStore
    let tablet: FavoritesStore

    init() throws {
      phone = try .inMemory(clock: clocks[0], seed: 1)
      tablet = try .inMemory(clock: clocks[1], seed: 2)
    }

    /// Ships everything both ways.
    func sync() throws {
      try MergeTests.ship(phone, to: tablet)
      try MergeTests.ship(tablet, to: phone)
      try #require(phone.digest == tablet.digest && phone.conflicts == tablet.conflicts)
    }
  }

  @discardableResult
  static func ship(_ source: FavoritesStore, to target: FavoritesStore) throws -> [ReceivedRun] {
    let known = Dictionary(
      uniqueKeysWithValues: try target.streamHeads().map { ($0.replica, $0.commit.rawValue) })
    var received: [ReceivedRun] = []
    for head in try source.streamHeads() {
      var after = known[head.replica] ?? 0
      while let run = try source.streamRun(of: head.replica, after: after, upTo: head.commit) {
        received.append(try target.receive(run))
        after = run.lastCommit.rawValue
      }
    }
    return received
  }

  private static func note(_ text: String) -> Field { Field(name: "@note", value: .string(text)) }

  @Test("an off and on again after a removal that was not heard of keeps the favorite")
  func offAndOn() throws {
    let devices = try Devices()
    let onPhone = try devices.phone.library("papers")
    let onTablet = try devices.tablet.library("papers")
    try onPhone.add("a")
    try devices.sync()
    devices.clocks[1].advance(by: 1)
    try onTablet.remove("a")
    devices.clocks[0].advance(by: 2)
    try onPhone.toggle("a")
    try onPhone.toggle("a")
    try devices.sync()
    #expect(onPhone.contains("a") && onTablet.contains("a"))
    #expect(devices.phone.conflicts.count == 1)
  }

  @Test(
    "what lost unseen is an open conflict on both devices, and either side can be chosen on either device")
  func choosing() throws {
    let devices = try Devices()
    let onPhone = try devices.phone.library("papers")
    let onTablet = try devices.tablet.library("papers")
    for choice in 0..<2 {
      for (settler, name) in [(devices.phone, "p"), (devices.tablet, "t")] {
        let item = "\(name)\(choice)"
        try onPhone.set([Self.note("from the phone")], of: item)
        devices.clocks[1].advance(by: 10)
        try onTablet.set([Self.note("from the tablet")], of: item)
        try devices.sync()
        let conflict = try #require(devices.phone.conflicts.first)
        #expect(devices.phone.conflicts.count == 1)
        #expect(conflict.item == item && conflict.register == .field("@note"))
        #expect(
          conflict.writes.map(\.value) == [
            .field(.string("from the tablet")), .field(.string("from the phone")),
          ])
        #expect(onPhone.item(item)?.value(of: "@note") == .string("from the tablet"))

        let settled = try settler.resolveConflicts(inFavorOf: conflict.writes[choice].event)
        #expect(settled == [conflict] && settler.conflicts.isEmpty)
        try devices.sync()
        #expect(devices.tablet.conflicts.isEmpty)
        let expected = choice == 0 ? "from the tablet" : "from the phone"
        #expect(onTablet.item(item)?.value(of: "@note") == .string(expected))
      }
    }
  }

  @Test(
    "an ordinary tap of somebody who has seen all sides closes a conflict; agreeing devices and quiet writes open none"
  )
  func ordinary() throws {
    let devices = try Devices()
    let onPhone = try devices.phone.library("books")
    let onTablet = try devices.tablet.library("books")
    try onPhone.add("same", favoritedDate: 1_000)
    try onTablet.add("same", favoritedDate: 2_000)
    try onPhone.set([Field(name: "currentPosition", value: .int64(10), isQuiet: true)], of: "b")
    try onTablet.set([Field(name: "currentPosition", value: .int64(20), isQuiet: true)], of: "b")
    try onPhone.add("x")
    try onTablet.add("x")
    try devices.sync()
    #expect(devices.phone.conflicts.isEmpty)
    try onPhone.remove("x")
    devices.clocks[1].advance(by: 60)
    try onTablet.remove("x")
    try onTablet.add("x")
    try devices.sync()
    #expect(devices.phone.conflicts.map(\.item) == ["x"])
    try onPhone.toggle("x")
    #expect(devices.phone.conflicts.isEmpty)
    try devices.sync()
    #expect(!onTablet.contains("x"))
  }

  @Test("observers hear what was merged, with its device, and a merge over a catalog sees it")
  func observed() async throws {
    let devices = try Devices()
    var changes = devices.phone.changes.makeAsyncIterator()
    try devices.tablet.library("cities").add("2950159")
    let received = try Self.ship(devices.tablet, to: devices.phone)
    #expect(received == [.appended(commits: 1, events: 1, changedItems: 1)])
    let notice = await changes.next()
    guard case .change(let change) = notice else {
      Issue.record("no change: \(String(describing: notice))")
      return
    }
    #expect(change.id.replica == devices.tablet.replica && change.event.item == "2950159")
    let merged = devices.phone.read { state in
      state.merge(into: ["1", "2950159"], of: "cities", id: { $0 }) { element, isFavorite, _ in
        element += isFavorite ? "+" : "-"
      }
    }
    #expect(merged.catalog == ["1-", "2950159+"])
  }

  @Test(
    "devices have names and say when they wrote last; one can be retired, for all to see, and is heard all the same"
  )
  func retiring() throws {
    let devices = try Devices()
    try devices.phone.library("papers").add("a")
    try devices.tablet.library("papers").add("b")
    try devices.sync()
    // Inside of a commit under way it is refused, not waited for.
    #expect(throws: HeartlogError.self) {
      try devices.phone.write { try devices.phone.retire(devices.tablet.replica) }
    }
    #expect(try devices.phone.retire(devices.tablet.replica))
    #expect(try !devices.phone.retire(devices.tablet.replica))
    #expect(throws: HeartlogError.self) { try devices.phone.retire(devices.phone.replica) }
    #expect(throws: HeartlogError.self) { try devices.phone.retire(ReplicaID(high: 1, low: 2)) }
    try devices.sync()
    let listed = devices.tablet.devices
    #expect(listed.map(\.replica) == [devices.phone.replica, devices.tablet.replica].sorted())
    #expect(listed.filter(\.isRetired).map(\.replica) == [devices.tablet.replica])
    #expect(listed.filter(\.isOwn).map(\.replica) == [devices.tablet.replica])
    try devices.tablet.library("papers").add("c")
    try devices.sync()
    #expect(try devices.phone.library("papers").contains("c"))
  }

  @Test(
    "up to five devices whose clocks go wrong, and that get streams in pieces, again and out of turn, agree in the end",
    arguments: 1...8 as ClosedRange<UInt64>)
  func anyDelivery(seed: UInt64) throws {
    print("deliveries: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 2...5, using: &generator)
    let clocks = (0..<count).map { _ in ManualClock() }
    let stores = try clocks.enumerated().map { index, clock in
      try FavoritesStore.inMemory(clock: clock, seed: seed * 10 + UInt64(index))
    }
    for _ in 0..<250 {
      let index = Int.random(in: 0..<count, using: &generator)
      let library = try stores[index].library(
        ["papers", "books"].randomElement(using: &generator) ?? "papers")
      let item = "item-\(Int.random(in: 0..<12, using: &generator))"
      switch Int.random(in: 0..<10, using: &generator) {
      case 0...3: try library.toggle(item)
      case 4: try library.remove(item)
      case 5: try library.set([Self.note("\(seed) \(Int.random(in: 0..<4, using: &generator))")], of: item)
      case 6:
        let position = FieldValue.int64(Int64.random(in: 0..<100, using: &generator))
        try library.set([Field(name: "currentPosition", value: position, isQuiet: true)], of: item)
      case 7:
        // Stuck more often than not, by hours to and fro now and then.
        clocks[index].advance(by: Double(Int.random(in: -1...2, using: &generator)) * 3_600)
      default:
        // A piece of what another has, from anywhere: what does not continue is refused, what is known is passed over.
        let source = stores[Int.random(in: 0..<count, using: &generator)]
        guard source !== stores[index], let head = try source.streamHeads().randomElement(using: &generator)
        else { continue }
        let after = UInt64.random(in: 0..<head.commit.rawValue, using: &generator)
        let last = CommitNumber(rawValue: .random(in: after + 1...head.commit.rawValue, using: &generator))
        guard let run = try source.streamRun(of: head.replica, after: after, upTo: last) else { continue }
        #expect(try stores[index].receive(run) != .diverged)
      }
    }
    for _ in 0..<2 {
      for source in stores {
        for target in stores.shuffled(using: &generator) where source !== target {
          try Self.ship(source, to: target)
        }
      }
    }
    // The state of all commits in the total order, which is the plainest way to it.
    var plain = FavoritesState()
    let log = try stores[0].readLog()
    while let commit = try log.next() { plain.apply(commit) }
    for store in stores {
      #expect(store.digest == plain.digest)
      #expect(store.conflicts == plain.conflicts)
      #expect(store.read(\.heads) == plain.heads)
    }
  }
}
