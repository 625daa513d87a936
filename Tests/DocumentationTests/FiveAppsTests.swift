import Foundation
import Heartlog
import Testing

/// The examples of the article "Five apps, before and after": what each app has of its own stands first, then what keeps its favorites.
@Suite("Five apps, before and after")
struct FiveAppsTests {
  private let store: FavoritesStore

  init() throws { store = try FavoritesStore.inMemory() }

  @Test("archives")
  func archives() throws {
    let archives = try FavoriteArchives(store)
    let metaData = ArchiveMetaData(
      identifier: "gd77-05-08", archiveTitle: "Barton Hall", creator: ["Grateful Dead"])
    try archives.save(metaData)
    #expect(throws: PlayerError.alreadyOnFavoriteArchives) { try archives.save(metaData) }
    #expect(archives.isFavorite("gd77-05-08") && archives.all().map(\.archiveTitle) == ["Barton Hall"])
    try archives.remove("gd77-05-08")
    #expect(archives.all().isEmpty)
  }

  @Test("papers")
  func papers() throws {
    let papers = try FavoritePapers(store)
    var catalog = ["2403.01234v2", "2006.08594v1"].map { ArXivPaper(id: $0, title: "About \($0)") }
    try papers.toggleFavorite(for: &catalog[1])
    #expect(catalog[1].isFavorite && catalog[1].favoritedDate != nil)
    var fetched = catalog.map { ArXivPaper(id: $0.id, title: $0.title) }
    papers.synchronizeFavoriteState(for: &fetched)
    #expect(fetched == catalog && papers.all() == [catalog[1]])
    try papers.toggleFavorite(for: &fetched[1])
    #expect(papers.all().isEmpty && fetched[1].favoritedDate == nil)
  }

  @Test("cities")
  func cities() throws {
    let repository: any FavoriteCityRepository = try CityFavorites(store)
    let lisbon = City(id: 2_267_057, name: "Lisbon", country: "PT", coord: .init(lon: -9.13, lat: 38.72))
    repository.toggleFavorite(lisbon)
    #expect(repository.isFavorite(lisbon) && repository.favorites().map(\.name) == ["Lisbon"])
    repository.toggleFavorite(lisbon)
    #expect(repository.favorites().isEmpty)
  }

  @Test("breeds")
  func breeds() async throws {
    let manager = try BreedFavorites(store)
    var image = BreedDetails(url: URL(filePath: "/hound.jpg"), isFavorite: true)
    await manager.toggleLiking(image)
    let liked = await manager.fetchFavorites()
    #expect(liked == [image])
    var updates = manager.favoriteBreeds.makeAsyncIterator()
    let update = await updates.next()
    #expect(update.map { Array($0.items) } == [image])
    image.isFavorite = false
    await manager.toggleLiking(image)
    #expect(await manager.isLiked(image) == false)
  }

  @Test("books")
  func books() throws {
    let persistence = try BookPersistence(store)
    var book = Book(id: UUID(), title: "Emma", duration: 57_600, currentPosition: 0)
    try persistence.saveBooks([book], after: [])
    // Another device adds a book. This one does not know of it, and keeps it.
    let other = Book(id: UUID(), title: "Persuasion", duration: 30_000, currentPosition: 0)
    try persistence.books.add(other)
    book.currentPosition = 93.5
    try persistence.savePosition(for: book.id, position: 93.5)
    #expect(persistence.loadBooks() == [book, other] && persistence.loadPosition(for: book.id) == 93.5)
    try persistence.saveSettings(PlaybackSettings(playbackSpeed: 1.25, currentBookID: book.id))
    #expect(persistence.loadSettings() == PlaybackSettings(playbackSpeed: 1.25, currentBookID: book.id))
    try persistence.saveBooks([], after: [book])
    #expect(persistence.loadBooks() == [other])
  }
}

// MARK: - What the apps have

extension FiveAppsTests {
  nonisolated struct ArchiveMetaData: FavoriteItem {
    static let library = "archives"

    var id: String { identifier }
    let identifier: String
    var archiveTitle: String?
    var creator: [String] = []
  }

  enum PlayerError: Error { case alreadyOnFavoriteArchives }

  nonisolated struct ArXivPaper: FavoriteItem, Equatable {
    static let library = "papers"

    let id: String
    var title: String
    var isFavorite = false
    var favoritedDate: Date?
  }

  nonisolated struct City: FavoriteItem {
    struct Coordinate: Codable {
      let lon: Double
      let lat: Double
    }

    static let library = "cities"

    let id: Int
    let name: String
    let country: String
    let coord: Coordinate
  }

