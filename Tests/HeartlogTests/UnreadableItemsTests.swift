import Synchronization
import Testing

@testable import Heartlog

/// Items of several versions of an app.
@Suite("What a version of an app cannot read")
struct UnreadableItemsTests {
  struct First: Codable, Identifiable, Sendable, Equatable {
    let id: String
    var title: String
  }

  struct Second: FavoriteItem, Equatable {
    enum Course: String, Codable { case main, dessert }
    struct Oven: Codable, Equatable { var degrees: Int }

    static let library = "recipes"
    static var template: Self? {
      Second(id: "nobody", title: "no title", minutes: 90, tags: ["new"], oven: Oven(degrees: 180))
    }

    let id: String
    var title: String
    var rating = 3
    var course = Course.main
    var minutes: Int?
    var tags: [String]
    var oven: Oven
  }

  struct Untold: Codable, Identifiable, Sendable {
    let id: String
    var title: String
    var rating: Int = 3
  }

  let store: FavoritesStore

  init() throws { store = try FavoritesStore.inMemory() }

  private func add(_ fields: [String: FieldValue], _ id: String, at date: Milliseconds? = nil) throws {
    try store.library("recipes").add(
      id, fields: fields.map { Field(name: $0.key, value: $0.value) }, favoritedDate: date)
  }

  @Test("what an older item lacks is the template's, but for what is optional")
  func template() throws {
    try store.favorites(of: First.self, in: "recipes").add(First(id: "a", title: "A"))
    try add([:], "b")
    let items = try store.favorites(of: Second.self).list(order: .byID)
    #expect(
      items == [
        Second(id: "a", title: "A", tags: ["new"], oven: .init(degrees: 180)),
        Second(id: "b", title: "no title", tags: ["new"], oven: .init(degrees: 180)),
      ])
    // By its type, however the library was asked for; and what is there is never replaced.
    try add(["rating": .int64(5), "oven": .json(try CanonicalJSON(canonical: #"{"degrees":90}"#))], "c")
    let item = try store.favorites(of: Second.self, in: "recipes").item("c")
    #expect(item?.rating == 5 && item?.oven.degrees == 90 && item?.minutes == nil)
    #expect(try store.library("recipes").item("a")?.fields.count == 1)
  }

  @Test("a template that cannot be stored is refused where it would be used")
  func badTemplate() throws {
    struct Bad: FavoriteItem {
      static let library = "bad"
      static var template: Self? { Bad(id: "", size: .nan) }
      let id: String
      var size: Double
    }
    let error = #expect(throws: HeartlogError.self) { try store.favorites(of: Bad.self) }
    #expect(error?.code == .invalidItem && error?.description.contains("size") == true)
  }

  @Test("what cannot be read is named by the favorites and by the model, and counts as what it is")
  @MainActor
  func failures() throws {
    try add(["title": .string("old")], "old")
    try add(["title": .string("new"), "course": .string("snack"), "rating": .int64(1)], "new")
    try add(["title": .int64(7), "rating": .int64(1)], "changed")
    let untold = try store.favorites(of: Untold.self, in: "recipes")
    #expect(untold.count == 3 && untold.list().map(\.id) == ["new"])
    #expect(untold.failures.map(\.id).sorted() == ["changed", "old"])
    #expect(untold.failures.allSatisfy { $0.error.code == .invalidItem })
    let model = FavoritesModel(try store.favorites(of: Second.self))
    #expect(model.items.map(\.id) == ["old"])
    #expect(model.failures.map(\.id).sorted() == ["changed", "new"])
    #expect(model.failures.contains { $0.error.description.contains("course") })
  }

  @Test("a page is full as long as there are readable items", arguments: ListOrder.allCases)
  func pages(order: ListOrder) throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      let store = try FavoritesStore.inMemory()
      let library = try store.library("recipes")
      for number in 0..<Int.random(in: 0...40, using: &generator) {
        let isBad = Bool.random(using: &generator)
        try library.add(
          "\(number)", fields: [Field(name: "title", value: isBad ? .int64(1) : .string("t"))],
          favoritedDate: Int64.random(in: 0..<1_000, using: &generator))
      }
      let recipes = try store.favorites(of: First.self, in: "recipes")
      let all = recipes.list(order: order)
      for limit in [-1, 0, 1, 2, 5, 17, 100, .max] {
        #expect(recipes.list(order: order, limit: limit) == Array(all.prefix(max(0, limit))))
      }
      for limit in 1..<5 {
        let page = recipes.page(order: order, limit: limit)
        #expect(page.failures.count + page.items.count <= recipes.count)
        if page.items.count < limit { #expect(page.failures.count == recipes.failures.count) }
      }
    }
  }

  /// Counts how often it is decoded.
  private struct Counted: Codable, Identifiable, Sendable {
    @TaskLocal static var count: Counter?

    final class Counter: Sendable {
      let value = Atomic<Int>(0)
    }

    let id: String
    let title: String

    init(from decoder: any Decoder) throws {
      Self.count?.value.add(1, ordering: .relaxed)
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(String.self, forKey: .id)
      title = try container.decode(String.self, forKey: .title)
    }
  }

  @Test("no more is decoded than a page takes, and nothing twice")
  func decodedOnce() throws {
    for number in 0..<100 {
      // Bad ones from the third to the thirtieth.
      let title: FieldValue = (2..<30).contains(number) ? .int64(0) : .string("t")
      try add(["title": title], "\(number)", at: Int64(number))
    }
    let recipes = try store.favorites(of: Counted.self, in: "recipes")
    for (limit, decoded) in [(1, 1), (2, 2), (3, 31), (5, 33), (72, 100), (90, 100)] {
      let counter = Counted.Counter()
      let count = Counted.$count.withValue(counter) { recipes.list(order: .oldestFirst, limit: limit).count }
      #expect(count == min(limit, 72))
      #expect(counter.value.load(ordering: .relaxed) == decoded, "of a page of \(limit)")
    }
  }

  #if DEBUG
    @Test("a debug build tells once of a library, a type and a field what lists leave out")
    func warnings() throws {
      let told = Told()
      try DebugWarnings.$current.withValue(DebugWarnings(printing: { told.take($0) })) {
        try add(["title": .string("a")], "a", at: 1)
        try add(["title": .string("b")], "b", at: 2)
        let recipes = try store.favorites(of: Untold.self, in: "recipes")
        #expect(recipes.list().isEmpty && recipes.list().isEmpty)
        #expect(told.lines.count == 1)
        #expect(
          told.lines.first?.contains(
            #"recipes leave out b, which is not a valid Untold: field "rating": it is missing."#) == true)
        #expect(told.lines.first?.contains("FavoriteItem.template") == true)
        // It throws, so that nothing needs to be told.
        #expect(throws: HeartlogError.self) { try recipes.item("a") }
        try add(["title": .int64(1), "rating": .int64(1)], "c")
        #expect(try recipes.query.search("").items().isEmpty)
        #expect(told.lines.count == 2 && told.lines.last?.contains("title") == true)
        #expect(try store.favorites(of: Second.self).list().count == 2)
        #expect(told.lines.count == 3)
      }
    }

    private final class Told: Sendable {
      private let all = Mutex<[String]>([])
      var lines: [String] { all.withLock { $0 } }
      func take(_ line: String) { all.withLock { $0.append(line) } }
    }
  #endif
}
