import Heartlog
import Observation

/// The images of a breed for a view: with their flags, which follow the store.
///
/// The flag of an image that was ever liked or unliked is that of the store; any other image has its flag in the
/// fetched list. A fetch that fails leaves the images as they are, and `fetchError` says why.
@MainActor @Observable
public final class BreedDetailsModel {
  /// The images that were fetched last, in the order of the service.
  public private(set) var images: [BreedImage] {
    get {
      access(keyPath: \.images)
      return shown
    }
    // Images are equal by their URLs, so the setter of a stored property would not tell of a changed flag.
    set { withMutation(keyPath: \.images) { shown = newValue } }
  }
  /// Whether a fetch is running.
  public private(set) var isLoading = false
  /// The error of the last fetch; `nil` if it succeeded.
  public private(set) var fetchError: (any Error)?
  /// The taps that could not be written, one for each image, the latest last. Each stays until it is dismissed, or
  /// until a later tap on the same image is written.
  public private(set) var failedTaps: [WriteFailure<BreedImage.ID>] = []
  /// The error of the last of `failedTaps`; `nil` if there is none. Setting it to `nil`, as an alert's binding does,
  /// dismisses all of them; it cannot be set to an error.
  public var tapError: HeartlogError? {
    get { failedTaps.last?.error }
    set { if newValue == nil, !failedTaps.isEmpty { failedTaps = [] } }
  }

  @ObservationIgnored private var shown: [BreedImage] = []
  @ObservationIgnored private let manager: FavoritesManager
  @ObservationIgnored private let fetch: @Sendable (_ breed: String) async throws -> [BreedImage]
  @ObservationIgnored private var following: Task<Void, Never>?
  @ObservationIgnored private var loads = 0
  /// The images as they were fetched, with the flags of the service.
  @ObservationIgnored private var fetched: [BreedImage] = []
  @ObservationIgnored private let taps = PendingTaps<BreedImage>()

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
  }

  deinit { following?.cancel() }

  /// Fetches the images of a breed, and follows the store from then on. Of two loads at a time, the later one
  /// counts.
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
      show(images)
    case .failure(let error): fetchError = error
    }
  }

  private func show(_ fetched: [BreedImage]) {
    self.fetched = fetched
    take(manager.breedDetails(for: fetched))
    following?.cancel()
    let live = manager.liveBreedDetails(for: fetched)
    following = Task { [weak self] in
      for await images in live {
        guard !Task.isCancelled else { return }
        self?.take(images)
      }
    }
  }

  private func take(_ merged: [BreedImage]) {
    var merged = merged
    for index in merged.indices {
      if let isFavorite = taps[merged[index]] { merged[index].isFavorite = isFavorite }
    }
    images = merged
  }

  /// Dismisses the failed tap on the image with this id.
  public func dismissFailure(of id: BreedImage.ID) { failedTaps.add(nil, of: id) }

  /// Likes an image, or unlikes it: what is shown decides. It shows at once, and is written with the time of the
  /// tap; if it cannot be written, it is taken back, and `failedTaps` has the image and the error.
  ///
  /// Returns when the tap is written, or has failed.
  public func toggle(_ image: BreedImage) async {
    let isFavorite = !(images.first { $0 == image } ?? image).isFavorite
    let favorites = manager.favorites
    let time = favorites.library.store.options.clock()
    let write = taps.begin(image, isFavorite) { () throws(HeartlogError) in
      try await favorites.library.store.async.run(at: time) { _ throws(HeartlogError) in
        if isFavorite {
          try favorites.add(BreedImage(url: image.url, isFavorite: true))
        } else {
          try favorites.remove(image.url)
        }
      }
    }
    take(images)
    failedTaps.add(await write.value, of: image.id)
    guard taps.end(image) else { return }
    // It may have failed, or been overtaken by a tap elsewhere.
    take(manager.breedDetails(for: fetched))
  }
}
