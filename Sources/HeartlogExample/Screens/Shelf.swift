import Foundation
import Heartlog

/// What four of the apps have in common: items that a service offers, and the favorites among them.
@MainActor final class Shelf<Item: FavoriteItem> {
  var catalog: [Item] { didSet { offered = Self.byID(catalog) } }
  private var offered: [String: Item]
  /// The favorites, newest first. A tap on a heart shows at once, and a write of another process as soon as it is seen.
  let model: FavoritesModel<Item>
  private let text: (Item) -> String
  private var isWriting = false

  /// - Parameter text: the text of an item's row.
  init(_ favorites: Favorites<Item>, catalog: [Item], text: @escaping (Item) -> String) {
    self.catalog = catalog
    offered = Self.byID(catalog)
    self.text = text
    model = FavoritesModel(favorites)
  }

  private static func byID(_ items: [Item]) -> [String: Item] {
    Dictionary(items.map { ($0.id.favoriteID, $0) }, uniquingKeysWith: { first, _ in first })
  }

  func row(_ item: Item, trailing: String = "") -> Row {
    Row(
      item: ItemReference(library: model.favorites.library, id: item.id.favoriteID),
      heart: model.contains(item.id), text: text(item), trailing: trailing)
  }

  func catalogRows(matching query: String) -> [Row] { catalog.map { row($0) }.matching(query) }

  /// The list of favorites.
  func favorites(
    _ title: String = "Favorites", matching query: String, placeholder: String, keys: String = ""
  ) -> Pane {
    // The store searches all fields of a favorite, the note, too.
    let items =
      query.isEmpty
      ? Array(model.items) : model.favorites.search(query)
    var pane = pane(title, of: items, placeholder: placeholder, keys: keys)
    // What another version of the app wrote and this one cannot read is told, and hides nothing else.
    pane.rows += model.failures.map { id, error in
      Row(item: ItemReference(library: model.favorites.library, id: id), text: "⚠ \(error.message)")
    }
    pane.count = items.count + model.failures.count
    return pane
  }

  /// A list of favorites, of which the first ones have rows: nobody scrolls through thousands.
  func pane(_ title: String, of items: [Item], placeholder: String, keys: String = "") -> Pane {
    var rows = items.prefix(Self.rowsMax).map { item in
      // The service may have newer data than the store.
      row(
        offered[item.id.favoriteID] ?? item,
        trailing: model.favorites.favoritedDate(of: item.id)?.minute ?? "")
    }
    if items.count > rows.count {
      rows.append(Row(text: "… and \(items.count - rows.count) more: / finds them"))
    }
    return Pane(title: title, rows: rows, placeholder: placeholder, keys: keys, count: items.count)
  }

  private static var rowsMax: Int { 500 }

  /// The item of a row: as the service offers it, or as the store has it.
  func item(_ row: Row) throws -> Item? {
    guard let reference = row.item, reference.library.name == Item.library else { return nil }
    return try item(withID: reference.id)
  }

  func item(withID text: String) throws -> Item? {
    if let offered = offered[text] { return offered }
    return try Item.ID(favoriteID: text).flatMap { id in try model.favorites.item(id) }
  }

  func toggle(_ row: Row) throws {
    guard let item = try item(row) else { return }
    model.toggle(item)
    isWriting = true
  }

  /// Waits until the taps are written, and throws if the last one has failed and was taken back.
  func finishWriting() async throws {
    guard isWriting else { return }
    isWriting = false
    await model.finishWriting()
    if let error = model.lastError {
      model.lastError = nil
      throw error
    }
  }
}

extension [Row] {
  /// The rows whose text contains a query, whatever its case and accents.
  func matching(_ query: String) -> [Row] {
    let search = TextSearch(query)
    return filter { search.isFound(in: $0.text) }
  }
}

extension Date {
  /// Year to minute, in UTC.
  var minute: String { String(formatted(.iso8601).prefix(16)).replacing("T", with: " ") }

  init(milliseconds: Milliseconds) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