  protocol FavoriteCityRepository {
    func toggleFavorite(_ city: City)
    func isFavorite(_ city: City) -> Bool
    func favorites() -> [City]
  }

  nonisolated struct BreedDetails: FavoriteItem, Hashable {
    static let library = "breeds"

    var id: URL { url }
    let url: URL
    var isFavorite: Bool
  }

  protocol FavoritesManagerProtocol: Sendable {
    func toggleLiking(_ image: BreedDetails) async
    func isLiked(_ image: BreedDetails) async -> Bool
    func fetchFavorites() async -> Set<BreedDetails>
  }

  nonisolated struct Book: FavoriteItem, Equatable {
    static let library = "books"

    let id: UUID
    var title: String
    var duration: Double
    var currentPosition: Double
  }

  nonisolated struct PlaybackSettings: FavoriteItem, Equatable {
    static let library = "settings"

    var id: String { "playback" }
    var playbackSpeed = 1.0
    var currentBookID: UUID?
  }
}

// MARK: - What keeps their favorites

extension FiveAppsTests {
  struct FavoriteArchives {
    let favorites: Favorites<ArchiveMetaData>

    init(_ store: FavoritesStore) throws { favorites = try store.favorites(of: ArchiveMetaData.self) }

    func save(_ metaData: ArchiveMetaData) throws {
      guard try favorites.add(metaData) else { throw PlayerError.alreadyOnFavoriteArchives }
    }

    func remove(_ identifier: String) throws { try favorites.remove(identifier) }
    func isFavorite(_ identifier: String) -> Bool { favorites.contains(identifier) }
    func all() -> [ArchiveMetaData] { favorites.list() }
  }

  struct FavoritePapers {
    let favorites: Favorites<ArXivPaper>

    init(_ store: FavoritesStore) throws { favorites = try store.favorites(of: ArXivPaper.self) }

    func all() -> [ArXivPaper] { favorites.list() }

    func toggleFavorite(for paper: inout ArXivPaper) throws {
      try favorites.toggle(paper)
      synchronize(&paper)
    }

    func synchronizeFavoriteState(for papers: inout [ArXivPaper]) {
      for index in papers.indices { synchronize(&papers[index]) }
    }

    private func synchronize(_ paper: inout ArXivPaper) {
      paper.favoritedDate = favorites.favoritedDate(of: paper.id)
      paper.isFavorite = paper.favoritedDate != nil
    }
  }

  struct CityFavorites: FavoriteCityRepository {
    let cities: Favorites<City>

    init(_ store: FavoritesStore) throws { cities = try store.favorites(of: City.self) }

    func toggleFavorite(_ city: City) { _ = try? cities.toggle(city) }
    func isFavorite(_ city: City) -> Bool { cities.contains(city.id) }
    func favorites() -> [City] { cities.list() }
  }

  struct BreedFavorites: FavoritesManagerProtocol {
    let favorites: Favorites<BreedDetails>
    var favoriteBreeds: Favorites<BreedDetails>.Query.Updates { favorites.query.updates }

    init(_ store: FavoritesStore) throws { favorites = try store.favorites(of: BreedDetails.self) }

    func toggleLiking(_ image: BreedDetails) async {
      _ = try? await image.isFavorite ? favorites.add(image) : favorites.remove(image)
    }

    func isLiked(_ image: BreedDetails) async -> Bool { favorites.contains(image.id) }
    func fetchFavorites() async -> Set<BreedDetails> { Set(favorites.list()) }
  }

  struct BookPersistence {
    let store: FavoritesStore
    let books: Favorites<Book>
    let settings: Favorites<PlaybackSettings>

    init(_ store: FavoritesStore) throws {
      self.store = store
      books = try store.favorites(of: Book.self)
      settings = try store.favorites(of: PlaybackSettings.self)
    }

    func saveBooks(_ new: [Book], after old: [Book]) throws {
      try store.write {
        try books.remove(contentsOf: Set(old.map(\.id)).subtracting(new.map(\.id)))
        try books.add(contentsOf: new.filter { !old.contains($0) })
      }
    }

    func loadBooks() -> [Book] { books.list(order: .oldestFirst) }

    func savePosition(for id: Book.ID, position: Double) throws {
      try books.update(id) { $0.currentPosition = position }
    }

    func loadPosition(for id: Book.ID) -> Double { (try? books.item(id))??.currentPosition ?? 0 }
    func saveSettings(_ new: PlaybackSettings) throws { try settings.add(new) }
    func loadSettings() -> PlaybackSettings { settings.list().first ?? PlaybackSettings() }
  }
}
