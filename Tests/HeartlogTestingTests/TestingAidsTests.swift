import Foundation
import Heartlog
import HeartlogTesting
import Testing

@Suite("What embedders test with")
struct TestingAidsTests {
  @Test("two runs with one seed and one clock are the same to the event's id and date")
  func sameTwice() throws {
    func run() throws -> ([String], [Date?]) {
      let clock = ManualClock()
      let store = try FavoritesStore.inMemory(clock: clock)
      let library = try store.library("papers")
      var ids: [String] = []
      for id in ["a", "b"] {
        clock.advance(by: 1.5)
        let commit = try store.commit { try library.add(id) }.commit
        ids.append(try #require(commit).eventID(at: 0).description)
      }
      return (
        ids,
        library.favorites(order: .byID).map {
          Date(timeIntervalSince1970: Double($0.favoritedDate ?? 0) / 1_000)
        }
      )
    }
    let first = try run()
    let second = try run()
    #expect(first.0 == second.0 && first.1 == second.1)
    #expect(first.1 == [1.5, 3].map { Date(timeIntervalSince1970: 1_767_225_600 + $0) })
  }

  @Test("another seed is another device")
  func seeds() throws {
    let clock = ManualClock()
    let one = try FavoritesStore.inMemory(clock: clock)
    let two = try FavoritesStore.inMemory(clock: clock, seed: 2)
    #expect(one.replica != two.replica)
  }

  @Test("the clock stands still, moves both ways, and can be set")
  func clock() {
    let clock = ManualClock(start: Date(timeIntervalSince1970: 10))
    #expect(clock.now == Date(timeIntervalSince1970: 10))
    clock.advance(by: -2.5)
    #expect(clock.milliseconds == 7_500)
    clock.set(to: Date(timeIntervalSince1970: 3))
    #expect(clock.milliseconds == 3_000)
  }
}
