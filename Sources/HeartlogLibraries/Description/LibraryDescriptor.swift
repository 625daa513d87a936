import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is known of a library: the fields of its items, their ids and titles, where a browser shows them, and the files that only this
/// library has.
///
/// All requirements but the name have a default, so a descriptor says no more than what its library differs in:
///
/// ```swift
/// struct RecipesDescriptor: LibraryDescriptor {
///   let name = "recipes"
///   let fields = [LibraryField("title"), LibraryField("minutes", .number(0...10_000))]
/// }
/// ```
///
/// Import, export and the command line ask the descriptor. `LibraryRegistry` has those of the five apps; an item type brings its own with
/// `DescribedItem`.
public protocol LibraryDescriptor: Sendable {
  /// The library's name in a store.
  var name: String { get }

  /// The fields of the items, in the order in which people want to read them. None where nothing is known of them: then no value is
  /// refused, and no file format.
  var fields: [LibraryField] { get }

  /// What the items are, as far as file formats are made for such items only.
  var traits: LibraryTraits { get }

  /// The one spelling of an id.
  ///
  /// - Parameter text: the id as a file tells it; never empty.
  /// - Throws: `invalidItem` for what is no id of the library.
  func id(_ text: String) throws(LibraryError) -> String

  /// Brings values that depend on each other into line, once each of them is known to be sound.
  func reconcile(_ item: inout FileItem)

  /// The fields that say what an item is called; the first that it has counts.
  var titleFields: [String] { get }

  /// The fields that say more about an item than its title; the first that it has counts.
  var subtitleFields: [String] { get }

  /// The columns of tables that hold the id beside `id`, in lower case.
  var idColumns: Set<String> { get }

  /// The fields that columns of other names hold, by their names in lower case.
  var columnAliases: [String: String] { get }

  /// What a bookmark of an item says.
  func bookmarkTitle(of item: FileItem) -> String

  /// Where a browser shows an item; nil where it is nowhere.
  func address(of item: FileItem) -> String?

  /// The item that somebody bookmarked; nil where the address is none of an item of the library.
  ///
  /// - Parameters:
  ///   - address: as the bookmark has it, which may be no URL.
  ///   - title: what the bookmark says; empty where it says nothing.
  /// - Throws: `invalidItem` where the address names an item that cannot be one.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem?

  /// The files that only this library has, such as the answers of its service.
  var formats: [any FileFormat] { get }

  /// How the library's app keeps its items itself; nil where it keeps them in no file.
  var appRecords: (any AppRecords)? { get }
}

/// What the items of a library are, as far as file formats are made for such items only.
public struct LibraryTraits: OptionSet, Sendable {
  public let rawValue: Int

  /// The set of these bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Items have a place on a map, in the fields `lat` and `lon`.
  public static let places = LibraryTraits(rawValue: 1)
  /// Items are publications, in the fields of `Paper`.
  public static let publications = LibraryTraits(rawValue: 2)
  /// Items are settings, which are never favorites.
  public static let settings = LibraryTraits(rawValue: 4)
}

/// An item type that says what is known of its library, beside the library's name.
public protocol DescribedItem: FavoriteItem {
  /// What is known of the library of these items; its name is that of the library.
  static var descriptor: any LibraryDescriptor { get }
}

extension LibraryDescriptor {
  /// None.
  public var fields: [LibraryField] { [] }

  /// None.
  public var traits: LibraryTraits { [] }

  /// The text as it stands.
  public func id(_ text: String) throws(LibraryError) -> String { text }

  /// Changes nothing.
  public func reconcile(_ item: inout FileItem) {}

  /// `title`, `name` and `breed`.
  public var titleFields: [String] { ["title", "name", "breed"] }

  /// `author`, `authors`, `creators` and `country`.
  public var subtitleFields: [String] { ["author", "authors", "creators", "country"] }

  /// None.
  public var idColumns: Set<String> { [] }

  /// None.
  public var columnAliases: [String: String] { [:] }

  /// The title, or the id of an item without one.
  public func bookmarkTitle(of item: FileItem) -> String { title(of: item) ?? item.id }

  /// The first field that holds a URL, of `fileURL`, `url`, `linkURL`, `link` and `href`; else the id, where it is one.
  public func address(of item: FileItem) -> String? {
    func isAddress(_ text: String) -> Bool {
      ["http://", "https://", "file:///"].contains { text.hasPrefix($0) } && URL(string: text) != nil
    }
    let texts = ["fileURL", "url", "linkURL", "link", "href"].lazy.compactMap { item[$0]?.text }
    return texts.first(where: isAddress) ?? (isAddress(item.id) ? item.id : nil)
  }

  /// The item that has the address as its id, where nothing is known of the items; else nil.
  public func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard isOpaque else { return nil }
    var item = FileItem(id: address)
    if !title.isEmpty { item.set("title", .string(title)) }
    return item
  }

  /// None.
  public var formats: [any FileFormat] { [] }

  /// Nil.
  public var appRecords: (any AppRecords)? { nil }
}

extension LibraryDescriptor {
  /// What an item is called, by the first of `titleFields` that holds a text; nil where there is none.
  public func title(of item: FileItem) -> String? {
    titleFields.lazy.compactMap { item[$0]?.text }.first { !$0.isEmpty }
  }

  /// An item in one line: its title, and what says more about it.
  public func titleLine(of item: FileItem) -> String {
    [titleFields, subtitleFields].compactMap { names in
      names.lazy.compactMap { item[$0] }.first.map { $0.line }
    }.joined(separator: " — ")
  }

  /// Whether nothing is known of the items.
  package var isOpaque: Bool { fields.isEmpty }

  /// The field of that name; nil where none is known.
  package func field(_ name: String) -> LibraryField? { fields.first { $0.name == name } }

  /// The item if it can be one of the library: its id in the one spelling, and sound values in the fields that are known.
  ///
  /// - Throws: `invalidItem` with the first thing that is wrong.
  public func checked(_ item: FileItem) throws(LibraryError) -> FileItem {
    guard !item.id.isEmpty else { throw .invalidItem("an item without an id") }
    var item = item
    item.id = try id(item.id)
    for value in item.fields { try field(value.name)?.check(value.value) }
    reconcile(&item)
    return item
  }
}

extension FieldValue {
  /// The value in one line: a text as it stands, the elements of a list with commas between them, anything else as JSON.
  fileprivate var line: String {
    switch jsonValue {
    case .string(let text): text
    case .array(let elements):
      elements.map { element in element.string ?? element.jsonText }.joined(separator: ", ")
    case let other: other.jsonText
    }
  }
}

/// The text, where it is a URL that items can be told by.
///
/// - Throws: `invalidItem` for any other.
package func checkedURL(_ text: String) throws(LibraryError) -> String {
  guard let url = URL(favoriteID: text), url.scheme != nil else {
    throw .invalidItem("\(text.quoted) is no URL")
  }
  return text
}
