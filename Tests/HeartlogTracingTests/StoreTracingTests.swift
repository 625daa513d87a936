#if Tracing
  import Foundation
  import HeartlogCrashModel
  import HeartlogFiles
  import HeartlogSync
  import HeartlogTesting
  import Testing

  @testable import Heartlog

  @Suite("What a store tells its tracer")
  struct StoreTracingTests {
    private let files = MemoryFileSystem()
    private let tracer = RecordingTracer()
    private static let path = "/favorites.heartlog"

    private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> FavoritesStore {
      var options = StoreOptions()
      options.tracer = tracer
      options.snapshots = .manual
      change(&options)
      return try FavoritesStore(at: Self.path, on: files, options: options)
    }

    @Test("an opening is a span, and one that fails ends with its error")
    func opening() throws {
      let store = try open()
      #expect(tracer.takeLines() == ["begin open", "end open"])
      try store.close()
      #expect(throws: HeartlogError.self) {
        let options = StoreOptions()
        var missing = options
        missing.tracer = tracer
        missing.createsIfMissing = false
        _ = try FavoritesStore(at: "/nothing", on: files, options: missing)
      }
      let lines = tracer.takeLines()
      #expect(lines.first == "begin open")
      #expect(lines.last?.hasPrefix("end open: ") == true)
      #expect(tracer.openSpans == 0)
    }

    @Test("a durable commit contains one fdatasync, and is counted as a batch with its events and bytes")
    func commit() throws {
      let store = try open()
      let papers = try store.library("papers")
      // The first commit creates the segment.
      try papers.add("first")
      _ = tracer.takeLines()
      for counter in StoreCounter.allCases { _ = tracer.takeCounts(counter) }
      try store.write {
        try papers.add("a")
        try papers.add("b")
        try papers.add("c")
      }
      #expect(tracer.takeLines() == ["begin commit", "begin synchronize", "end synchronize", "end commit"])
      #expect(tracer.takeCounts(.commits) == [1])
      #expect(tracer.takeCounts(.events) == [3])
      let bytes = tracer.takeCounts(.writtenBytes)
      #expect(bytes.count == 1 && bytes[0] > 0)
      try papers.add("a")
      #expect(tracer.takeLines() == [], "a call that writes nothing is no commit")
    }

    @Test("a buffered commit contains no fdatasync; the flush has it")
    func buffered() throws {
      let store = try open { $0.durability = .buffered }
      try store.library("papers").add("first")
      _ = tracer.takeLines()
      try store.library("papers").add("a")
      #expect(tracer.takeLines() == ["begin commit", "end commit"])
      try store.flush()
      #expect(tracer.takeLines() == ["begin synchronize", "end synchronize"])
    }

    @Test("commits that are written together are counted together")
    func batch() throws {
      let store = try open()
      let papers = try store.library("papers")
      try papers.add("first")
      _ = tracer.takeCounts(.commits)
      let staged = try (0..<5).map { number in
        try store.stage(origin: nil, durability: nil, time: nil) { _ in try papers.add("item \(number)") }
      }
      for each in staged { _ = try store.finish(each) }
      #expect(tracer.takeCounts(.commits) == [5])
    }

    @Test("a failed fdatasync ends its span, the commit's, and writing")
    func failedSync() throws {
      let store = try open()
      let papers = try store.library("papers")
      try papers.add("first")
      _ = tracer.takeLines()
      files.failNext(.synchronizeData, code: 5)
      #expect(throws: HeartlogError.self) { try papers.add("second") }
      let lines = tracer.takeLines()
      #expect(lines.contains { $0.hasPrefix("end synchronize: ") })
      #expect(lines.contains { $0.hasPrefix("end commit: ") })
      #expect(lines.contains { $0.hasPrefix("writingFailed: ") })
      #expect(tracer.openSpans == 0)
    }

    @Test("a read that finds another handle's commits is a refresh; one that finds none is not")
    func refresh() throws {
      let store = try open()
      let papers = try store.library("papers")
      let other = try FavoritesStore(at: Self.path, on: files, options: StoreOptions())
      try other.library("papers").add("a")
      _ = tracer.takeLines()
      #expect(papers.contains("a"))
      #expect(tracer.takeLines() == ["begin refresh", "end refresh"])
      #expect(papers.contains("a"))
      #expect(tracer.takeLines() == [])
    }

    @Test("a snapshot and sealing are spans")
    func maintenance() throws {
      let store = try open()
      try store.library("papers").add("a")
      _ = tracer.takeLines()
      _ = try store.snapshot()
      #expect(tracer.takeLines() == ["begin snapshot", "end snapshot"])
      try store.seal()
      let lines = tracer.takeLines()
      #expect(lines.filter { $0.hasSuffix(" seal") } == ["begin seal", "end seal"])
    }

    @Test("a damaged snapshot is an event that names it")
    func droppedSnapshot() throws {
      let store = try open()
      for number in 0..<50 { try store.library("papers").add("paper \(number)") }
      _ = try store.snapshot()
      try store.close()
      let name = try #require(try files.entries(of: "\(Self.path)/snapshots").last)
      let file = "\(Self.path)/snapshots/\(name)"
      var bytes = try files.contents(of: file)
      bytes[20] ^= 1
      try files.replaceContents(of: file, with: bytes)
      _ = tracer.takeLines()
      _ = try open()
      #expect(tracer.takeLines().contains { $0.hasPrefix("snapshotDropped: \(name): ") })
    }

    @Test("damage of the log is an event when the store is opened")
    func damage() throws {
      let store = try open()
      for number in 0..<20 { try store.library("papers").add("paper \(number)") }
      let stream = "\(Self.path)/replicas/\(store.replica)"
      try store.close()
      let segment = try #require(try files.entries(of: stream).first { $0.hasSuffix(".open") })
      var bytes = try files.contents(of: "\(stream)/\(segment)")
      bytes[600] ^= 1
      try files.replaceContents(of: "\(stream)/\(segment)", with: bytes)
      _ = tracer.takeLines()
      _ = try open()
      #expect(tracer.takeLines().contains { $0.hasPrefix("damage: ") })
    }

    @Test("a sync is a span, with what it moved and the conflicts that it opened")
    func sync() throws {
      let store = try open { $0.name = "phone" }
      let peer = try FavoritesStore.inMemory()
      for id in ["a", "b"] { try store.library("papers").add(id) }
      try peer.library("papers").add("c")
      _ = try StoreCarrier(peer).sync(store, options: SyncOptions())
      #expect(tracer.takeCounts(.sentCommits) == [2])
      #expect(tracer.takeCounts(.receivedCommits) == [1])
      #expect(tracer.takeCounts(.sentBytes).allSatisfy { $0 > 0 })
      #expect(tracer.takeCounts(.conflicts) == [])
      #expect(tracer.takeLines().filter { $0.hasSuffix(" sync") } == ["begin sync", "end sync"])
      try store.library("papers").remove("a")
      try peer.library("papers").set([Field(name: "note", value: .string("here"))], of: "b")
      try store.library("papers").set([Field(name: "note", value: .string("there"))], of: "b")
      _ = try StoreCarrier(peer).sync(store, options: SyncOptions())
      #expect(tracer.takeCounts(.conflicts) == [1])
    }
  }
#endif
