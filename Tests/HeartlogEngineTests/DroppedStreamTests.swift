import HeartlogCrashModel
import HeartlogFiles
import HeartlogFormat
import Testing

@testable import HeartlogEngine

@Suite("Dropped streams")
struct DroppedStreamTests {
  private func run(of number: UInt64) throws -> StreamRun {
    var forged = ForgedStream(number)
    return try forged.run([.init(HybridTimestamp(milliseconds: 1_772_000_000_000))])
  }

  @Test("a dropped stream leaves room for another, is taken from nobody, and can be kept again")
  func room() throws {
    let (store, _) = try TestStore.inMemory()
    var options = TestStore.options()
    options.streamsMax = 4
    let open = try store.open(options)
    let own = try open.write(0)
    let runs = try (1...4).map { try run(of: $0) }
    for run in runs[..<3] { #expect(try open.log.receive(run).isAppended) }
    #expect(try open.log.receive(runs[3]) == .full("the store has 4 streams, and takes at most 4"))
    let watching = try store.open(TestStore.options(seed: 8))
    #expect(watching.projection.commits.count == 4)

    let dropped = runs[1].replica
    #expect(try open.log.dropStream(dropped) == "/store/replicas/\(dropped).dropped")
    #expect(try open.log.dropStream(dropped) == nil)
    #expect(try open.log.droppedStreams() == [dropped])
    for log in [open.log, watching.log] {
      try log.refresh()
      #expect(
        try log.streamHeads().map(\.replica) == [own.replica, runs[0].replica, runs[2].replica].sorted())
      #expect(try log.receive(runs[1]) == .known)
      #expect(try log.endStream(dropped, after: 0) == nil)
    }
    #expect(watching.projection.commits.count == 3 && open.projection.commits.count == 3)
    #expect(try open.log.receive(runs[3]).isAppended)
    #expect(throws: HeartlogError.self) { try open.log.dropStream(own.replica) }
    #expect(try open.write(1).heads.count == 3)
    let verified = try store.verify()
    #expect(verified.count == 4 && verified.allSatisfy { $0.finding == nil })

    #expect(try open.log.keepStream(dropped) && !open.log.keepStream(dropped))
    #expect(try open.log.streamHeads().count == 5)
    #expect(try open.write(2).heads == [Head(replica: dropped, commit: CommitNumber(rawValue: 1))])
    #expect(try store.read().commits.count == 7)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("commits that named a dropped stream do not show that it is lost")
  func named() throws {
    let (store, _) = try TestStore.inMemory()
    let open = try store.open()
    let run = try run(of: 1)
    #expect(try open.log.receive(run).isAppended)
    let positions = try open.log.positions {}.positions
    #expect(try open.write(0).heads.map(\.replica) == [run.replica])
    #expect(try open.log.dropStream(run.replica) != nil)
    #expect(open.log.findings.isEmpty)
    #expect(try open.write(1).heads.isEmpty)
    open.log.close()
    let verified = try store.verify()
    #expect(verified.count == 1 && verified.allSatisfy { $0.finding == nil })
    // A snapshot of before belongs to another log: it proves no loss.
    let error = #expect(throws: HeartlogError.self) {
      _ = try CommitLog(
        at: store.path, on: store.files, options: TestStore.options(), projection: RecordingProjection(),
        from: positions)
    }
    #expect(error?.mismatch == .otherLog)
  }

  @Test("the power goes at every moment of a drop: the stream is there, or it is dropped")
  func crash() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let run = try run(of: 1)
    #expect(try open.log.receive(run).isAppended)
    let own = try open.write(0)
    files.startJournal()
    #expect(try open.log.dropStream(run.replica) != nil)
    let end = files.crashPoints
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 60, seed: 5) {
        let copy = TestStore(files: state, path: "/store")
        let read = try copy.read()
        let isDropped = read.commits == [own]
        #expect(read.findings.isEmpty && (isDropped || read.commits.count == 2))
        #expect(isDropped || point < end)
        let again = try copy.open(TestStore.options(seed: 74))
        #expect(try again.log.receive(run) == .known)
        #expect(try again.log.droppedStreams() == (isDropped ? [run.replica] : []))
        #expect(try again.write(8).replica == own.replica)
        #expect(try copy.verify().allSatisfy { $0.finding == nil })
      }
    }
  }
}
