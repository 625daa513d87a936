import HeartlogCrashModel
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog

@Suite("Crashes while events are erased")
struct ErasingCrashTests {
  private static func open(_ files: MemoryFileSystem) throws -> FavoritesStore {
    var options = StoreOptions()
    options.snapshots = .manual
    return try FavoritesStore(at: "/store", on: files, options: options)
  }

  @Test("after each, nothing else is lost, and the next erasure leaves nothing of what was erased")
  func crash() throws {
    let files = MemoryFileSystem(root: "/", recording: true)
    let store = try Self.open(files)
    let papers = try store.library("papers")
    for number in 0..<3 { try papers.add("kept-\(number)") }
    try papers.add("regretted")
    try store.seal()
    try papers.set([Field(name: "@note", value: .string("regretted words"))], of: "regretted")
    try papers.add("kept-3")
    // Some of it is in another device's stream.
    let other = try Self.open(MemoryFileSystem(root: "/", recording: true))
    try other.library("papers").set(
      [Field(name: "title", value: .string("regretted title"))], of: "regretted")
    let head = try #require(try other.streamHeads().first)
    _ = try store.receive(try #require(try other.streamRun(of: head.replica, after: 0, upTo: head.commit)))
    try store.snapshot()
    _ = try store.makeCheckpoint()
    let kept = papers.favorites().map(\.id).filter { $0 != "regretted" }.sorted()
    files.startJournal()
    try store.erase("regretted", in: "papers")
    let end = files.crashPoints
    #expect(end > 10)
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 10, seed: 3) {
        let again = try Self.open(state)
        #expect(
          try again.library("papers").favorites().map(\.id).filter { $0 != "regretted" }.sorted() == kept)
        // The commit that erases may have been written or not.
        _ = try? again.erase("regretted", in: "papers")
        try again.applyErasures()
        let verified = try FavoritesStore.verify(at: "/store", on: state, progress: nil)
        let traces = try ErasingTests.traces(of: "regretted", in: state, under: "/store")
        let names = try state.entries(of: "/store").filter { $0.contains(".tmp-") }
        let problem =
          verified.streams.contains { $0.finding != nil } ? "damaged" : traces.first ?? names.first
        #expect(problem == nil, "after \(point) of \(end) operations")
        #expect(try again.library("papers").favorites().map(\.id).sorted() == kept)
        if problem != nil { return }
      }
    }
  }
}
