import HeartlogCrashModel
import HeartlogFiles
import Testing

@testable import Heartlog

@Suite("Erasing where there is no room")
struct ErasingRoomTests {
  private let test = TestStore()

  private func filled() throws -> FavoritesStore {
    let store = try test.open()
    let papers = try store.library("papers")
    for id in ["a", "b"] { try papers.add(id) }
    return store
  }

  @Test("on a full disk nothing is written, and with room everything is erased", arguments: [0, 20_000])
  func fullDisk(freeBytes: Int) throws {
    let store = try filled()
    let digest = store.digest
    test.files.setFreeBytes(freeBytes)
    for _ in 0..<2 {
      let error = #expect(throws: HeartlogError.self) { try store.erase("a", in: "papers") }
      #expect(error?.code == .diskFull && error?.message.contains("nothing was erased") == true)
    }
    #expect(store.digest == digest && store.read(\.erasingCommits).isEmpty)
    test.files.setFreeBytes(nil)
    #expect(try store.erase("a", in: "papers").eventCount == 1)
    #expect(try store.library("papers").item("a") == nil)
  }

  @Test(
    "an erasure that was written but not carried out is said to be that, and the next call reports it as its own"
  )
  func interrupted() throws {
    let store = try filled()
    // The first file that is replaced after the erasing commit.
    test.files.failNext(.createFile, code: 28)
    let error = #expect(throws: HeartlogError.self) { try store.erase("a", in: "papers") }
    #expect(error?.code == .diskFull && error?.message.contains("the erasure is written") == true)
    #expect(store.read(\.erasingCommits).count == 1)
    let report = try store.erase("a", in: "papers")
    #expect(report.eventCount == 1 && report.remainingItems.isEmpty)
    #expect(try store.library("papers").item("a") == nil)
    #expect(store.read(\.erasingCommits).count == 1, "it was not written twice")
    let again = #expect(throws: HeartlogError.self) { try store.erase("a", in: "papers") }
    #expect(again?.code == .notFound)
  }

  @Test("an interrupted erasure of events is reported by the next call, too")
  func interruptedEvents() throws {
    let store = try filled()
    let first = EventID(replica: store.replica, sequence: SequenceNumber(rawValue: 1))
    test.files.failNext(.createFile, code: 28)
    #expect(throws: HeartlogError.self) { try store.erase([first]) }
    #expect(try store.erase([first]).eventCount == 1)
  }
}
