import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An image of a dog. Images are equal if their URLs are, whatever their flags: a property of an `@Observable` class does
/// not tell its observers of a value that is equal, so `BreedDetailsModel` does.
public struct BreedImage: FavoriteItem, Hashable {
  public static let library = "breeds"

  /// The URL of the image, which identifies it.
  public var url: URL
  /// The flag as last set by the store or the view; `FavoritesManager.isLiked(_:)` returns the current state.
  public var isFavorite: Bool

  public var id: URL { url }

  /// Creates an image.
  public init(url: URL, isFavorite: Bool = false) {
    self.url = url
    self.isFavorite = isFavorite
  }

  /// Decodes an image of the store, or a record of the app's own.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let id = try container.decodeIfPresent(URL.self, forKey: .id) {
      url = id
    } else {
      url = try container.decode(RecordURL.self, forKey: .url).url
    }
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .id)
    try container.encode(isFavorite, forKey: .isFavorite)
  }

  private enum CodingKeys: CodingKey {
    case id, url, isFavorite
  }

  public static func == (a: BreedImage, b: BreedImage) -> Bool { a.url == b.url }

  public func hash(into hasher: inout Hasher) { hasher.combine(url) }

  /// The breed in the path of the URL (`breeds/<breed>/`), a sub-breed as "hound/afghan"; `nil` if the path
  /// has none.
  public var breed: String? {
    let parts = url.path.split(separator: "/")
    guard let folder = parts.firstIndex(of: "breeds"), parts.count > folder + 2 else { return nil }
    return parts[folder + 1].split(separator: "-", maxSplits: 1).joined(separator: "/")
  }
}

/// The URL in a record of the app's own. Encoders other than `JSONEncoder` write an object.
private struct RecordURL: Decodable {
  let url: URL

  private enum CodingKeys: CodingKey {
    case relative
  }

  init(from decoder: any Decoder) throws {
    let text =
      if let object = try? decoder.container(keyedBy: CodingKeys.self) {
        try object.decode(String.self, forKey: .relative)
      } else {
        try decoder.singleValueContainer().decode(String.self)
      }
    guard let url = absoluteURL(text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "\(text.quoted) is not a URL"))
    }
    self.url = url
  }
}

/// Parsing of the answers of dog.ceo: `{"message": …, "status": "success"}`.
extension BreedImage {
  /// Parses an answer with the images of a breed, in order. Elements that are not URLs are dropped.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the answer reports an error, or has no images.
  public static func images(answer: some JSONSource) throws(LibraryError) -> [BreedImage] {
    switch try message(answer.json()) {
    case .array(let texts): texts.compactMap(\.string).compactMap(absoluteURL).map { BreedImage(url: $0) }
    case .string(let text): [text].compactMap(absoluteURL).map { BreedImage(url: $0) }
    default: throw .invalidAnswer("an answer without images")
    }
  }

  /// Parses the answer with the list of all breeds. Each breed is followed by its sub-breeds as
  /// "breed/sub-breed".
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the answer reports an error, or has no breeds.
  public static func breeds(answer: some JSONSource) throws(LibraryError) -> [String] {
    guard case .object(let members) = try message(answer.json()) else {
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
