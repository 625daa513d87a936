#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Combine
  import Observation
  #if HEARTLOG_STAND_INS
    import Heartlog
  #endif

  /// The favorites of one type for views of the generations before `@Observable`: with `@ObservedObject`, `@StateObject`, or as publishers.
  ///
  /// ```swift
  /// struct EssayList: View {
  ///   @StateObject private var essays: PublishedFavorites<Essay>
  ///
  ///   init(_ essays: Favorites<Essay>) {
  ///     _essays = StateObject(wrappedValue: PublishedFavorites(essays))
  ///   }
  ///
  ///   var body: some View {
  ///     List(essays.items) { essay in
  ///       Button("♥ \(essay.title)") { essays.model.toggle(essay) }
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// It shows what a `FavoritesModel` shows, a turn of the main actor later. Taps, and everything else, are those of `model`.
  @MainActor
  public final class PublishedFavorites<Item: Codable & Identifiable & Sendable>: ObservableObject
  where Item.ID: FavoriteID {
    /// The favorites, as `FavoritesModel.items` has them.
    @Published public private(set) var items: ItemList<Item> = []
    /// The favorites that could not be decoded: the id of each, with an error that names the field.
    @Published public private(set) var failures: [(id: String, error: HeartlogError)] = []
    /// The taps that could not be written, as `FavoritesModel.failedTaps` has them.
    @Published public private(set) var failedTaps: [WriteFailure<Item.ID>] = []
    /// The error of the last of `failedTaps`; nil if there is none. Setting it to nil, as an alert's binding does, dismisses all of them;
    /// it cannot be set to an error.
    public var lastError: HeartlogError? {
      get { failedTaps.last?.error }
      set {
        model.lastError = newValue
        failedTaps = model.failedTaps
      }
    }
    /// Whether `items` is being read in the background.
    @Published public private(set) var isLoading = false

    /// The model that is shown.
    public let model: FavoritesModel<Item>

    /// Creates an object that follows the store until it is deallocated.
    ///
    /// - Parameters:
    ///   - favorites: the favorites to show.
    ///   - order: the order of the items.
    ///   - limit: the maximum number of items; all if nil.
    public init(_ favorites: Favorites<Item>, order: ListOrder = .newestFirst, limit: Int? = nil) {
      model = FavoritesModel(favorites, order: order, limit: limit)
      follow()
    }

    private func follow() {
      withObservationTracking {
        items = model.items
        failures = model.failures
        failedTaps = model.failedTaps
        isLoading = model.isLoading
      } onChange: { [weak self] in
        // The model has its new value after this call.
        Task { @MainActor in self?.follow() }
      }
    }
  }
#endif
