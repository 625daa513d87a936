import Foundation
import Heartlog
import HeartlogInterchange
import HeartlogLibraries

extension App {
  /// An Internet Archive player: favorite archives, and one playlist of favorite files in the user's order.
  static func archives(_ store: FavoritesStore) throws -> App {
    let (archives, playlist) = (try FavoriteArchives(store), try FavoriteTracks(store))
    let answer = try Service.json("api/archives-item.json")
    let piano = try Archive.archives(answer: answer)[0]
    let shelf = Shelf(
      favorites: archives.favorites,
      offered: [piano] + (try Service.archives().filter { $0.identifier != piano.identifier }),
      text: { [$0.displayTitle, $0.displayCreator].compactMap { $0 }.joined(separator: " — ") },
      detail: { [$0.mediatype, $0.publisher, $0.desc].compactMap { $0 } }
    ) { archive in _ = try await archives.run { try $0.toggleFavoriteArchive(archive) } }
    let files = Shelf(
      favorites: playlist.favorites,
      offered: try (answer["files"]?.array ?? []).filter { $0["format"]?.string == "VBR MP3" }
        .map { try Track(file: $0, archiveIdentifier: piano.identifier) },
      text: { $0.title ?? $0.url.lastPathComponent }, detail: { _ in [] }
    ) { track in
      try await playlist.run { playlist in
        if try !playlist.removeFavoriteItem(url: track.url) { try playlist.appendFavoriteItem(track) }
      }
    }
    func tracks() -> [Row] {
      playlist.favoriteItems.enumerated().map { index, track in
        files.row(track).adding("move") { place in
          try await playlist.run { try $0.move(from: index, to: (Int(place) ?? 0) - 1) }
          return "Number \(place): \(files.text(track))"
        }
      }
    }
    return App(
      name: "archives",
      lists: [
        "catalog": shelf.offers, "favorites": shelf.favorites, "files": files.offers,
        "playlist": { tracks().matching($0) },
      ])
  }

  /// An arXiv reader: the latest papers, the favorites, a reading list in an order of its own, and a bibliography.
  static func papers(_ store: FavoritesStore) throws -> App {
    let papers = try FavoritePapers(store)
    let reading = try papers.favorites.library.collection("to read")
    let shelf = Shelf(
      favorites: papers.favorites,
      offered: try Paper.papers(atom: Service.bytes("api/papers-feed-10.atom.xml")), text: \.title,
      detail: { [$0.authors.joined(separator: ", "), $0.categories.joined(separator: " "), $0.summary] }
    ) { paper in _ = try await papers.run { try $0.toggleFavorite(for: paper) } }
    // A paper on the list need not be a favorite. The store keeps its title, so that another device can show the list.
    func later(_ paper: Paper) async throws -> String {
      try await papers.run { papers in
        if try reading.remove(paper.id) { return "Read: \(paper.title)" }
        try papers.store.write {
          try papers.favorites.update(paper)
          try reading.insert(paper.id, at: 0)
        }
        return "To read next: \(paper.title)"
      }
    }
    return App(
      name: "papers",
      lists: [
        "latest": { text in
          shelf.offered.map { paper in shelf.row(paper).adding("later") { _ in try await later(paper) } }
            .matching(text)
        },
        "favorites": shelf.favorites,
        "reading": { text in
          try papers.favorites.query.collection(reading.name).items().map { paper in
            shelf.row(paper).adding("later") { _ in try await later(paper) }
          }.matching(text)
        },
        "bibliography": { text in
          let file = try papers.favorites.exportFile(format: FileFormats.bibTeX)
          return String(decoding: file, as: UTF8.self).split(separator: "\n").map { Row(text: String($0)) }
            .matching(text)
        },
      ])
  }

