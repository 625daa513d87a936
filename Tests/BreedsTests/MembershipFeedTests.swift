import Heartlog
import Testing

@testable import HeartlogLibraries

@Suite("breeds: which images are liked, one change after the other")
struct MembershipFeedTests {
  @Test("what a subscriber has seen the outcome of, and what lost to a later write, is no change")
  func outdated() async throws {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("breeds")
    var changes = store.changes.makeAsyncIterator()
    for _ in 0..<3 { try library.toggle("a") }
    var early = [try #require(await changes.next()), try #require(await changes.next())]

    var feed = MembershipFeed(library)
    #expect(feed.favorites == ["a"])
    for notice in early { #expect(feed.take(notice) == nil) }
    try library.toggle("a")
    _ = await changes.next()
    let last = try #require(await changes.next())
    #expect(feed.take(last) == .one(id: "a", isFavorite: false) && feed.favorites == [])
    early.reverse()
    for notice in early { #expect(feed.take(notice) == nil) }
    #expect(feed.take(last) == nil)

    try library.toggle("b")
    #expect(feed.take(.missed) == .all && feed.favorites == ["b"])
  }
}
