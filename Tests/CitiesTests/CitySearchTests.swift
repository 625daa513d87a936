import HeartlogLibraries
import LibraryTestSupport
import TestSupport
import Testing

@Suite("cities: order, grouping and search")
struct CitySearchTests {
  private let cities = InMemoryCityRepository(SmartCity.catalog)

  @Test("the catalog is sorted by name, then country, then id")
  func order() {
    #expect(cities.cities.map(\.id) == [6, 2, 7, 1, 3, 4, 5])
    #expect(SmartCity.catalog.sortedAsCatalog().map(\.id) == [6, 2, 7, 1, 3, 4, 5])
  }

  @Test("names are in the order of their UTF-8 bytes, and so are countries")
  func bytes() {
    let names = ["", "Z", "a", "Å", "Åb", "A\u{30A}", "Zz", "longer than eight a", "longer than eight"]
    let sorted = names.enumerated().map { city($0, $1) }.sortedAsCatalog().map { Array($0.name.utf8) }
    #expect(sorted == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    let countries = ["b", "B", "", "é", "z"].enumerated().map { city($0, "same", $1) }.sortedAsCatalog()
    #expect(countries.map(\.country) == ["", "B", "b", "z", "é"])
    #expect([city(-1, "a"), city(10, "a"), city(9, "a")].sortedAsCatalog().map(\.id) == [-1, 9, 10])
  }

  @Test("grouping: countries ascending, names ascending inside")
  func grouping() {
    let groups = cities.cities.groupedByCountry()
    #expect(groups.map(\.country) == ["AU", "US"])
    #expect(
      groups.map { $0.cities.map(\.name) } == [
        ["Alabama", "Sydney"], ["Alabama", "Alabama", "Albuquerque", "Anaheim", "Arizona"],
      ])
    #expect(cities.search(prefix: "s").groupedByCountry().map(\.country) == ["AU"])
    #expect(InMemoryCityRepository().cities.groupedByCountry().isEmpty)
  }

  @Test("prefix search is case-insensitive", arguments: ["al", "AL", "aL", "Al"])
  func caseInsensitive(query: String) {
    #expect(cities.search(prefix: query).map(\.id) == [6, 2, 7, 1])
  }

  @Test("diacritics are significant in prefix search")
  func diacritics() {
    let cities = InMemoryCityRepository(
      ["Élan", "Elan", "E\u{301}tude", "Muḩāfaz̧at", "Muḩāfazat", "İzmir", "Izmir", "ÅS", "as"].enumerated()
        .map { city($0, $1) })
    func found(_ query: String) -> Set<Int> { Set(cities.search(prefix: query).map(\.id)) }
    #expect(found("e") == [1] && found("É") == [0, 2] && found("é") == [0, 2])
    // However the accents were typed.
    #expect(found("e\u{301}") == [0, 2] && found("E\u{301}T") == [2])
    #expect(found("muḩāfaz") == [4] && found("muḩāfaz̧") == [3] && found("muh").isEmpty)
    #expect(found("i") == [6] && found("İ") == [5])
    #expect(found("å") == [7] && found("a\u{30A}s") == [7] && found("A") == [8])
  }

  @Test(
    "an empty query is all, and so is one of white space alone",
    arguments: ["", " ", "\n", "\t \u{A0}\u{3000}\r\n"])
  func emptyQuery(query: String) {
    #expect(cities.search(prefix: query).count == 7)
    #expect(cities.search(prefix: query, favoritesOnly: true).isEmpty)
  }

  @Test("all white space at the ends of a query is trimmed, not line feeds only")
  func trimming() {
    for query in [" syd", "syd ", "\tsyd\n", "\u{A0}syd\u{2003}", "\r\n syd \r\n"] {
      #expect(cities.search(prefix: query).map(\.id) == [5])
    }
    let spaced = InMemoryCityRepository([city(1, "New York"), city(2, "Newark")])
    #expect(spaced.search(prefix: "new y").map(\.id) == [1] && spaced.search(prefix: "new ").count == 2)
  }

  @Test("the favorites-only filter leaves out the others")
  func favoritesOnly() {
    cities.toggleFavorite(for: city(7, ""))
    cities.toggleFavorite(for: city(5, ""))
    #expect(cities.search(prefix: "al", favoritesOnly: true).map(\.id) == [7])
    #expect(cities.search(prefix: "", favoritesOnly: true).map(\.id) == [7, 5])
    #expect(cities.search(prefix: "q", favoritesOnly: true).isEmpty)
  }

  @Test("the index finds what a loop over the names finds", arguments: 1...20)
  func againstTheLoop(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let letters = [
      "a", "A", "b", "é", "e", "e\u{301}", "z\u{327}", " ", "ß", "I", "İ", "한", "ㅎ", "\u{1112}\u{1161}",
    ]
    func word(_ count: Int) -> String {
      (0..<count).map { _ in letters[Int(random.next() % UInt64(letters.count))] }.joined()
    }
    let list = (0..<400).map { city($0, word(Int(random.next() % 5))) }.sortedAsCatalog()
    let cities = InMemoryCityRepository(list)
    for length in 0..<3 {
      for _ in 0..<30 {
        let query = word(length)
        let key = String(query.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
          .lowercased()
        let expected = list.filter { key.isEmpty || $0.name.lowercased().starts(with: key) }
        #expect(Array(cities.search(prefix: query)) == expected, "seed \(seed), query \(query)")
      }
    }
  }

  @Test("the real list: sorted, grouped and searched as the loops do it", .needsRealData)
  func realList() throws {
    let all = try RealCities.all.get()
    let cities = InMemoryCityRepository(all)
    let list = Array(cities.cities)
    #expect(zip(list, list.dropFirst()).allSatisfy { $0.precedes($1) })
    // Cities that share name and country are in the order of their ids.
    var pairs: [String: [Int]] = [:]
    for city in list { pairs["\(city.name)\u{0}\(city.country)", default: []].append(city.id) }
    let shared = pairs.values.filter { $0.count > 1 }
    #expect(shared.count == 32_118 && shared.allSatisfy { $0 == $0.sorted() })

    let groups = cities.cities.groupedByCountry()
    #expect(groups.reduce(0) { $0 + $1.cities.count } == all.count && groups.count == 247)
    #expect(
      groups.map(\.country) == groups.map(\.country).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    for group in groups {
      #expect(group.cities.allSatisfy { $0.country == group.country })
      #expect(zip(group.cities, group.cities.dropFirst()).allSatisfy { $0.precedes($1) })
    }
    let folded = list.map { $0.name.lowercased() }
    for query in ["s", "sa", "san", "É", "mu", "muḩāfaz", "zürich", "xqz"] {
      let key = query.lowercased()
      let expected = list.indices.filter { folded[$0].starts(with: key) }.map { list[$0].id }
      #expect(cities.search(prefix: query).map(\.id) == expected, "\(query)")
    }
  }
}