  /// Smart City: a catalog of a service merged with the favorites of the store, with a search by prefix that is remembered.
  static func cities(_ store: FavoritesStore) throws -> App {
    let repository = try DefaultFavoriteCityRepository(store)
    let cities = InMemoryCityRepository()
    let merge = DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities)
    let toggle = DefaultToggleFavCityUseCase(repository: repository, cities: cities)
    let searches = try RecentSearchTerms(store)
    let catalog = try City.catalog(Service.bytes("api/cities-catalog.json"))
    let shelf = Shelf(
      favorites: repository.favorites, offered: catalog, text: { "\($0.flagEmoji) \($0.name)" },
      detail: { ["\($0.country)  latitude \($0.lat), longitude \($0.lon)"] }
    ) { city in _ = try await store.run { _ in try toggle.execute(city) } }
    func load(_ catalog: [City]) throws -> String {
      cities.load(catalog)
      let report = try merge.execute()
      return "\(catalog.count) cities received; \(report.favoriteCount) favorites, of which "
        + "\(report.refreshedCount) updated and \(report.orphans.count) not listed"
    }
    _ = try load(catalog)
    return App(
      name: "cities",
      lists: [
        "catalog": { prefix in
          try searches.record(prefix)
          return cities.search(prefix: prefix).map { shelf.row($0) }
        },
        "favorites": shelf.favorites,
        "unlisted": { text in
          try merge.execute().orphans.map { shelf.row($0) }.matching(text)
        },
        "searches": { text in searches.terms.map { Row(text: $0) }.matching(text) },
      ],
      commands: [
        // A later catalog of the service, in which Porto has another name, and Tōkyō is missing.
        "refresh": { _ in
          let (porto, tokyo) = (2_735_943, 1_850_147)
          return try load(
            catalog.filter { $0.id != tokyo }.map { city in
              var city = city
              if city.id == porto { city.name = "Oporto" }
              return city
            })
        }
      ])
  }

  /// A dog-breed browser: the breeds, their pictures, and the liked pictures.
  static func breeds(_ store: FavoritesStore) throws -> App {
    let manager = try FavoritesManager(store)
    let breeds = try BreedImage.breeds(answer: Service.json("api/breeds-list-all.json"))
    let shelf = Shelf(
      favorites: manager.favorites,
      offered: try BreedImage.images(answer: Service.json("api/breeds-images.json")),
      text: { "\($0.breed ?? "?")  \($0.url.lastPathComponent)" }, detail: { _ in [] }
    ) { image in _ = try await manager.run { try $0.toggle(image) } }
    return App(
      name: "breeds",
      lists: [
        "breeds": { text in
          let liked = try manager.fetchFavorites()
          return breeds.map { breed in
            let count = liked.count { $0.breed == breed }
            return Row(text: breed, trailing: count > 0 ? "♥ \(count)" : "")
          }.matching(text)
        },
        "pictures": shelf.offers, "liked": shelf.favorites,
      ])
  }

  /// An audiobook player: the books, the current one with its chapters and its position, and the settings.
  static func books(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws -> App {
    let library = try BookLibrary(store)
    let shelf = Shelf(
      favorites: library.books,
      offered: try (Service.json("api/books-librivox.json")["books"]?.array ?? []).map {
        try Book(libriVox: $0, dateAdded: Date(milliseconds: clock()))
      }, text: { [$0.title, $0.author].compactMap { $0 }.joined(separator: " — ") },
      detail: { [($0.fileURL ?? $0.downloadURL)?.absoluteString ?? "not on this device"] }
    ) { book in
      try await library.run { library in
        guard try library.deleteBook(book.id) == nil else { return }
        var book = book
        book.dateAdded = Date(milliseconds: clock())
        try library.addBooks([book])
      }
    }
    /// Plays some seconds of a book. A player reports its position many times a second; the library writes it every five
    /// seconds, and at the end.
    func play(_ book: Book, _ seconds: Int, from start: Double) async throws -> String {
      try await library.run { library in
        try library.saveCurrentBookID(book.id)
        for tick in 0...seconds * 4 {
          try library.savePosition(for: book.id, position: start + Double(tick) / 4)
        }
        try library.flush()
      }
      return "\(book.title) at \(library.loadPosition(for: book.id).time)"
    }
    func row(_ book: Book) -> Row {
      shelf.row(
        book, trailing: "\(book.rowStatus.rawValue), \(book.currentPosition.time) of \(book.duration.time)"
      )
      .adding("play") { seconds in
        try await play(book, Int(seconds) ?? 60, from: library.loadPosition(for: book.id))
      }
    }
    func chapters() throws -> [Row] {
      guard let id = library.loadCurrentBookID(), let book = try library.books.item(id) else { return [] }
      let chapters = book.chapters(library.loadSettings())
      let current = chapters.index(at: library.loadPosition(for: id))
      return chapters.enumerated().map { index, chapter in
        Row(text: "\(index == current ? "♪" : " ") \(chapter.title)", trailing: chapter.startTime.time)
          .adding("play") { try await play(book, Int($0) ?? 60, from: chapter.startTime) }
      }
    }
    return App(
      name: "books",
      lists: [
        "librivox": shelf.offers, "favorites": { library.loadBooks().map(row).matching($0) },
        "chapters": { try chapters().matching($0) },
      ])
  }
}

extension Double {
  /// Seconds as h:mm:ss.
  fileprivate var time: String {
    let seconds = Int(self)
    func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
  }
}
