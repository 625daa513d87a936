import Foundation
import Heartlog
import HeartlogFormat
import Testing

@Suite("An item's identity is one text")
struct FieldCodingIdentityTests {
  struct Item<ID: Codable & Hashable & Sendable>: Codable, Identifiable {
    var id: ID
    var isFavorite: Bool
    var favoritedDate: Date?
  }

  func decode<ID>(_ id: String, as type: ID.Type) throws -> ID where ID: Codable & Hashable & Sendable {
    try FieldDecoder.decode(Item<ID>.self, id: id, isFavorite: true, favoritedDate: nil, fields: []).id
  }

  @Test("an identity survives its text, as the type that the item asks for")
  func identities() throws {
    #expect(try decode("a/b c", as: String.self) == "a/b c")
    #expect(try decode("-12", as: Int.self) == -12)
    #expect(try decode("255", as: UInt8.self) == 255)
    #expect(try decode("18446744073709551615", as: UInt64.self) == .max)
    let uuid = UUID()
    #expect(uuid.favoriteID == uuid.uuidString.lowercased())
    #expect(try decode(uuid.favoriteID, as: UUID.self) == uuid)
    let url = try #require(URL(string: "https://images.dog.ceo/breeds/akita/1.jpg"))
    #expect(try decode(url.favoriteID, as: URL.self) == url)
  }

  @Test("another spelling of an identity is none")
  func spellings() {
    for text in ["007", "+7", "", "7.0", "9223372036854775808", "-0", " 7"] {
      #expect(throws: FieldCodingError.self) { try decode(text, as: Int.self) }
    }
    #expect(throws: FieldCodingError.self) { try decode("256", as: UInt8.self) }
    #expect(throws: FieldCodingError.self) {
      try decode("6F9619FF-8B86-D011-B42D-00C04FC964FF", as: UUID.self)
    }
    #expect(throws: FieldCodingError.self) { try decode("https://example.org/a b", as: URL.self) }
  }

  struct Pair: FavoriteID, Codable {
    var left: Int, right: Int
    var favoriteID: String { "\(left)-\(right)" }
    init(left: Int, right: Int) { (self.left, self.right) = (left, right) }
    init?(favoriteID: String) {
      let parts = favoriteID.split(separator: "-").compactMap { Int($0) }
      guard parts.count == 2 else { return nil }
      self.init(left: parts[0], right: parts[1])
    }
  }

  enum Planet: String, Codable { case mars }

  @Test("an app's own identity is made from the text, and a wrapped string decodes itself")
  func ownTypes() throws {
    #expect(try decode("1-2", as: Pair.self) == Pair(left: 1, right: 2))
    #expect(throws: FieldCodingError.self) { try decode("1", as: Pair.self) }
    #expect(try decode("mars", as: Planet.self) == .mars)
  }

  @Test("membership comes from the store, and is never a field")
  func membership() throws {
    let item = try FieldDecoder.decode(
      Item<Int>.self, id: "1", isFavorite: true, favoritedDate: 1_709_294_400_123, fields: [])
    #expect(item.isFavorite && item.favoritedDate == Date(timeIntervalSince1970: 1_709_294_400.123))
    #expect(try FieldEncoder.fields(of: item) == [])
    let gone = try FieldDecoder.decode(
      Item<Int>.self, id: "1", isFavorite: false, favoritedDate: nil, fields: [])
    #expect(!gone.isFavorite && gone.favoritedDate == nil)
  }
}
