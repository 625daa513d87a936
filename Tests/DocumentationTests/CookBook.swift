import Foundation
import Heartlog

/// A recipe, as the app has it.
nonisolated struct Recipe: Codable, Identifiable, Sendable {
  let id: String
  let title: String
}

/// The favorites of the app.
struct CookBook {
  let store: FavoritesStore
  let recipes: Favorites<Recipe>

  init(at folder: URL) throws {
    store = try FavoritesStore(at: folder)
    recipes = try store.favorites(of: Recipe.self, in: "recipes")
  }

  /// A tap on a heart.
  ///
  /// - Returns: whether the recipe is a favorite now.
  func tap(_ recipe: Recipe) async throws -> Bool {
    try await recipes.toggle(recipe)
  }

  /// What the screen of favorites shows, newest first.
  var favorites: [Recipe] { recipes.list() }

  /// Plans a dinner: all of its recipes, with the day as a note, or none.
  func plan(_ dinner: [Recipe], for day: String) throws {
    try store.write {
      for recipe in dinner {
        try recipes.add(recipe)
        try recipes.setNote(day, of: recipe.id)
      }
    }
  }

  /// What a view reads. It keeps itself up to date.
  @MainActor
  func model() -> FavoritesModel<Recipe> {
    FavoritesModel(recipes)
  }

  /// Tells of each change until its task is cancelled, or the store is closed.
  @MainActor
  func follow(_ tell: (String) -> Void) async {
    for await notice in recipes.changes {
      switch notice {
      case .change(let change): tell("\(change.event.item): \(change.event.action)")
      case .missed: tell("much has changed: read the list anew")
      }
    }
  }

  /// The ids of what was a favorite at a date.
  func favorites(at date: Date) throws -> [String] {
    try store.state(at: .time(date)).favorites(in: "recipes").map(\.id)
  }
}
