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
public struct FavoritesManager: Sendable {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<BreedImage>

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
  ///   there is one: the set is never incomplete. `favorites.load()` still returns the valid ones.
  public func fetchFavorites() throws(HeartlogError) -> Set<BreedImage> {
    let loaded = favorites.load()
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
