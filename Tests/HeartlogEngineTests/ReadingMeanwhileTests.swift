import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import Synchronization
import Testing

@Suite("A store is read while another process changes it")
struct ReadingMeanwhileTests {
  /// Opens a store as often as looking for files takes calls; after one of them, each time another, `change` happens.
  private func open(
    after commits: Int, _ change: @escaping @Sendable (OpenStore) throws -> Void
  ) throws {
    var isDone = false
    var call = 0
    while !isDone {
      call += 1
      let (store, files) = try TestStore.inMemory()
      let writer = try store.open(TestStore.options(segmentBytesMax: 4_200))
      for index in 0..<commits { try writer.write(index) }
      let failure = Mutex<(any Error)?>(nil)
      let interrupted = InterruptedFiles(files, at: call) {
        do { try change(writer) } catch { failure.withLock { $0 = error } }
      }
      let reader = TestStore(files: interrupted, path: store.path)
      let open = try reader.open(TestStore.options(access: .readOnly))
      #expect(open.log.findings.isEmpty, "after call \(call)")
      let read = open.projection.commits
      #expect(read == Array(writer.projection.commits.prefix(read.count)) && read.count >= commits)
      try open.log.refresh()
      #expect(open.projection.commits == writer.projection.commits)
      #expect(failure.withLock { $0 } == nil)
      isDone = !interrupted.wasInterrupted
    }
    #expect(call > 5)
  }

  @Test("the first segments appear")
  func firstSegments() throws {
    try open(after: 0) { writer in for index in 0..<2 { try writer.write(index) } }
  }

  @Test("more segments appear")
  func moreSegments() throws {
    try open(after: 3) { writer in for index in 3..<6 { try writer.write(index, bytes: 200) } }
  }

  @Test("segments are sealed into one")
  func sealing() throws {
    try open(after: 4) { writer in _ = try writer.log.seal() }
  }
}
