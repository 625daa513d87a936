import Foundation
import Heartlog
@testable import HeartlogInterchange
@testable import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("breed images as files: what the app keeps, what dog.ceo answers, tables and bookmarks")
struct BreedFileTests {
  private static let images = [
    "https://images.dog.ceo/breeds/hound-afghan/a.jpg", "https://images.dog.ceo/breeds/akita/b%20c.jpg",
    "https://example.org/dog.png",
  ]

  private static func filled() throws -> FavoritesStore {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("breeds")
    for (index, image) in images.enumerated() {
      try library.add(
        image, fields: index == 0 ? [Field(name: "breed", value: .string("hound/afghan"))] : [],
        favoritedDate: 1_772_438_400_007 + Int64(index))
    }
    try library.setNote("good & <dog>", of: images[1])
    try library.collection("walks").insert(images[2])
    return store
  }

  @Test(
    "breeds: every reader of the app's list takes what another takes, as the same image",
    arguments: [
      #""url":"https://a/1.jpg","isFavorite":true"#, #""url":"https://a/1.jpg","isFavorite":false"#,
      #""url":"https://a/1.jpg","isFavorite":null"#, #""url":"https://a/1.jpg","more":[]"#,
      #""url":{"relative":"https://a/1.jpg"},"isFavorite":true"#,
      #""url":"https://a/1 2.jpg","isFavorite":true"#,
    ])
  func taken(members: String) throws {
    let text = "[{\(members)}]"
    let decoded = try JSONDecoder().decode([BreedImage].self, from: Data(text.utf8))
    let liked = decoded.filter(\.isFavorite)
    let taken = try FavoritesManager(.inMemory())
    let report = try taken.migrate(fromPersisted: text)
    #expect(try taken.fetchFavorites() == Set(liked) && report.count == liked.count)
    let store = try FavoritesStore.inMemory()
    #expect(try store.take(text, UserDefaultsFormat(), into: "breeds").refusals == [])
    #expect(try FavoritesManager(store).fetchFavorites() == Set(liked))
    // What dog.ceo answers is read alike.
    let answer = #"{"message":["\#(decoded[0].url.absoluteString)"],"status":"success"}"#
    #expect(try BreedImage.images(answer: answer) == decoded)
  }

  @Test(
    "breeds: every reader of the app's list refuses what another refuses",
    arguments: [
      #""url":"nothing""#, #""url":"""#, #""url":"http://[x""#, #""url":7"#, #""url":null"#,
      #""url":{"relative":"nothing"}"#, #""url":{"relative":7}"#, #""url":{}"#, #""isFavorite":true"#,
      #""url":"https://a/1.jpg","isFavorite":1"#, #""url":"https://a/1.jpg","isFavorite":"true""#,
    ])
  func refused(members: String) throws {
    let (text, store) = ("[{\(members)}]", try FavoritesStore.inMemory())
    #expect(try store.take(text, UserDefaultsFormat(), into: "breeds").refusals.count == 1)
    #expect(try FavoritesManager(store).migrate(fromPersisted: text).failures.count == 1)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([BreedImage].self, from: Data(text.utf8))
    }
    #expect(store.eventCount(of: "breeds") == 0)
  }

  @Test("what is exported comes back as it was, and a second import writes nothing", arguments: 0..<3)
  func roundTrip(index: Int) throws {
    let formats: [any FileFormat] = [UserDefaultsFormat(), CSVFormat(), BookmarksFormat()]
    try checkRoundTrip(of: "breeds", as: formats[index], from: Self.filled())
  }

  @Test("the app's own list: what is not liked is no favorite, a bad record is named by its line")
  func userDefaults() throws {
    let store = try FavoritesStore.inMemory()
    let text = #"""
      [{"url":"https://a/1.jpg","isFavorite":true},
       {"url":"https://a/2.jpg","isFavorite":false},
       {"url":"https://a/3.jpg"},
       {"url":{"relative":"https://a/4.jpg"},"isFavorite":true},
       {"url":"no scheme","isFavorite":true},
       {"isFavorite":true},
       {"url":"https://a/5.jpg","isFavorite":1},
       {"url":"https://a/6.jpg","isFavorite":true}]
      """#
    let report = try store.take(text, UserDefaultsFormat(), into: "breeds")
    #expect(
      try store.stored("breeds").map(\.id) == ["https://a/1.jpg", "https://a/4.jpg", "https://a/6.jpg"])
    #expect(
      refusals(report) == [
        #"5: field "url": "no scheme" is not a URL"#, #"6: field "url": it is missing"#,
        #"7: field "isFavorite": an integer where a bool should be"#,
      ])
    let bytes = try store.library("breeds").exportFile(format: UserDefaultsFormat())
    #expect(try FavoritesManager(.inMemory()).migrate(fromPersisted: JSONValue.parse(bytes)).count == 3)
  }

  @Test("an answer with images, one or many; a list of breeds has none")
  func dogCeo() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      #"""
      {"message":["https://images.dog.ceo/breeds/akita/1.jpg",
        "nothing",
        12],
      "status":"success"}
      """#, DogCeoFormat(), into: "breeds")
    #expect(
      report.added == 1
        && refusals(report) == [
          "2: \"nothing\" is not a URL", "3: an integer where the URL of an image should be",
        ])
    #expect(
      try store.take(
        #"{"status":"success","message":"https://images.dog.ceo/breeds/pug/1.jpg"}"#, DogCeoFormat(),
        into: "breeds"
      ).added == 1)
    #expect(throws: LibraryError.invalidAnswer("the list of breeds, which holds no images")) {
      try store.take(#"{"message":{"hound":["afghan"]},"status":"success"}"#, DogCeoFormat(), into: "breeds")
    }
    #expect(
      throws: LibraryError.invalidAnswer(#"dog.ceo answers: "Breed not found (master breed does not exist)""#)
    ) {
      try store.take(
        #"{"status":"error","message":"Breed not found (master breed does not exist)","code":404}"#,
        DogCeoFormat(), into: "breeds")
    }
    #expect(throws: LibraryError.self) { try DogCeoFormat().write([], of: BreedImage.descriptor) }
  }

  @Test("real answers come whole", .needsRealData, arguments: [("akita", 6), ("borzoi", 90)])
  func realAnswers(breed: String, least: Int) throws {
    let store = try FavoritesStore.inMemory()
    let bytes = try RealData.bytes("breeds/images-\(breed).json")
    #expect(FileFormats.standard.guess(bytes, name: nil, for: "breeds")?.name == "dog-ceo")
    let report = try store.take(bytes, DogCeoFormat(), into: "breeds")
    #expect(report.refusals.isEmpty && report.added >= least - 10)
    #expect(try report.added == Set(BreedImage.images(answer: JSONValue.parse(bytes))).count)
    #expect(throws: LibraryError.self) {
      try store.take(RealData.bytes("breeds/breeds-list-all.json"), DogCeoFormat(), into: "breeds")
    }
  }
}
