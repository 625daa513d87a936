import Heartlog

/// The images of one screen with their flags: first merged with the favorites, then after each change of one
/// of them.
///
/// Initially, a flag is set if the image is a favorite or its flag in the list is set. A change then sets or
/// clears the flag of every image with that URL. The order of the list and its duplicates are kept. A
/// subscription starts when iteration starts, and ends with its task or when the store is closed.
public struct BreedDetails: AsyncSequence, Sendable {
  let manager: FavoritesManager
  let images: [BreedImage]

  public func makeAsyncIterator() -> Iterator { Iterator(manager, images) }

  /// One subscription, with the images as last returned.
  public struct Iterator: AsyncIteratorProtocol {
    private var feed: MembershipFeed
    private var images: [BreedImage]
    private let indices: [String: [Int]]
    private var isFirst = true

    init(_ manager: FavoritesManager, _ images: [BreedImage]) {
      feed = MembershipFeed(manager.favorites.library)
      self.images = images
      indices = Dictionary(grouping: images.indices) { images[$0].url.favoriteID }
      for index in images.indices where feed.favorites.contains(images[index].url.favoriteID) {
        self.images[index].isFavorite = true
      }
    }

    /// The images after the next change of one of them; `nil` after the task is cancelled or the store is
    /// closed.
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
          guard let indices = indices[id] else { continue }
          for index in indices { images[index].isFavorite = isFavorite }
          return images
        }
      }
      return nil
    }
  }
}

extension FavoritesManager {
  /// Merges the favorites into a fetched list. The order and duplicates are kept. A flag is set if the image
  /// is a favorite or its flag in the list is set; favorites that are not in the list are not affected. One
  /// look-up per image.
  public func breedDetails(for images: [BreedImage]) -> [BreedImage] {
    favorites.merge(into: images, id: \.url) { image, isFavorite, _ in
      image.isFavorite = image.isFavorite || isFavorite
    }.catalog
  }

  /// Fetches the images of a breed and merges them as in `breedDetails(for:)`. If an image was liked or
  /// unliked during the fetch, that state is shown, whatever the list says.
  ///
  /// - Parameters:
  ///   - breed: the breed, passed to `fetch` unchanged.
  ///   - fetch: requests the images from the service, in the order in which they are shown.
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

  /// A fetched list merged with the favorites, which follows their changes.
  public func liveBreedDetails(for images: [BreedImage]) -> BreedDetails {
    BreedDetails(manager: self, images: images)
  }

  /// Sets and clears the flags of images that are shown, by URL, from a set that `favoriteBreedsPublisher`
  /// returned.
  public static func update(_ images: inout [BreedImage], with favorites: Set<BreedImage>) {
    for index in images.indices { images[index].isFavorite = favorites.contains(images[index]) }
  }
}
