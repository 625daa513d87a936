import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The liked images as they change. Each subscriber first gets the current set, then the set after each
/// change.
///
/// A subscription starts when iteration starts (`makeAsyncIterator`), and ends with its task or when the
/// store is closed. Only changes of a flag are published. Memory is bounded: a subscriber that is thousands
/// of changes behind gets the current set next.
public struct FavoriteBreedsPublisher: AsyncSequence, Sendable {
  let library: FavoritesLibrary

  public func makeAsyncIterator() -> Iterator { Iterator(library) }

  /// One subscription, with the set as last returned.
  public struct Iterator: AsyncIteratorProtocol {
    private var feed: MembershipFeed
    private var images: Set<BreedImage>
    private var isFirst = true

    init(_ library: FavoritesLibrary) {
      feed = MembershipFeed(library)
      images = Self.images(of: feed)
    }

    /// The next set; `nil` after the task is cancelled or the store is closed. O(1) per change, plus the cost
    /// of copying the set.
    public mutating func next() async -> Set<BreedImage>? {
      if isFirst {
        isFirst = false
        return images
      }
      while let update = await feed.next() {
        switch update {
        case .all:
          let present = Self.images(of: feed)
          guard present != images else { continue }
          images = present
          return images
        case .one(let id, let isFavorite):
          // An id that is not a URL is not published; `fetchFavorites` reports it.
          guard let url = URL(favoriteID: id) else { continue }
          let image = BreedImage(url: url, isFavorite: true)
          if isFavorite { images.insert(image) } else { images.remove(image) }
          return images
        }
      }
      return nil
    }

    private static func images(of feed: MembershipFeed) -> Set<BreedImage> {
      Set(feed.favorites.lazy.compactMap(URL.init(favoriteID:)).map { BreedImage(url: $0, isFavorite: true) })
    }
  }
}

extension FavoritesManager {
  /// The liked images as they change. Each `for await` loop over it is a separate subscriber.
  public var favoriteBreedsPublisher: FavoriteBreedsPublisher {
    FavoriteBreedsPublisher(library: favorites.library)
  }
}
