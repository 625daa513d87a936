import Heartlog
import HeartlogLibraries
import Observation

/// The view model of a dog-breed browser: all breeds, the images of one, and the liked ones.
@MainActor @Observable
final class BreedBrowser {
  private(set) var breeds: [String] = []
  /// The images of the current breed, with their hearts.
  private(set) var images: [BreedImage] = []
  private(set) var favorites: Set<BreedImage> = []

  @ObservationIgnored private let manager: FavoritesManager

  init(_ store: FavoritesStore) throws {
    manager = try FavoritesManager(store)
  }

  func showBreeds(_ answer: JSONValue) throws { breeds = try BreedImage.breeds(answer: answer) }

  /// Called when the details appear: fetches the images and merges them with the favorites.
  func showDetails(of breed: String, fetch: (String) async throws -> [BreedImage]) async throws {
    images = try await manager.breedDetails(for: breed, fetch: fetch)
  }

  /// Called on a tap on an image. The view toggles the flag and passes the image.
  func likeButtonTapped(_ image: BreedImage) throws {
    var image = image
    image.isFavorite.toggle()
    try manager.toggleLiking(image)
  }

  /// The liked images as they change, starting with the current ones. A view's task is
  /// `for await favorites in browser.updates { browser.show(favorites) }`.
  var updates: FavoriteBreedsPublisher { manager.favoriteBreedsPublisher }

  func show(_ favorites: Set<BreedImage>) {
    self.favorites = favorites
    FavoritesManager.update(&images, with: favorites)
  }

  /// Imports what the app stored in the user defaults before it had a store.
  func takeOver(_ persisted: JSONValue) throws -> TakeOverReport {
    try manager.takeOver(persisted: persisted)
  }
}
