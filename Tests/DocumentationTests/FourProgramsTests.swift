import Foundation
import Heartlog
import HeartlogTesting
import Synchronization
import Testing

#if !canImport(SwiftUI)
  struct Searchable<Content: View>: View {
    let body: Content
    let text: Binding<String>
  }

  extension View {
    func searchable(text: Binding<String>) -> Searchable<Self> { Searchable(body: self, text: text) }
  }
#endif

/// Heartlog's programs of docs/four-programs.md: the tests first, then the programs, line by line.
@Suite("Four small programs", .timeLimit(.minutes(5)))
struct FourProgramsTests {
  private nonisolated final class Reports: Sendable {
    private let lines = Mutex<[String]>([])

    var last: String? { lines.withLock(\.last) }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
  }

  @Test("a reading list shows the best books of a tag, and how many books each tag has")
  func readingList() throws {
    let list = try ReadingList(FavoritesStore.inMemory())
    try list.add(Book(id: "1", title: "Middlemarch", tags: ["novel", "english"]))
    try list.add(Book(id: "2", title: "Effi Briest", tags: ["novel"]))
    try list.add(Book(id: "3", title: "Walden", tags: ["essay", "english"]))
    try list.add(Book(id: "4", title: "Silas Marner", tags: ["novel", "english"]))
    try list.rate("2", 3)
    try list.rate("1", 5)
    #expect(try list.best(of: "novel").map(\.title) == ["Middlemarch", "Effi Briest", "Silas Marner"])
    #expect(list.counts() == ["novel": 3, "english": 3, "essay": 1])
  }

  @Test("a player writes a position seldom, keeps its queue in order, and continues where it was left")
  func player() throws {
    let store = try FavoritesStore.inMemory(clock: ManualClock())
    let player = try Player(store)
    for id in ["emma", "persuasion"] {
      try player.books.add(Audiobook(id: id, title: id))
      try player.queue.insert(id)
    }
    let commits = try store.status().commits
    for tick in 1...100 { try player.played("emma", to: Double(tick) / 4) }
    try player.pause()
    // One commit, and another one for each five seconds that this took.
    #expect(try store.status().commits < commits + 10)
    #expect(try player.next()?.position == 25)
    try player.queue.move("persuasion", to: 0)
    #expect(try player.next()?.id == "persuasion")
    try player.queue.remove("persuasion")
    #expect(try player.next()?.id == "emma")
  }

  private func stations() throws -> Favorites<Station> {
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self)
    try stations.add(contentsOf: ["Radio 10", "Antena", "Radio 9"].map { Station(id: $0, title: $0) })
    return stations
  }

  #if !canImport(SwiftUI)
    @MainActor
    private func rows(of view: StationList) throws -> [Button] {
      try #require(view.body as? Searchable<List<Button>>).body.rows
    }

    @Test("a list follows its search field, a tap on a row and a tap elsewhere")
    @MainActor
    func list() async throws {
      let stations = try stations()
      let view = StationList(stations)
      #expect(try rows(of: view).map(\.title) == ["♥ Antena", "♥ Radio 9", "♥ Radio 10"])
      try rows(of: view)[1].action()
      #expect(try rows(of: view).map(\.title) == ["♥ Antena", "♥ Radio 10"])
      try await stations.toggle(Station(id: "Jazz FM", title: "Jazz FM"))
      while try rows(of: view).count < 3 { await Task.yield() }
      #expect(try rows(of: view).map(\.title) == ["♥ Antena", "♥ Jazz FM", "♥ Radio 10"])
      let field = try #require(view.body as? Searchable<List<Button>>).text
      field.set("jazz")
      #expect(field.get() == "jazz")
      while try rows(of: view).count > 1 { await Task.yield() }
      #expect(try rows(of: view).map(\.title) == ["♥ Jazz FM"])
    }
  #endif

  @Test("a badge follows taps until the store is closed")
  func badge() async throws {
    let stations = try stations()
    let reports = Reports()
    try await withThrowingTaskGroup { group in
      group.addTask { await followCount(of: stations) { reports.append("\($0)") } }
      while reports.last != "3" { await Task.yield() }
      try await stations.remove("Antena")
      while reports.last != "2" { await Task.yield() }
      try stations.library.store.close()
      try await group.waitForAll()
    }
  }

  @Test("an app and its extension see each other's writes, also those from while the app was suspended")
  func appAndExtension() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let links = try ["https://swift.org", "https://sqlite.org", "https://kernel.org"].map {
      Link(id: try #require(URL(string: $0)), title: $0)
    }
    let app = try SharedLinks(in: folder, origin: "app")
    let share = try SharedLinks(in: folder, origin: "share")
    let reports = Reports()
    try await withThrowingTaskGroup { group in
      group.addTask { await app.follow { reports.append("\($0.count) \($1 ?? "-")") } }
      while reports.last != "0 -" { await Task.yield() }
      try await share.save(links[0])
      while reports.last != "1 share" { await Task.yield() }
      try await app.suspend()
      try await share.save(links[1])
      try await app.resume()
      while reports.last?.hasPrefix("2 ") != true { await Task.yield() }
      try await app.save(links[2])
      while reports.last != "3 app" { await Task.yield() }
      try app.store.close()
      try await group.waitForAll()
    }
    #expect(share.links.list().map(\.title) == links.reversed().map(\.title))
    try await share.suspend()
  }
}

