import Heartlog
import Observation

extension FavoritesManager {
  /// The liked images as they change: first the current set, then the set after each change.
  ///
  /// Each stream has one reader, and ends with its task or when the store is closed. Only changes of a flag are
  /// published. Memory is bounded: a reader that is thousands of changes behind gets the current set next.
  public var favoriteBreedsPublisher: AsyncStream<Set<BreedImage>> {
    MembershipFollower.stream(favorites.library, []) { images, feed, update in
      switch update {
      case .all:
        let present = Set(
          feed.favorites.lazy.compactMap(URL.init(favoriteID:)).map { BreedImage(url: $0, isFavorite: true) })
        defer { images = present }
        return present != images
      case .one(let id, let isFavorite):
        // An id that is not a URL is not published; `fetchFavorites` reports it.
        guard let url = URL(favoriteID: id) else { return false }
        if isFavorite {
          images.insert(BreedImage(url: url, isFavorite: true))
        } else {
          images.remove(BreedImage(url: url))
        }
        return true
      }
    }
  }

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

  /// A fetched list merged with the favorites: first as `breedDetails(for:)` returns it, then after each change of one
  /// of its images. Each stream has one reader, and ends with its task or when the store is closed.
  public func liveBreedDetails(for images: [BreedImage]) -> AsyncStream<[BreedImage]> {
    MembershipFollower.stream(favorites.library, images) { images, feed, update in
      var isTold = update == .all
      for index in images.indices {
        let id = images[index].url.favoriteID
        if case .one(let changed, _) = update, changed != id { continue }
        isTold = true
        if let isFavorite = feed.decided(id) { images[index].isFavorite = isFavorite }
      }
      return isTold
    }
  }
}

/// A value that follows which items of a library are favorites.
private actor MembershipFollower<Value: Sendable> {
  /// Changes the value, and returns whether it is told.
  typealias Change = @Sendable (inout Value, MembershipFeed, MembershipFeed.Update) -> Bool

  private let changes: ChangeSubscription
  private var feed: MembershipFeed
  private var value: Value
  private let change: Change
  private var isFirst = true

  /// A stream of the value: as it is now, then after each change.
  static func stream(
    _ library: FavoritesLibrary, _ value: Value, _ change: @escaping Change
  ) -> AsyncStream<Value> {
    let follower = MembershipFollower(library, value, change)
    return AsyncStream { await follower.next() }
  }

  private init(_ library: FavoritesLibrary, _ value: Value, _ change: @escaping Change) {
    // Subscribe first, then read the state: a change in between is received twice, and recognized by its
    // position.
    changes = library.changes.subscription
    let feed = MembershipFeed(library)
    var value = value
    _ = change(&value, feed, .all)
    (self.feed, self.value, self.change) = (feed, value, change)
  }

  private func next() async -> Value? {
    if isFirst {
      isFirst = false
      return value
    }
    while let notice = await changes.next() {
      if let update = feed.take(notice), change(&value, feed, update) { return value }
    }
    return nil
  }
}

/// Which items of a library are favorites: first all of them, then each change in order.
///
/// A change has the value that it had when it became part of the state. A reader that is behind sees every
/// change in order, or `all` if some were dropped. It never sees a change that lost to a later write, or that
/// is part of the initial state.
struct MembershipFeed {
  enum Update: Equatable {
    /// So many changes occurred that some were dropped: read everything again.
    case all
    case one(id: String, isFavorite: Bool)
  }

  private let library: FavoritesLibrary
  /// By item: the position of the write that its membership reflects.
  private var positions: [String: EventPosition] = [:]
  private(set) var favorites: Set<String> = []

  /// Starts with the current state. One pass over the library.
  init(_ library: FavoritesLibrary) {
    self.library = library
    readAll()
  }

  /// Whether an item is a favorite; `nil` if it never was made one, nor removed.
  func decided(_ id: String) -> Bool? { positions[id] == nil ? nil : favorites.contains(id) }

