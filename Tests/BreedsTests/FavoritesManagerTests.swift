import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("breeds: the favorites manager")
struct FavoritesManagerTests {
  private let clock = ManualClock()
  private let store: FavoritesStore
  private let manager: FavoritesManager

  init() throws {
    store = try .inMemory(options: clock.options)
    manager = try FavoritesManager(store)
  }

  static func image(_ name: String, isFavorite: Bool = false) throws -> BreedImage {
    BreedImage(
      url: try #require(URL(string: "https://images.dog.ceo/breeds/\(name).jpg")), isFavorite: isFavorite)
  }

  private func flags(_ images: [BreedImage]) -> [Bool] { images.map(\.isFavorite) }

  // MARK: - Flows of the document

  @Test("breeds flow: open details, images and favorites merged")
  func detailsFlow() async throws {
    try manager.toggleLiking(Self.image("akita/2", isFavorite: true))
    let details = try await BreedDetailsUseCase(manager) { breed in
      // WebService: GET /api/breed/akita/images
      try ["1", "2", "3"].map { try Self.image("\(breed)/\($0)") }
    }.getBreedDetails("akita")
    #expect(flags(details) == [false, true, false])
    #expect(details.map(\.breed) == ["akita", "akita", "akita"])
  }

  @Test("breeds flow: details of real images", .needsRealData, arguments: ["akita", "borzoi"])
  func realDetails(breed: String) async throws {
    let images = try BreedImage.images(answer: RealData.json("breeds/images-\(breed).json"))
    for image in images.prefix(3) { try manager.toggle(image) }
    let details = try await BreedDetailsUseCase(manager) { _ in images }.getBreedDetails(breed)
    #expect(details == images && flags(details) == images.indices.map { $0 < 3 })
    #expect(try manager.fetchFavorites() == Set(images.prefix(3)))
  }

  @Test("breeds flow: a tap on the heart is stored, and published to every subscriber")
  func tapFlow() async throws {
    var everyone = [manager.favoriteBreedsPublisher, manager.favoriteBreedsPublisher].map {
      $0.makeAsyncIterator()
    }
    for index in everyone.indices { #expect(await everyone[index].next() == []) }
    // The view flips first, then hands its image over.
    var image = try Self.image("akita/1")
    image.isFavorite.toggle()
    try manager.toggleLiking(image)
    for index in everyone.indices {
      let published = await everyone[index].next()
      #expect(published == [image] && published?.first?.isFavorite == true)
    }
  }

  @Test("breeds flow: favorites are there when the app is opened again")
  func reopenFlow() async throws {
    try await withStoreFolder { folder in
      let before = try FavoritesStore(at: folder)
      try FavoritesManager(before).toggleLiking(Self.image("akita/1", isFavorite: true))
      try before.close()
      let manager = try FavoritesManager(FavoritesStore(at: folder))
      let favorites = try manager.fetchFavorites()
      #expect(favorites == [try Self.image("akita/1")] && favorites.first?.isFavorite == true)
      var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
      #expect(await publisher.next() == favorites)
    }
  }

  // MARK: - Lines of the page

  @Test("breeds keep: toggleLiking sets by the flag passed, on is present, off is absent")
  func toggleLiking() throws {
    let on = try Self.image("akita/1", isFavorite: true)
    let off = try Self.image("akita/1")
    #expect(try manager.toggleLiking(on) && manager.isLiked(off))
    #expect(try manager.toggleLiking(off) && !manager.isLiked(on))
    #expect(try manager.fetchFavorites() == [])
  }

  @Test("breeds mend: there is a real toggle, whatever the flag passed says")
  func realToggle() throws {
    let image = try Self.image("akita/1", isFavorite: true)
    #expect(try manager.toggle(image) && manager.isLiked(image))
    #expect(try !manager.toggle(image) && !manager.isLiked(image))
  }

  @Test("breeds mend: a repeat changes nothing and publishes nothing")
  func repeats() async throws {
    var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
    #expect(await publisher.next() == [])
    let image = try Self.image("akita/1", isFavorite: true)
    #expect(try !manager.toggleLiking(Self.image("akita/1")))
    try manager.toggleLiking(image)
    clock.advance(by: 1)
    let digest = store.digest
    #expect(try !manager.toggleLiking(image))
    #expect(store.digest == digest && store.eventCount(of: "breeds") == 1)
    // A note is no change of a flag either.
    try await manager.favorites.setNote("good dog", of: image.url)
    let other = try Self.image("akita/2", isFavorite: true)
    try manager.toggleLiking(other)
    #expect(await publisher.next() == [image])
    #expect(await publisher.next() == [image, other])
  }

  @Test("breeds: a tap decides, whatever the list's own flag says, in the merge and in the live stream alike")
  func oneRule() async throws {
    let list = [try Self.image("akita/1", isFavorite: true), try Self.image("akita/2", isFavorite: true)]
    try manager.toggle(list[0])
    try manager.toggle(list[0])
    #expect(flags(manager.breedDetails(for: list)) == [false, true])
    #expect(
      flags(try await BreedDetailsUseCase(manager) { _ in list }.getBreedDetails("akita")) == [false, true])
    var live = manager.liveBreedDetails(for: list).makeAsyncIterator()
    #expect(await live.next().map(flags) == [false, true])
    // Also when so much happened that the stream starts over.
    try manager.favorites.add(contentsOf: (0..<5_000).map { try Self.image("pug/\($0)", isFavorite: true) })
    #expect(await live.next().map(flags) == [false, true])
  }

  @Test("breeds: the use cases of the document")
  func useCases() async throws {
    let image = try Self.image("akita/1", isFavorite: true)
    #expect(try FavoritingUseCase(manager).toggleLiking(image))
    #expect(try FetchFavoritesUseCase(manager).execute() == [image])
    let details = BreedDetailsUseCase(manager) { breed in
      [try Self.image("\(breed)/1"), try Self.image("\(breed)/2")]
    }
    #expect(flags(try await details.getBreedDetails("akita")) == [true, false])
  }

  @Test(
    "breeds keep: breedDetails keeps order and duplicates, keeps the list's own flags, and leaves favorites outside of the list alone"
  )
  func details() throws {
    let outside = try Self.image("pug/9", isFavorite: true)
    try manager.toggleLiking(outside)
    try manager.toggleLiking(Self.image("akita/2", isFavorite: true))
    let list = [
      try Self.image("akita/3"), try Self.image("akita/2"), try Self.image("akita/1", isFavorite: true),
      try Self.image("akita/2"),
    ]
    let digest = store.digest
    let details = manager.breedDetails(for: list)
    #expect(details == list && flags(details) == [false, true, true, true])
    #expect(store.digest == digest && manager.isLiked(outside))
    #expect(manager.breedDetails(for: []) == [])
  }

  @Test("breeds: live updates then set both ways by url, duplicates too")
  func liveDetails() async throws {
    try manager.toggleLiking(Self.image("akita/2", isFavorite: true))
    let list = [
      try Self.image("akita/1"), try Self.image("akita/2"), try Self.image("akita/1"),
      try Self.image("akita/3", isFavorite: true),
    ]
    var live = manager.liveBreedDetails(for: list).makeAsyncIterator()
    #expect(await live.next().map(flags) == [false, true, false, true])
    try manager.toggle(Self.image("akita/1"))
    try manager.toggle(Self.image("pug/1"))
    try manager.toggle(Self.image("akita/2"))
    #expect(await live.next().map(flags) == [true, true, true, true])
    #expect(await live.next().map(flags) == [true, false, true, true])
  }

  @Test("breeds mend: a toggle made while loading is never overwritten", arguments: [true, false])
  func whileLoading(isFavorite: Bool) async throws {
    try manager.toggleLiking(Self.image("akita/1", isFavorite: !isFavorite))
    let details = try await BreedDetailsUseCase(manager) { _ in
      // The answer was made before the tap, and says what was true then.
      let answer = try Self.image("akita/1", isFavorite: !isFavorite)
      try manager.toggleLiking(Self.image("akita/1", isFavorite: isFavorite))
      return [answer, try Self.image("akita/2", isFavorite: true)]
    }.getBreedDetails("akita")
    #expect(flags(details) == [isFavorite, true])
    #expect(try manager.fetchFavorites().isEmpty == !isFavorite)

    // Nor by the app's own old favorites.
    let old = try JSONValue.parse(
      #"[{"url":"https://images.dog.ceo/breeds/akita/1.jpg","isFavorite":true}]"#)
    try manager.migrate(fromPersisted: old)
    #expect(try manager.isLiked(Self.image("akita/1")) == isFavorite)
  }

  @Test(
    "breeds take-over: what the app's encoder writes is taken over, and a member that is not known is reported"
  )
  func encodedImages() throws {
    let persisted = Data(
      #"[{"url":"https:\/\/images.dog.ceo\/breeds\/hound-afghan\/n02088094_1003.jpg","isFavorite":true},{"isFavorite":true,"url":"https:\/\/images.dog.ceo\/breeds\/akita\/512px-Ainu-Dog.jpg","seen":3}]"#
        .utf8)
    let report = try manager.migrate(fromPersisted: persisted)
    #expect(report.count == 2)
    #expect(report.failures == [.invalidItem(#""seen" is not known, and was left out of 1 record"#)])
    let images = try manager.fetchFavorites()
    #expect(
      Set(images.map(\.url.absoluteString)) == [
        "https://images.dog.ceo/breeds/hound-afghan/n02088094_1003.jpg",
        "https://images.dog.ceo/breeds/akita/512px-Ainu-Dog.jpg",
      ])
    #expect(images.allSatisfy { $0.breed != nil })
  }

  @Test("breeds mend: what is persisted with isFavorite false is not a favorite anywhere")
  func persistedFalse() async throws {
    let persisted = try JSONValue.parse(
      #"""
      [{"url":"https://a/breeds/akita/1.jpg","isFavorite":true},
       {"url":"https://a/breeds/akita/2.jpg","isFavorite":false},
       {"url":"https://a/breeds/akita/3.jpg"}]
      """#)
    let taken = try manager.migrate(fromPersisted: persisted)
    #expect(taken.count == 1 && taken.failures == [])
    let favorites = try manager.fetchFavorites()
    #expect(favorites.map(\.url.absoluteString) == ["https://a/breeds/akita/1.jpg"])
    var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
    #expect(await publisher.next() == favorites)
    #expect(store.read { $0.counts(of: "breeds").items } == 1)
    // Taking over again changes nothing.
    #expect(try manager.migrate(fromPersisted: persisted).count == 0)
    #expect(store.eventCount(of: "breeds") == 1)
  }

  @Test("breeds mend: a corrupt record is an error that names it, never an empty set")
  func corruptRecord() async throws {
    let image = try Self.image("akita/1", isFavorite: true)
    try manager.toggleLiking(image)
    try store.library("breeds").add("not a url at all ][")
    let error = #expect(throws: HeartlogError.self) { try manager.fetchFavorites() }
    #expect(error?.code == .invalidItem && error?.message.contains("not a url at all ][") == true)
    // The sound one is still there.
    #expect(manager.favorites.page().items == [image] && manager.isLiked(image))
    var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
    #expect(await publisher.next() == [image])
  }

  @Test("breeds mend: a corrupt record of the app's own favorites is named, and the others are taken over")
  func corruptPersisted() throws {
    let persisted = try JSONValue.parse(
      #"""
      [{"url":"https://a/breeds/akita/1.jpg","isFavorite":true}, {"isFavorite":true}, 7,
       {"url":"","isFavorite":true}, {"url":"https://a/b.jpg","isFavorite":"yes"},
       {"url":{"relative":"https://a/breeds/akita/2.jpg"},"isFavorite":true}]
      """#)
    let taken = try manager.migrate(fromPersisted: persisted)
    try #require(taken.count == 2 && taken.failures.count == 4)
    #expect(store.read(\.commitCount) == 1)
    #expect(
      taken.failures[0]
        == .invalidItem(#"record 2: field "url": it is missing"#))
    #expect(taken.failures[1] == .invalidItem("record 3: an integer where an object should be"))
    #expect(try manager.fetchFavorites().count == 2)
    #expect(throws: LibraryError.self) { try manager.migrate(fromPersisted: JSONValue.object([])) }
    // Nor does one that the store refuses keep the others out.
    let long = "https://a/" + String(repeating: "x", count: 5_000)
    let more =
      #"[{"url":"\#(long)","isFavorite":true},{"url":"https://a/breeds/akita/3.jpg","isFavorite":true}]"#
    let second = try manager.migrate(fromPersisted: more)
    #expect(second.count == 1 && second.failures.count == 1)
  }

  @Test("breeds keep: a published stream gives every subscriber the current set first, then each change")
  func publisher() async throws {
    let one = try Self.image("akita/1", isFavorite: true)
    let two = try Self.image("akita/2", isFavorite: true)
    try manager.toggle(one)
    var early = manager.favoriteBreedsPublisher.makeAsyncIterator()
    try manager.toggle(two)
    var late = manager.favoriteBreedsPublisher.makeAsyncIterator()
    // A step back and forth is two changes, also for who reads them later.
    try manager.toggle(one)
    try manager.toggle(one)
    #expect(await early.next() == [one])
    for _ in 0..<2 { _ = await early.next() }
    #expect(await early.next() == [one, two])
    var seen: [Set<BreedImage>?] = []
    for _ in 0..<3 { seen.append(await late.next()) }
    #expect(seen == [[one, two], [two], [one, two]])
    // It ends with the store.
    try store.close()
    #expect(await late.next() == nil)
  }

  @Test("breeds: a subscriber that is thousands of changes behind gets the present set")
  func slowSubscriber() async throws {
    var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
    #expect(await publisher.next() == [])
    let images = try (0..<5_000).map { try Self.image("akita/\($0)", isFavorite: true) }
    try manager.favorites.add(contentsOf: images)
    #expect(await publisher.next() == Set(images))
    try manager.toggle(images[0])
    #expect(await publisher.next() == Set(images.dropFirst()))
  }

  @Test("breeds: a subscriber hears of what another process likes")
  func otherProcess() async throws {
    try await withStoreFolder { folder in
      let manager = try FavoritesManager(FavoritesStore(at: folder))
      var publisher = manager.favoriteBreedsPublisher.makeAsyncIterator()
      #expect(await publisher.next() == [])
      let image = try Self.image("akita/1", isFavorite: true)
      try FavoritesManager(FavoritesStore(at: folder)).toggleLiking(image)
      #expect(await publisher.next() == [image])
    }
  }
}
