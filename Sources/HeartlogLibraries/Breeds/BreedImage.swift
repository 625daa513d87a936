import Heartlog
import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A picture of a dog, equal to another by its URL alone.
public struct BreedImage: FavoriteItem, Hashable {
  public static let library = "breeds"

  /// Where the picture is: what tells one image from another.
  public var url: URL
  /// What the store or the view said last; the store's own word is `FavoritesManager.isLiked(_:)`.
  public var isFavorite: Bool

  public var id: URL { url }

  /// An image, liked or not.
  public init(url: URL, isFavorite: Bool = false) {
    self.url = url
    self.isFavorite = isFavorite
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    url = try container.decode(URL.self, forKey: .url)
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
  }

  private enum CodingKeys: String, CodingKey {
    case url = "id"
    case isFavorite
  }

  public static func == (a: BreedImage, b: BreedImage) -> Bool { a.url == b.url }

  public func hash(into hasher: inout Hasher) { hasher.combine(url) }

  /// The breed that the URL's path names (`breeds/<breed>/`), a sub-breed as "hound/afghan"; nil where it
  /// names none.
  public var breed: String? {
    let parts = url.path.split(separator: "/")
    guard let folder = parts.firstIndex(of: "breeds"), parts.count > folder + 2 else { return nil }
    return parts[folder + 1].split(separator: "-", maxSplits: 1).joined(separator: "/")
  }
}

/// What dog.ceo sends: `{"message": …, "status": "success"}`.
extension BreedImage {
  /// Reads an answer with the images of a breed, in its order. What is no URL is dropped.
  ///
  /// - Throws: `LibraryError.invalidAnswer` for an answer that says it failed, or holds no images.
  public static func images(answer: JSONValue) throws(LibraryError) -> [BreedImage] {
    switch try message(answer) {
    case .array(let texts):
      texts.compactMap(\.string).compactMap { URL(string: $0) }.map { BreedImage(url: $0) }
    case .string(let text): [text].compactMap { URL(string: $0) }.map { BreedImage(url: $0) }
    default: throw .invalidAnswer("an answer without images")
    }
  }

  /// Reads the answer that lists all breeds: each, then its sub-breeds as "breed/sub-breed".
  ///
  /// - Throws: `LibraryError.invalidAnswer` for an answer that says it failed, or holds no breeds.
  public static func breeds(answer: JSONValue) throws(LibraryError) -> [String] {
    guard case .object(let members) = try message(answer) else {
      throw .invalidAnswer("an answer without breeds")
    }
    return members.flatMap { member in
      [member.name] + (member.value.array ?? []).compactMap(\.string).map { "\(member.name)/\($0)" }
    }
  }

  private static func message(_ answer: JSONValue) throws(LibraryError) -> JSONValue {
    guard let message = answer["message"], answer["status"]?.string == "success" else {
      throw .invalidAnswer("dog.ceo answers: \(answer["message"]?.string ?? "no message")")
    }
    return message
  }
}
