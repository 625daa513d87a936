import Foundation
import Heartlog
import HeartlogLibraries
import Testing

@Suite("typed libraries")
struct TypedLibraryTests {
  @Test("each has its writes for tasks")
  func asynchronous() async throws {
    let store = try FavoritesStore.inMemory()
    let url = try #require(URL(string: "https://a/b.mp3"))
    let date = Date(timeIntervalSince1970: 0)
    let paper = Paper(id: "1v1", title: "T", publishedDate: date, pdfURL: url, linkURL: url)
    let book = Book(id: UUID(), title: "B", fileURL: url, dateAdded: date)
    try await FavoriteTracks(store).run { try $0.appendFavoriteItem(Track(url: url)) }
    try await FavoritePapers(store).run { try $0.toggleFavorite(for: paper) }
    try await FavoritesManager(store).run { try $0.toggle(BreedImage(url: url)) }
    try await DefaultFavoriteCityRepository(store).run {
      try $0.toggleFavorite(for: City(id: 1, name: "A", country: "PT", lon: 0, lat: 0))
    }
    try await BookLibrary(store).run { try $0.addBooks([book]) }
    #expect(store.read(\.commitCount) == 5)
  }
}
