import Heartlog

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

  /// The images of a breed, as `FavoritesManager.breedDetails(for:)` merges them.
  ///
  /// - Throws: what the request throws.
  public func getBreedDetails(_ breed: String) async throws -> [BreedImage] {
    try await manager.breedDetails(for: breed, fetch: fetch)
  }
}
