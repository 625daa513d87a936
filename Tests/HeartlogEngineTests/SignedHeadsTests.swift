import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("The heads of signed streams")
struct SignedHeadsTests {
  private static func options(seed: UInt64) -> StorageOptions {
    var options = TestStore.options(seed: seed)
    options.keys = .folder
    // A process that has to wait gives up, because the other one stands still.
    options.lockMillisecondsMax = 0
    return options
  }

  @Test("a head comes with what was signed of it, whenever another process writes and signs more")
  func writtenMeanwhile() throws {
    let signedMeanwhile = Monitor(0)
    /// - Returns: how many places there were.
    func run(meanwhileAtCall place: Int) throws -> Int {
      let (store, files) = try TestStore.inMemory()
      let writer = try store.open(Self.options(seed: 3))
      try writer.write(0)
      try writer.log.makeCheckpoint()
      let intercepted = InterceptedFiles(files)
      let reader = try TestStore(files: intercepted, path: store.path).open(Self.options(seed: 4))
      let count = intercepted.doAtCall(place) {
        do {
          try writer.write(1)
          try writer.log.makeCheckpoint()
          signedMeanwhile.withLock { $0 += 1 }
        } catch { #expect((error as? HeartlogError)?.code == .locked, "at \(place)") }
      }
      let heads = try reader.log.streamHeads()
      intercepted.change {
        $0.beforeOpen = { _ in }
        $0.afterUnlock = {}
      }
      #expect(heads.map { $0.checkpoint?.checkpoint.size } == heads.map(\.commit.rawValue), "at \(place)")
      return count.withLock(\.self)
    }
    let called = try run(meanwhileAtCall: 0)
    #expect(called > 0)
    for place in 1...max(1, called) { _ = try run(meanwhileAtCall: place) }
    #expect(signedMeanwhile.withLock(\.self) > 0)
  }
}
