#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Heartlog

  // Where it is not, the tests have what is used of it.
  #if canImport(SwiftUI)
    import SwiftUI
  #endif

  /// The items of a query in a view, which is updated with them for as long as it is there.
  ///
  /// ```swift
  /// struct RecipeList: View {
  ///   @FavoritesQuery private var recipes: ItemList<Recipe>
  ///
  ///   init(_ query: Favorites<Recipe>.Query) { _recipes = FavoritesQuery(query) }
  ///
  ///   var body: some View { List(recipes) { Text($0.title) } }
  /// }
  /// ```
  ///
  /// `$recipes` is the ``FavoritesModel``: it takes taps, has the errors, and `$recipes.searchText` is for `.searchable(text:)`. The query of a view is the one that it appeared with; to show another one,
  /// set `$recipes.query`.
  @MainActor
  @propertyWrapper
  public struct FavoritesQuery<Item: Codable & Identifiable & Sendable>: DynamicProperty
  where Item.ID: FavoriteID {
    /// A view is made again and again. Its state stays, and the model with it.
    @MainActor
    private final class Holder {
      var model: FavoritesModel<Item>?
    }

    private let query: Favorites<Item>.Query
    @State private var holder = Holder()

    /// Reads nothing before the view is shown.
    public init(_ query: Favorites<Item>.Query) { self.query = query }

    /// The items.
    public var wrappedValue: ItemList<Item> { projectedValue.items }

    /// The model that follows them.
    public var projectedValue: FavoritesModel<Item> {
      if let model = holder.model { return model }
      let model = FavoritesModel(query)
      holder.model = model
      return model
    }
  }

  extension FavoritesModel {
    /// What is searched for, as a search field edits it: ``search``.
    public var searchText: Binding<String> {
      Binding(get: { self.search }, set: { self.search = $0 })
    }
  }
#endif