  private mutating func readAll() {
    (positions, favorites) = library.store.read { [library] state in
      var positions: [String: EventPosition] = [:]
      var favorites: Set<String> = []
      for item in state.items(in: library.name) {
        positions[item.id] = state.membershipPosition(of: item.id, in: library.name)
        if item.isFavorite { favorites.insert(item.id) }
      }
      return (positions, favorites)
    }
  }

  /// The update for a notice; `nil` if it changes no flag, lost to a later write, or is already reflected in
  /// the state.
  mutating func take(_ notice: ChangeNotice) -> Update? {
    guard case .change(let change) = notice else {
      readAll()
      return .all
    }
    let position = EventPosition(
      stamp: change.stamp, replica: change.id.replica, sequence: change.id.sequence)
    let id = change.event.item
    guard let isFavorite = change.event.action.isFavorite else { return nil }
    if let shown = positions[id], position < shown { return nil }
    positions[id] = position
    guard isFavorite != favorites.contains(id) else { return nil }
    if isFavorite { favorites.insert(id) } else { favorites.remove(id) }
    return .one(id: id, isFavorite: isFavorite)
  }
}

/// The images of a breed for a view: with their flags, which follow the store.
///
/// The flag of an image that was ever liked or unliked is that of the store; any other image has its flag in the
/// fetched list. A fetch that fails leaves the images as they are, and `fetchError` says why.
@MainActor @Observable
public final class BreedDetailsModel {
  /// Whether a fetch is running.
  public private(set) var isLoading = false
  /// The error of the last fetch; `nil` if it succeeded.
  public private(set) var fetchError: (any Error)?
  /// The liked images, also those of other breeds. The taps that could not be written are in its `failedTaps`.
  @ObservationIgnored public let liked: FavoritesModel<BreedImage>

  @ObservationIgnored private let manager: FavoritesManager
  @ObservationIgnored private let fetch: @Sendable (_ breed: String) async throws -> [BreedImage]
  @ObservationIgnored private var loads = 0
  /// The images as they were fetched, with the flags of the service. Images are equal by their URLs, so an array alone
  /// would not tell of changed flags.
  private var fetched: (load: Int, images: [BreedImage]) = (0, [])

  /// Creates a model without images.
  ///
  /// - Parameters:
  ///   - manager: the liked images.
  ///   - fetch: requests the images of a breed from the service.
  public init(
    _ manager: FavoritesManager, fetch: @escaping @Sendable (_ breed: String) async throws -> [BreedImage]
  ) {
    self.manager = manager
    self.fetch = fetch
    liked = FavoritesModel(manager.favorites)
  }

  /// The images that were fetched last, in the order of the service.
  public var images: [BreedImage] {
    zip(fetched.images, manager.breedDetails(for: fetched.images)).map { image, stored in
      var image = stored
      // A tap counts before it is written. The flag of the list counts if the store has no favorite.
      image.isFavorite = liked.contains(image.url) || stored.isFavorite && !manager.isLiked(image)
      return image
    }
  }

  /// Fetches the images of a breed. Of two loads at a time, the later one counts.
  public func load(_ breed: String) async {
    loads += 1
    let load = loads
    isLoading = true
    let result: Result<[BreedImage], any Error>
    do { result = .success(try await fetch(breed)) } catch { result = .failure(error) }
    guard load == loads else { return }
    isLoading = false
    switch result {
    case .success(let images):
      fetchError = nil
      fetched = (load, images)
    case .failure(let error): fetchError = error
    }
  }

  /// Likes an image, or unlikes it: what is shown decides. It shows at once, and is written with the time of the
  /// tap; if it cannot be written, it is taken back, and `liked.failedTaps` has the image and the error.
  ///
  /// Returns when the tap is written, or has failed.
  public func toggle(_ image: BreedImage) async {
    if (images.first { $0 == image } ?? image).isFavorite {
      liked.remove(image.id)
    } else {
      liked.toggle(BreedImage(url: image.url, isFavorite: true))
    }
    await liked.finishWriting()
  }
}
