import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("The lock's page")
struct StoreLockTests {
  @Test("whoever reads it while it changes sees it as it was or as it became, or learns nothing of the tail")
  func consistent() throws {
    let (store, files) = try TestStore.inMemory()
    let directory = StoreDirectory(fileSystem: files, path: store.path)
    let reader = try StoreLock(directory)
    let intercepted = InterceptedFiles(files)
    let writer = try StoreLock(StoreDirectory(fileSystem: intercepted, path: store.path))
    func fill(_ page: inout StoreLock.Page, with number: UInt64) {
      page.structure = number
      page.replica = ReplicaID(high: number, low: number)
      page.segment = SegmentID(words: (number, number))
      page.firstCommit = number
      page.writtenBytes = 2 * number
      page.durableBytes = number
    }
    writer.update { fill(&$0, with: 1) }
    let before = reader.page()
    let seen = Monitor<[StoreLock.Page]>([])
    intercepted.change { $0.afterStore = { seen.withLock { $0.append(reader.page()) } } }
    writer.update { fill(&$0, with: 2) }
    let after = reader.page()
    #expect(before.firstCommit == 1 && after.firstCommit == 2 && after.writtenBytes == 4)
    let pages = seen.withLock { $0 }
    #expect(pages.count > 8)
    for page in pages where page != before && page != after {
      #expect(page == StoreLock.Page(generation: page.generation, structure: page.structure))
    }

    seen.withLock { $0 = [] }
    writer.raise(writtenBytes: 6)
    let raised = reader.page()
    #expect(raised.writtenBytes == 6 && raised.generation == after.generation + 1)
    for page in seen.withLock({ $0 }) where page != after && page != raised {
      #expect(page == StoreLock.Page(generation: page.generation, structure: page.structure))
    }
  }

  @Test(
    "what a writer left that died while it changed it says nothing of the tail, whatever the next one changes"
  )
  func halfChanged() throws {
    let (store, files) = try TestStore.inMemory()
    let directory = StoreDirectory(fileSystem: files, path: store.path)
    let lock = try StoreLock(directory)
    let changes: [(StoreLock) -> Void] = [
      { $0.touch() }, { $0.raise(durableBytes: 5) }, { $0.update { _ in } },
    ]
    for change in changes {
      lock.update {
        $0.firstCommit = 1
        $0.durableBytes = 4_280
      }
      let file = try files.openLock(directory.lockPath)
      file.store(file.load(0) | 1, 0)
      file.store(3, 6)
      change(lock)
      #expect(lock.page().firstCommit == 0 && lock.page().durableBytes != 4_280)
    }
  }
}
