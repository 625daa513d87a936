import Heartlog

/// A line of a list.
struct Row {
  /// The item that it shows; nil if it shows something else.
  var item: ItemReference?
  /// The heart before the text; nil without one.
  var heart: Bool?
  var text: String
  /// What stands at the right edge.
  var trailing = ""
  /// What Enter does; if nil, it opens the detail screen of the item. What is done to a row is bound to it: the list may have changed since
  /// it was drawn.
  var open: Action?
  /// Keys that only this row has.
  var keys: [Character: Action] = [:]

  typealias Action = @MainActor () throws -> Outcome
}

/// What becomes of the screen after a key.
enum Outcome {
  case pane(Int)
  case message(String)
}

struct ItemReference {
  let library: FavoritesLibrary
  let id: String

  var isFavorite: Bool { library.contains(id) }

  /// Ids are compared by bytes: two of them may be the same text for a person, and are two items.
  func isItem(of event: Event) -> Bool {
    event.library == library.name && event.item.utf8.elementsEqual(id.utf8)
  }
}

/// One of the lists of an app.
struct Pane {
  let title: String
  var rows: [Row]
  /// Shown if there are no rows.
  var placeholder = "Nothing here."
  /// The keys that only this list has.
  var keys = ""
  /// The number beside the title; if nil, that of the rows with an item.
  var count: Int?
}

/// One app: its lists, and what keys do to a row. The program does the rest.
@MainActor protocol App: AnyObject {
  var name: String { get }
  /// The text in the search field.
  var query: String { get set }
  /// The lists, as they are now.
  var panes: [Pane] { get }

  /// A tap on the heart of a row. Throws what the message then says.
  func toggle(_ row: Row) throws
  /// Waits until all taps are written, and throws the error of the last one.
  func finishWriting() async throws
  /// What the detail screen says about a row, below its history.
  func detail(of row: Row) throws -> [String]
  /// A key that only this app has.
  ///
  /// - Returns: what the message then says; nil if the key means nothing.
  func press(_ key: Character) throws -> String?
  /// Called when the search field is left with Enter.
  func didSearch() throws
  /// Called once a second.
  func tick() throws
}

extension App {
  func finishWriting() async throws {}
  func detail(of row: Row) throws -> [String] { [] }
  func press(_ key: Character) throws -> String? { nil }
  func didSearch() throws {}
  func tick() throws {}
}
