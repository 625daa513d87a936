import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

/// A peer can make up any number of devices.
@Suite("Too many streams")
struct ManyStreamsTests {
  private static func store() throws -> TestStore {
    let store = TestStore(files: MemoryFileSystem(root: "/store"), path: "/store")
    try store.create()
    return store
  }

  private func run(of number: Int) throws -> StreamRun {
    var forged = ForgedStream(UInt64(number))
    return try forged.run([.init(HybridTimestamp(milliseconds: 1_772_000_000_000))])
  }

  @Test(
    "as many streams are taken as a store may have, the next is refused with a reason, and all others go on")
  func limit() throws {
    let store = try Self.store()
    var options = TestStore.options()
    #expect(options.streamsMax == 4_096)
    options.streamsMax = 40
    let open = try store.open(options)
    try open.write(0)
    var first = ForgedStream(1)
    #expect(try open.log.receive(first.run([.init(HybridTimestamp(milliseconds: 1))])).isAppended)
    for number in 2..<40 { #expect(try open.log.receive(run(of: number)).isAppended) }
    let last = try run(of: 40)
    let refusal = ReceivedRun.full("the store has 40 streams, and takes at most 40")
    #expect(try open.log.receive(last) == refusal)
    #expect(try open.log.receive(last) == refusal)
    // The others go on, and so does the store.
    #expect(try open.log.receive(first.run([.init(HybridTimestamp(milliseconds: 2))])).isAppended)
    #expect(try open.write(1).heads.count == 39)
    #expect(try open.log.streamHeads().count == 40)
    #expect(try open.log.streamHeads(of: first.replica).map(\.commit.rawValue) == [2])
    #expect(try open.log.streamHeads(of: last.replica).isEmpty)
    open.log.close()
    let again = try store.open(options)
    #expect(try again.log.receive(last) == refusal)
    #expect(try again.write(2).heads.isEmpty)
    // What was taken once is taken again: branches, and backups.
    #expect(try again.log.restore(last).isAppended)
    #expect(try again.write(3).heads.count == 1)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test(
    "streams of members have a quarter of the room, which no others take, and those of the removed need none")
  func members() throws {
    let store = try Self.store()
    var options = TestStore.options()
    options.streamsMax = 40
    let open = try store.open(options)
    func take(_ numbers: ClosedRange<Int>) throws {
      for number in numbers { #expect(try open.log.receive(run(of: number)).isAppended, "\(number)") }
    }
    func replicas(_ numbers: ClosedRange<Int>) throws -> Set<ReplicaID> {
      Set(try numbers.map { try run(of: $0).replica })
    }
    open.log.vouch(for: try replicas(1...20), removed: [])
    try take(1...10)
    #expect(
      try open.log.receive(run(of: 11))
        == .full("the store has 10 streams of devices that are members of the vault, and takes at most 10"))
    // Those whom somebody admitted who was removed are others from then on.
    open.log.vouch(for: try replicas(11...20), removed: try replicas(51...60))
    try take(11...14)
    try take(21...39)
    #expect(
      try open.log.receive(run(of: 40))
        == .full("the store has 29 streams of devices that are no members of the vault, and takes at most 29")
    )
    try take(15...20)
    try take(51...60)
  }

  @Test("a stream names no more others than it may, and goes on to name those that it did")
  func heads() throws {
    let store = try Self.store()
    let open = try store.open()
    var forged = (1...3).map { ForgedStream(UInt64($0)) }
    for index in forged.indices {
      #expect(try open.log.receive(forged[index].run([.init(HybridTimestamp(milliseconds: 1))])).isAppended)
    }
    try open.write(0)
    for index in forged.indices {
      #expect(try open.log.receive(forged[index].run([.init(HybridTimestamp(milliseconds: 2))])).isAppended)
    }
    for number in 4...9 { #expect(try open.log.receive(run(of: number)).isAppended) }
    let known = forged.map(\.replica)
    open.log.withStreams {
      let tail = open.log.streamSet.own.tail
      #expect(open.log.streamSet.newHeads(after: tail).count == 9)
      for most in 3...9 {
        let heads = open.log.streamSet.newHeads(after: tail, most: most).map(\.replica)
        #expect(heads.count == most && Set(heads).isSuperset(of: known))
      }
    }
  }
}
