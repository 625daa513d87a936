import Foundation
import Heartlog

/// One app: its lists by name, and the commands that none of their rows has. The program does the rest.
@MainActor struct App {
  let name: String
  /// The rows that contain a text; all if it is empty. The first list is shown when the app is chosen.
  let lists: KeyValuePairs<String, (_ text: String) throws -> [Row]>
  var commands: [String: Row.Command] = [:]
}

/// A line of a list. Commands name it by its number.
@MainActor struct Row {
  /// - Returns: what is printed.
  typealias Command = @MainActor (_ argument: String) async throws -> String

  /// The item that it shows; nil if it shows something else.
  var item: ItemReference?
  var text: String
  /// What stands after the text.
  var trailing = ""
  /// What `open` prints of the item.
  var detail: [String] = []
  /// `tap`, and what else can be done to it.
  var commands: [String: Command] = [:]

  var line: String {
    let heart = commands["tap"] == nil ? "" : item?.isFavorite == true ? "♥ " : "♡ "
    return heart + text + (trailing.isEmpty ? "" : "  \(trailing)")
  }

  /// The row with another command.
  func adding(_ name: String, _ command: @escaping Command) -> Row {
    var row = self
    row.commands[name] = command
    return row
  }
}

extension [Row] {
  /// The rows whose text contains a text, whatever its case and accents.
  @MainActor func matching(_ text: String) -> [Row] {
    let search = TextSearch(text)
    return filter { search.isFound(in: $0.text) }
  }
}

struct ItemReference: Sendable {
  let library: FavoritesLibrary
  let id: String

  var isFavorite: Bool { library.contains(id) }
}

/// What the apps have in common: items that a service offers, and the favorites among them.
@MainActor struct Shelf<Item: FavoriteItem> {
  let favorites: Favorites<Item>
  let offered: [Item]
  let text: (Item) -> String
  let detail: (Item) -> [String]
  /// What a tap on the heart does.
  let toggle: (Item) async throws -> Void

  func row(_ item: Item, trailing: String = "") -> Row {
    let reference = ItemReference(library: favorites.library, id: item.id.favoriteID)
    let row = Row(item: reference, text: text(item), trailing: trailing, detail: detail(item))
    return row.adding("tap") { _ in
      try await toggle(item)
      return "\(reference.isFavorite ? "♥" : "♡") \(row.text)"
    }
  }

  func offers(matching text: String) -> [Row] { offered.map { row($0) }.matching(text) }

  /// The favorites, newest first. The store searches all their fields, the note, too.
  func favorites(matching text: String) throws -> [Row] {
    let rows = try favorites.query.search(text).items().map { item in
      row(item, trailing: favorites.favoritedDate(of: item.id)?.minute ?? "")
    }
    // What this version of the app cannot read is told, and hides nothing else.
    return rows
      + favorites.failures.map { id, error in
        Row(item: ItemReference(library: favorites.library, id: id), text: "⚠ \(error.message)")
      }
  }
}

extension Date {
  /// Year to minute, in UTC.
  var minute: String { String(formatted(.iso8601).prefix(16)).replacing("T", with: " ") }

  init(milliseconds: Milliseconds) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
