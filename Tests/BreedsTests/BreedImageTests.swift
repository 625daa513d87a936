import Foundation
import Heartlog
import HeartlogFormat
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("breeds: what dog.ceo sends becomes a BreedImage")
struct BreedImageTests {
  @Test(
    "the images of two breeds survive the store", .needsRealData, arguments: [("akita", 6), ("borzoi", 100)])
  func images(breed: String, count: Int) throws {
    let images = try BreedImage.images(answer: RealData.json("breeds/images-\(breed).json"))
    #expect(images.count == count && images.allSatisfy { $0.breed == breed && !$0.isFavorite })
    for image in images {
      let again = try stored(image, isFavorite: true)
      #expect(again == image && again.isFavorite)
      #expect(try FieldEncoder.fields(of: image) == [])
    }
  }

  @Test("breeds mend: sub-breeds are kept as breed/sub-breed, behind their breed")
  func subBreeds() throws {
    let answer = try Data(contentsOf: TestFile.fixture("api/breeds-list-all.json"))
    #expect(
      try BreedImage.breeds(answer: answer) == [
        "akita", "australian", "australian/kelpie", "australian/shepherd", "borzoi", "collie",
        "collie/border", "hound", "hound/afghan", "hound/basset", "hound/blood", "hound/english",
        "hound/ibizan",
        "hound/plott", "hound/walker", "husky", "retriever", "retriever/chesapeake", "retriever/curly",
        "retriever/flatcoated", "retriever/golden", "shiba",
      ])
  }

  @Test("breeds keep: sub-breeds are breed/sub-breed, in the real list of all breeds", .needsRealData)
  func breeds() throws {
    let breeds = try BreedImage.breeds(answer: RealData.json("breeds/breeds-list-all.json"))
    #expect(breeds.contains("akita") && breeds.contains("australian/kelpie") && breeds.contains("australian"))
    #expect(breeds.first == "affenpinscher" && Set(breeds).count == breeds.count)
  }

  @Test(
    "breeds: the breed is read from the url's path (breeds/<breed>/), sub-breeds too, and nothing is invented",
    arguments: [
      ("https://images.dog.ceo/breeds/akita/1.jpg", "akita"),
      ("https://images.dog.ceo/breeds/hound-afghan/1.jpg", "hound/afghan"),
      ("https://images.dog.ceo/breeds/a-b-c/1.jpg", "a/b-c"), ("https://images.dog.ceo/breeds/1.jpg", nil),
      ("https://images.dog.ceo/breeds", nil), ("https://example.org/akita/1.jpg", nil),
      ("https://example.org", nil),
    ])
  func breed(text: String, breed: String?) throws {
    #expect(BreedImage(url: try #require(URL(string: text))).breed == breed)
  }

  @Test("BreedImage takes url, and what an encoder writes")
  func appJSON() throws {
    let decoder = JSONDecoder()
    let image = try decoder.decode(
      BreedImage.self, from: Data(#"{"url":"https://a/1.jpg","isFavorite":true}"#.utf8))
    #expect(image.url.absoluteString == "https://a/1.jpg" && image.isFavorite)
    let again = try decoder.decode(BreedImage.self, from: JSONEncoder().encode(image))
    #expect(again == image && again.isFavorite)
    #expect(throws: DecodingError.self) { try decoder.decode(BreedImage.self, from: Data("{}".utf8)) }
    #expect(
      try BreedImage.images(answer: Data(#"{"message":["https://a/1.jpg"],"status":"success"}"#.utf8)) == [
        image
      ])
  }

  @Test("breeds: equal and hashed by url alone")
  func equality() throws {
    let url = try #require(URL(string: "https://images.dog.ceo/breeds/akita/1.jpg"))
    #expect(Set([BreedImage(url: url, isFavorite: true), BreedImage(url: url)]).count == 1)
  }

  @Test("breeds keep: unparseable urls in an answer are dropped; an answer that failed is an error")
  func answers() throws {
    let answer = try JSONValue.parse(
      #"{"message":["https://a/b.jpg","",5,"http://[x","nothing"],"status":"success"}"#)
    #expect(try BreedImage.images(answer: answer).map(\.url.absoluteString) == ["https://a/b.jpg"])
    let failure = try JSONValue.parse(#"{"status":"error","message":"Breed not found","code":404}"#)
    #expect(throws: LibraryError.invalidAnswer("dog.ceo answers: Breed not found")) {
      try BreedImage.images(answer: failure)
    }
    #expect(throws: LibraryError.self) { try BreedImage.breeds(answer: answer) }
  }
}
