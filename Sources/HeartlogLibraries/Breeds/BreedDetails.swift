import Heartlog

/// The images of one screen with their flags: first merged with the favorites, then after each change of one of them.
///
/// At first a flag is true where the image is a favorite or the list says so itself. A change then sets it, on or off, wherever the list
/// has that URL. Order and duplicates of the list stay. A subscription begins where iteration does, and ends with its task or when the
/// store is closed.
public struct BreedDetails: AsyncSequence, Sendable {
  let manager: FavoritesManager
  let images: [BreedImage]

  public func makeAsyncIterator() -> Iterator { Iterator(manager, images) }

  /// One subscription, with the images as it saw them last.
  public struct Iterator: AsyncIteratorProtocol {
    private var feed: MembershipFeed
    private var images: [BreedImage]
    private let places: [String: [Int]]
    private var isFirst = true

    init(_ manager: FavoritesManager, _ images: [BreedImage]) {
      feed = MembershipFeed(manager.favorites.library)
      self.images = images
      places = Dictionary(grouping: images.indices) { images[$0].url.favoriteID }
      for index in images.indices where feed.favorites.contains(images[index].url.favoriteID) {
        self.images[index].isFavorite = true
      }
    }

    /// The images after the next change of one of them; nil once the task is cancelled or the store is closed.
    public mutating func next() async -> [BreedImage]? {
      if isFirst {
        isFirst = false
        return images
      }
      while let update = await feed.next() {
        switch update {
        case .all:
          for index in images.indices {
            images[index].isFavorite = feed.favorites.contains(images[index].url.favoriteID)
          }
          return images
        case .one(let id, let isFavorite):
          guard let places = places[id] else { continue }
          for index in places { images[index].isFavorite = isFavorite }
          return images
        }
      }
      return nil
    }
  }
}

extension FavoritesManager {
  /// A fetched list with the favorites: order and duplicates stay, a flag is true where the image is a favorite or the list says so
  /// itself, and favorites outside of the list are left alone. One look-up an image.
  public func breedDetails(for images: [BreedImage]) -> [BreedImage] {
    favorites.merge(into: images, id: \.url) { image, isFavorite, _ in
      image.isFavorite = image.isFavorite || isFavorite
    }.catalog
  }

  /// Fetches the images of a breed and merges them as `breedDetails(for:)`. An image that was tapped while they were on their way is as
  /// the tap left it, whatever the list says.
  ///
  /// - Parameters:
  ///   - breed: handed to `fetch` as it is.
  ///   - fetch: asks the service; its images come in the order in which they are to be shown.
  /// - Throws: what `fetch` throws.
  public nonisolated(nonsending) func breedDetails(
    for breed: String, fetch: (String) async throws -> [BreedImage]
  ) async rethrows -> [BreedImage] {
    let before = MembershipFeed.present(of: favorites.library).positions
    let images = try await fetch(breed)
    let name = favorites.library.name
    return favorites.library.store.read { state in
      images.map { image in
        let id = image.url.favoriteID
        var image = image
        let isFavorite = state.isFavorite(id, in: name)
        let isTapped = state.membershipPosition(of: id, in: name) != before[id]
        image.isFavorite = isFavorite || image.isFavorite && !isTapped
        return image
      }
    }
  }

  /// A fetched list with the favorites, as they change.
  public func liveBreedDetails(for images: [BreedImage]) -> BreedDetails {
    BreedDetails(manager: self, images: images)
  }

  /// Sets the flags of images that are shown already by a set that `favoriteBreedsPublisher` brought: both ways, by URL.
  public static func update(_ images: inout [BreedImage], with favorites: Set<BreedImage>) {
    for index in images.indices { images[index].isFavorite = favorites.contains(images[index]) }
  }
}
