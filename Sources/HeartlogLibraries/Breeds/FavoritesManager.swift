import Heartlog

/// The liked pictures of a dog-breed browser, in the words of its `FavoritesManager`.
///
/// ```swift
/// let manager = try FavoritesManager(store)
/// image.isFavorite.toggle()
/// try manager.toggleLiking(image)
/// for await favorites in manager.favoriteBreedsPublisher { … }
/// ```
///
/// It holds nothing itself, and is ready as soon as the store is: there is no loading that a tap could come before. What it says is what
/// the store holds at that moment.
public struct FavoritesManager: Sendable {
  /// The same library in the words of the store: changes, models, history.
  public let favorites: Favorites<BreedImage>

  /// The liked pictures of a store.
  ///
  /// - Throws: `HeartlogError`, which the name of this library never causes.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: BreedImage.self)
  }

  // MARK: - Reading

  /// The liked images, each with its flag set.
  ///
  /// - Throws: `HeartlogError` with the code `invalidItem`, which names the first favorite that is no image, where there is one: never an
  ///   empty or a smaller set. The sound ones are still to be had from `favorites.load()`.
  public func fetchFavorites() throws(HeartlogError) -> Set<BreedImage> {
    let loaded = favorites.load()
    if let failure = loaded.failures.first { throw failure.error }
    return Set(loaded.items)
  }

  /// Whether the store holds an image as a favorite, whatever its flag says. One look-up.
  public func isLiked(_ image: BreedImage) -> Bool { favorites.contains(image.url) }

  // MARK: - Writing

  /// Makes an image a favorite or none, as its own flag says: a view flips the flag first, and hands the image over then.
  ///
  /// What is so already stays as it is: no event is written and nothing is published.
  ///
  /// - Returns: whether it was otherwise before.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func toggleLiking(_ image: BreedImage) throws(HeartlogError) -> Bool {
    image.isFavorite ? try favorites.add(image) : try favorites.remove(image)
  }

  /// Flips what the store holds, whatever the flag of `image` says.
  ///
  /// - Returns: whether it is a favorite now.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func toggle(_ image: BreedImage) throws(HeartlogError) -> Bool { try favorites.toggle(image) }
}
