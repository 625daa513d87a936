import Heartlog

/// The images of one screen with their flags: first merged with the favorites, then after each change of one
/// of them.
///
/// The flag of an image that was ever liked or unliked is that of the store; any other image has its flag in the
/// list. The order of the list and its duplicates are kept. A subscription starts when iteration starts, and ends
/// with its task or when the store is closed.
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
      takeAll()
    }

    private mutating func takeAll() {
      for index in images.indices {
        if let isFavorite = feed.decided(images[index].url.favoriteID) {
          images[index].isFavorite = isFavorite
        }
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
          takeAll()
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
  /// Merges the favorites into a fetched list. The order and duplicates are kept. The flag of an image that was
  /// ever liked or unliked is that of the store; any other image keeps its flag in the list. One look-up per
  /// image.
  public func breedDetails(for images: [BreedImage]) -> [BreedImage] {
    let name = favorites.library.name
    return favorites.library.store.read { state in
      images.map { image in
        let id = image.url.favoriteID
        var image = image
        if state.membershipPosition(of: id, in: name) != nil {
          image.isFavorite = state.isFavorite(id, in: name)
        }
        return image
      }
    }
  }

  /// Fetches the images of a breed and merges them as in `breedDetails(for:)`, with the taps during the fetch.
  ///
  /// - Parameters:
  ///   - breed: the breed, passed to `fetch` unchanged.
  ///   - fetch: requests the images from the service, in the order in which they are shown.
  /// - Throws: what `fetch` throws.
  public nonisolated(nonsending) func breedDetails(
    for breed: String, fetch: (String) async throws -> [BreedImage]
  ) async rethrows -> [BreedImage] {
    breedDetails(for: try await fetch(breed))
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
