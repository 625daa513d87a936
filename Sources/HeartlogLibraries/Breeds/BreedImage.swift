import Heartlog

/// An image of a dog. Images are equal if their URLs are, whatever their flags: a property of an `@Observable` class does
/// not tell its observers of a value that is equal. `BreedDetailsModel.images` does.
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
    url =
      try container.decodeIfPresent(URL.self, forKey: .url)
      ?? decoder.container(keyedBy: AppKey.self).decode(RecordURL.self, forKey: .url).url
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
  }

  private enum CodingKeys: String, CodingKey {
    case url = "id"
    case isFavorite
  }

  private enum AppKey: CodingKey { case url }

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

extension FavoritesManager {
  /// Imports the favorites of the app's own storage in one commit: of the records, those whose `isFavorite` is true.
  /// An image that the store already knows, liked or not, is left unchanged: a tap is never overwritten, and importing
  /// again changes nothing. Members that are not known are reported.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the value is not an array of records, `HeartlogError` if the
  ///   store cannot be written.
  @discardableResult
  public func migrate(fromPersisted persisted: some JSONSource) throws -> MigrationReport {
    try favorites.migrate(
      from: ImageRecords().items(of: persisted, for: favorites), origin: MigrationOrigin.userDefaults)
  }
}

/// The breed browser's liked images: `[{"url": …, "isFavorite": …}, …]`.
struct ImageRecords: AppRecordList {
  let library = BreedImage.descriptor
  /// The breed is in the URL, too.
  let members: Set = ["url", "breed", FieldName.isFavorite]

  /// A record has a URL and a flag, and nothing that would be lost.
  func matches(_ outline: JSONOutline) -> Bool {
    outline.elementNames.isSuperset(of: ["url", FieldName.isFavorite])
      && outline.elementNames.isSubset(of: members.union(FileItem.restMembers))
  }
  func matches(_ item: FileItem) -> Bool { URL(favoriteID: item.id)?.scheme != nil }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    let image = try BreedImage(appRecord: record)
    var item = FileItem(id: image.id.favoriteID, isFavorite: image.isFavorite)
    try item.takeRest(of: record)
    return item
  }

  func record(_ item: FileItem) -> JSONValue {
    .object(
      .present(["url": .string(item.id), FieldName.isFavorite: .bool(item.isFavorite)]) + item.rest())
  }
}

/// An answer of dog.ceo with images: `{"message": […], "status": "success"}`, or with one image as a string.
struct DogCeoFormat: FileFormat {
  let name = "dog-ceo"
  let summary = "images as the dog.ceo API sends them"
  let fileExtensions = ["json"]
  let certainty = FileCertainty.member

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    JSONOutline(beginning).objectNames.contains("message")
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    let (members, failure) = document.members(of: document.root)
    guard let message = members["message"] else {
      throw .invalidAnswer(failure?.reason ?? "the answer has no message, as answers of dog.ceo have")
    }
    if let status = members["status"], try document.value(status).string != "success" {
      throw .invalidAnswer("dog.ceo answers: \(try document.value(message).jsonText.prefix(200))")
    }
    guard !document.isObject(message) else {
      throw .invalidAnswer("the list of breeds, which holds no images")
    }
    var contents = FileContents()
    func item(_ value: JSONValue) throws(LibraryError) -> FileItem {
      guard let url = value.string else {
        throw .invalidItem("\(value.kind) where the URL of an image should be")
      }
      return try BreedImage.descriptor.checked(FileItem(id: url))
    }
    if document.isArray(message) {
      contents.take(elementsOf: message, in: document, after: failure, item)
    } else {
      contents.take([message], of: document, item)
    }
    return contents
  }
}