// MARK: - The page

extension FourProgramsTests {
  private func lines(of path: String) throws -> [String] {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: package.appending(path: path), encoding: .utf8)
      .components(separatedBy: "\n")
  }

  private func isCode(_ line: String) -> Bool {
    let text = line.trimmingCharacters(in: .whitespaces)
    return !text.isEmpty && !text.hasPrefix("//") && !text.hasPrefix("import ")
  }

  @Test("the page has the programs as they are here, and counts the lines of all blocks")
  func page() throws {
    let page = try lines(of: "docs/four-programs.md")
    let source = try lines(of: "Tests/DocumentationTests/FourProgramsTests.swift")
    var counts: [Int] = []
    for begin in page.indices where page[begin] == "```swift" {
      let block = page[(begin + 1)...].prefix { $0 != "```" }
      counts.append(block.count(where: isCode))
      guard page[begin - 1] == "#### Heartlog" else { continue }
      let shown = block.map { $0.isEmpty ? "" : "  " + $0 }
      #expect(
        source.indices.contains { source[$0...].starts(with: shown) },
        "docs/four-programs.md:\(begin + 1): the example is not in this file")
    }
    let table = page.map { line in
      line.split(separator: "|").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
    }
    #expect(counts.count == 12 && table.filter { $0.count == 3 }.flatMap(\.self) == counts)
  }
}

// MARK: - The programs

extension FourProgramsTests {
  nonisolated struct Book: FavoriteItem {
    static let library = "books"

    let id: String
    let title: String
    var tags: [String] = []
    var rating: Int?
  }

  struct ReadingList {
    let books: Favorites<Book>

    init(_ store: FavoritesStore) throws { books = try store.favorites(of: Book.self) }

    func add(_ book: Book) throws { try books.add(book) }
    func rate(_ id: String, _ rating: Int) throws { try books.update(id) { $0.rating = rating } }

    func best(of tag: String) throws -> [Book] {
      try books.query.filter { $0.tags.contains(tag) }.sorted(by: \.rating, order: .reverse).items()
    }

    func counts() -> [String: Int] {
      books.list().flatMap(\.tags).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }

  nonisolated struct Audiobook: FavoriteItem {
    static let library = "audiobooks"

    let id: String
    let title: String
    var position = 0.0
  }

  struct Player {
    let store: FavoritesStore
    let books: Favorites<Audiobook>
    let queue: ItemCollection<Audiobook.ID>  // insert, move, remove

    init(_ store: FavoritesStore) throws {
      self.store = store
      books = try store.favorites(of: Audiobook.self)
      queue = try books.collection("queue")
    }

    func played(_ id: String, to position: Double) throws {
      try books.update(id, coalescing: .seconds(5)) { $0.position = position }
    }

    func pause() throws { try store.flush() }
    func next() throws -> Audiobook? { try books.query.collection("queue").first() }
  }

  nonisolated struct Station: FavoriteItem {
    static let library = "stations"

    let id: String
    let title: String
  }

  struct StationList: View {
    @FavoritesQuery private var stations: ItemList<Station>

    init(_ stations: Favorites<Station>) {
      _stations = FavoritesQuery(stations.query.sorted(by: \.title))
    }

    var body: some View {
      List(stations) { station in
        Button("♥ \(station.title)") { $stations.toggle(station) }
      }
      .searchable(text: $stations.searchText)
    }
  }

  func followCount(of stations: Favorites<Station>, show: (Int) -> Void) async {
    for await count in stations.query.counts { show(count) }
  }

  nonisolated struct Link: FavoriteItem {
    static let library = "links"

    let id: URL
    let title: String
  }

  struct SharedLinks {
    let store: FavoritesStore
    let links: Favorites<Link>

    init(in group: URL, origin: String) throws {
      store = try FavoritesStore(at: group.appending(path: "links"), options: StoreOptions(origin: origin))
      links = try store.favorites(of: Link.self)
    }

    func save(_ link: Link) async throws { try await links.add(link) }

    func follow(show: ([Link], _ origin: String?) -> Void) async {
      let changes = links.changes
      show(links.list(), nil)
      for await notice in changes {
        switch notice {
        case .change(let change): show(links.list(), change.origin)
        case .missed: show(links.list(), nil)
        }
      }
    }

    func suspend() async throws { try await store.suspend() }
    func resume() async throws { try await store.run { try $0.refresh() } }
  }
}
