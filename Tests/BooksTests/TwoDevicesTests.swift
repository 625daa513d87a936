import Foundation
import Heartlog
import HeartlogLibraries
import HeartlogSync
import LibraryTestSupport
import Testing

@Suite("books: two devices that sync")
struct TwoDevicesTests {
  private let phone: BookShelf
  private let tablet: BookShelf

  init() throws {
    phone = try BookShelf()
    tablet = try BookShelf()
  }

  private func sync() throws {
    _ = try StoreCarrier(tablet.store).sync(phone.store, options: SyncOptions())
  }

  @Test("each setting merges on its own")
  func settings() throws {
    var mine = phone.library.loadSettings()
    var theirs = tablet.library.loadSettings()
    mine.skipForwardInterval = 15
    mine.playbackSpeed = 1.25
    try phone.library.saveSettings(mine)
    tablet.clock.advance(seconds: 1)
    theirs.playbackSpeed = 2
    try tablet.library.saveSettings(theirs)
    try sync()
    #expect(phone.store.digest == tablet.store.digest)
    for library in [phone.library, tablet.library] {
      let merged = library.loadSettings()
      // Of two writes of one setting, the later one.
      #expect(merged.playbackSpeed == 2 && merged.skipForwardInterval == 15)
    }
  }

  @Test("a stale array takes nothing away that came by a sync, and brings nothing back")
  func staleArrays() throws {
    try phone.library.saveBooks([book(1), book(2), book(3)])
    try sync()
    var mine = phone.library.loadBooks()
    var theirs = tablet.library.loadBooks()
    theirs.removeFirst()
    theirs[0].title = "Theirs"
    tablet.clock.advance(seconds: 1)
    try tablet.library.saveBooks(theirs + [book(4)])
    mine[0].author = "Nobody"
    mine[1].author = "Somebody"
    mine[2].title = "Mine"
    mine.append(book(5))
    try phone.library.saveBooks(mine)
    try sync()
    // The array is from before the sync, and is saved once more.
    try phone.library.saveBooks(mine)
    try sync()
    #expect(phone.store.digest == tablet.store.digest)
    let titles = ["Theirs", "Mine", "Book 4", "Book 5"]
    #expect(phone.library.loadBooks().map(\.title).sorted() == titles.sorted())
    #expect(phone.library.loadBooks().map(\.author) == ["Somebody", nil, nil, nil])
    #expect(tablet.library.loadBooks().map(\.id) == phone.library.loadBooks().map(\.id))
  }
}
