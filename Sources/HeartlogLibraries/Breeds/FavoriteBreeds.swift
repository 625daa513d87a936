import Heartlog

/// The liked images of a dog-breed browser, with the interface of its `FavoritesManager`.
///
/// ```swift
/// let manager = try FavoritesManager(store)
/// image.isFavorite.toggle()
/// try manager.toggleLiking(image)
/// for await favorites in manager.favoriteBreedsPublisher { … }
/// ```
///
/// It holds no state of its own: every method reads the store. It is ready as soon as the store is open, so
/// no tap can come before it has loaded.
public struct FavoritesManager: TypedLibrary {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<BreedImage>
  public var store: FavoritesStore { favorites.library.store }

  /// Creates an interface to the liked images of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: BreedImage.self)
  }

  // MARK: - Reading

  /// The liked images, with their flags set.
  ///
  /// - Throws: `HeartlogError` with the code `invalidItem` and the first favorite that is not an image, if
  ///   there is one: the set is never incomplete. `favorites.list()` still returns the valid ones.
  public func fetchFavorites() throws(HeartlogError) -> Set<BreedImage> {
    let loaded = favorites.page()
    if let failure = loaded.failures.first { throw failure.error }
    return Set(loaded.items)
  }

  /// Whether an image is a favorite in the store, whatever its flag is. One look-up.
  public func isLiked(_ image: BreedImage) -> Bool { favorites.contains(image.url) }

  // MARK: - Writing

  /// Sets the state in the store to the flag of an image: a view toggles the flag first, and then passes the
  /// image.
  ///
  /// If nothing changes, no event is written and nothing is published.
  ///
  /// - Returns: Whether the state has changed.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func toggleLiking(_ image: BreedImage) throws(HeartlogError) -> Bool {
    image.isFavorite ? try favorites.add(image) : try favorites.remove(image)
  }

  /// Toggles the state in the store, whatever the flag of `image` is.
  ///
  /// - Returns: Whether it is a favorite now.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func toggle(_ image: BreedImage) throws(HeartlogError) -> Bool { try favorites.toggle(image) }
}

/// Fetches the liked images.
public struct FetchFavoritesUseCase: Sendable {
  let manager: FavoritesManager

  /// Creates the use case.
  public init(_ manager: FavoritesManager) { self.manager = manager }

  /// The liked images, as `FavoritesManager.fetchFavorites()` returns them.
  public func execute() throws(HeartlogError) -> Set<BreedImage> { try manager.fetchFavorites() }
}

/// Likes and unlikes an image.
public struct FavoritingUseCase: Sendable {
  let manager: FavoritesManager

  /// Creates the use case.
  public init(_ manager: FavoritesManager) { self.manager = manager }

  /// Sets the state in the store to the flag of an image, as `FavoritesManager.toggleLiking(_:)` does.
  ///
  /// - Returns: Whether the state has changed.
  @discardableResult
  public func toggleLiking(_ image: BreedImage) throws(HeartlogError) -> Bool {
    try manager.toggleLiking(image)
  }
}

/// Gets the images of a breed, with their flags.
public struct BreedDetailsUseCase: Sendable {
  let manager: FavoritesManager
  let fetch: @Sendable (_ breed: String) async throws -> [BreedImage]

  /// Creates the use case.
  ///
  /// - Parameters:
  ///   - manager: the liked images.
  ///   - fetch: requests the images of a breed from the service.
  public init(
    _ manager: FavoritesManager, fetch: @escaping @Sendable (_ breed: String) async throws -> [BreedImage]
  ) {
    self.manager = manager
    self.fetch = fetch
  }

  /// Fetches the images of a breed and merges them as `FavoritesManager.breedDetails(for:)` does, with the taps during
  /// the fetch.
  ///
  /// - Throws: what the request throws.
  public func getBreedDetails(_ breed: String) async throws -> [BreedImage] {
    manager.breedDetails(for: try await fetch(breed))
  }
}

extension BreedImage: DescribedItem {
  public static var descriptor: any LibraryDescriptor { BreedsDescriptor() }
}

/// Images of dogs, identified by their URLs.
private struct BreedsDescriptor: LibraryDescriptor {
  let name = BreedImage.library
  let fields: [LibraryField] = [.init("breed")]
  let subtitleFields: [String] = []
  let idColumns: Set<String> = ["url"]
  let formats: [any FileFormat] = [DogCeoFormat()]
  var appRecords: (any AppRecords)? { ImageRecords() }

  func id(_ text: String) throws(LibraryError) -> String { try checkedURL(text) }

  /// The breed in the URL, if there is one.
  func bookmarkTitle(of item: FileItem) -> String {
    URL(string: item.id).flatMap { BreedImage(url: $0).breed } ?? title(of: item) ?? item.id
  }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), url.host?.lowercased() == "images.dog.ceo",
      url.path.split(separator: "/").first == "breeds"
    else { return nil }
    return FileItem(id: url.absoluteString)
  }
}
