import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Describes a library: its fields, the spelling of its ids, its titles and web addresses, and its own file
/// formats.
///
/// Only `name` is required. A descriptor overrides other requirements if its library differs from the
/// default:
///
/// ```swift
/// struct RecipesDescriptor: LibraryDescriptor {
///   let name = "recipes"
///   let fields = [LibraryField("title"), LibraryField("minutes", .number(0...10_000))]
/// }
/// ```
///
/// Import, export and the command line use the descriptor. `LibraryRegistry` lists the ready-made ones. An
/// app's own item type provides one through `DescribedItem`.
public protocol LibraryDescriptor: Sendable {
  /// The library's name in a store.
  var name: String { get }

  /// The fields of the items, in the order in which tables show them.
  ///
  /// A library without fields is opaque: no value is refused, and every file format accepts its items.
  var fields: [LibraryField] { get }

  /// The kinds of items for which there are special file formats.
  var traits: LibraryTraits { get }

  /// The canonical spelling of an id.
  ///
  /// - Parameter text: an id as a file spells it; never empty.
  /// - Throws: `invalidItem` for a text that cannot be an id of the library.
  func id(_ text: String) throws(LibraryError) -> String

  /// Corrects values that depend on each other. Each value has been checked by itself.
  func reconcile(_ item: inout FileItem)

  /// Removes the values that belong to one device, before an item is exported and before it is imported.
  func removeLocal(_ item: inout FileItem)

  /// The fields that hold the title. The first one that an item has is used.
  var titleFields: [String] { get }

  /// The fields that hold the subtitle. The first one that an item has is used.
  var subtitleFields: [String] { get }

  /// Names of table columns that hold the id, other than `id`, in lower case.
  var idColumns: Set<String> { get }

  /// Fields by other names of their table columns, in lower case.
  var columnAliases: [String: String] { get }

  /// The title of an item's bookmark.
  func bookmarkTitle(of item: FileItem) -> String

  /// The address at which a browser shows an item; `nil` if there is none.
  func address(of item: FileItem) -> String?

  /// The item at a bookmarked address; `nil` if the address is not one of an item of the library.
  ///
  /// - Parameters:
  ///   - address: the address of the bookmark. It is not checked to be a URL.
  ///   - title: the title of the bookmark; may be empty.
  /// - Throws: `invalidItem` if the address names an item that is not valid.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem?

  /// File formats of this library alone, such as the answers of its service.
  var formats: [any FileFormat] { get }

  /// The format in which the library's app stores its items without Heartlog; `nil` if there is none.
  var appRecords: (any AppRecords)? { get }
}

/// The kinds of items for which there are special file formats.
public struct LibraryTraits: OptionSet, Sendable {
  public let rawValue: Int

  /// Creates a set from its bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Items have a place on a map, in the fields `lat` and `lon`.
  public static let places = LibraryTraits(rawValue: 1)
  /// Items are publications, in the fields of `Paper`.
  public static let publications = LibraryTraits(rawValue: 2)
  /// Items are settings, which are never favorites.
  public static let settings = LibraryTraits(rawValue: 4)
}

/// An item type with a descriptor of its library.
public protocol DescribedItem: FavoriteItem {
  /// The descriptor of `library`. Both have the same name.
  static var descriptor: any LibraryDescriptor { get }
}

extension LibraryDescriptor {
  /// None.
  public var fields: [LibraryField] { [] }

  /// None.
  public var traits: LibraryTraits { [] }

  /// The text, unchanged.
  public func id(_ text: String) throws(LibraryError) -> String { text }

  /// Changes nothing.
  public func reconcile(_ item: inout FileItem) {}

  /// Removes the local fields.
  public func removeLocal(_ item: inout FileItem) { item.remove(localFields) }

  /// `title`, `name` and `breed`.
  public var titleFields: [String] { Self.generalTitleFields }

  /// `author`, `authors`, `creators` and `country`.
  public var subtitleFields: [String] { ["author", "authors", "creators", "country"] }

  /// None.
  public var idColumns: Set<String> { [] }

  /// None.
  public var columnAliases: [String: String] { [:] }

  /// The title; the id of an item without a title.
  public func bookmarkTitle(of item: FileItem) -> String { title(of: item) ?? item.id }

  /// The first of the fields `fileURL`, `url`, `linkURL`, `link` and `href` that holds a URL; otherwise the id, if it is a URL.
  public func address(of item: FileItem) -> String? {
    func isAddress(_ text: String) -> Bool {
      ["http://", "https://", "file:///"].contains { text.hasPrefix($0) } && URL(string: text) != nil
    }
    let texts = ["fileURL", "url", "linkURL", "link", "href"].lazy.compactMap { item[$0]?.text }
    return texts.first(where: isAddress) ?? (isAddress(item.id) ? item.id : nil)
  }

  /// In a library without fields, the item whose id is the address; otherwise `nil`.
  public func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard isOpaque else { return nil }
    var item = FileItem(id: address)
    if !title.isEmpty { item.set("title", .string(title)) }
    return item
  }

  /// None.
  public var formats: [any FileFormat] { [] }

  /// `nil`.
  public var appRecords: (any AppRecords)? { nil }
}

extension LibraryDescriptor {
  /// The first of `titleFields` with a text that is not empty.
  public func title(of item: FileItem) -> String? {
    titleFields.lazy.compactMap { item[$0]?.text }.first { !$0.isEmpty }
  }

  /// An item in one line: its title and its subtitle.
  public func titleLine(of item: FileItem) -> String { titleLine { item[$0] } }

  /// An item of a store in one line: its title and its subtitle.
  public func titleLine(of item: ItemState) -> String {
    titleLine { name in item.value(of: name).flatMap { $0.isNull ? nil : $0 } }
  }

  private func titleLine(_ value: (String) -> FieldValue?) -> String {
    // A general name that another program used is better than no title.
    [titleFields + Self.generalTitleFields, subtitleFields].compactMap { names in
      names.lazy.compactMap(value).first?.line
    }.joined(separator: " — ")
  }

  private static var generalTitleFields: [String] { ["title", "name", "breed"] }

  /// Whether the fields of the items are unknown.
  package var isOpaque: Bool { fields.isEmpty }

  /// The names of the local fields.
  package var localFields: Set<String> { Set(fields.filter(\.isLocal).map(\.name)) }

  /// The field with this name; `nil` if it is unknown.
  package func field(_ name: String) -> LibraryField? { fields.first { $0.name == name } }

  /// Checks the values of known fields, and returns the item with its id in the canonical spelling.
  ///
  /// - Throws: `invalidItem` with the first error.
  public func checked(_ item: FileItem) throws(LibraryError) -> FileItem {
    guard !item.id.isEmpty else { throw .invalidItem("an item without an id") }
    var item = item
    item.id = try id(item.id)
    let known = fields
    for field in item.fields { try known.first { $0.name == field.name }?.check(field.value) }
    reconcile(&item)
    return item
  }
}

extension FieldValue {
  /// The value in one line: a text unchanged, the elements of a list separated by commas, anything else as
  /// JSON.
  fileprivate var line: String {
    switch jsonValue {
    case .string(let text): text
    case .array(let elements):
      elements.map { element in element.string ?? element.jsonText }.joined(separator: ", ")
    case let other: other.jsonText
    }
  }
}

/// The URL of an item in a text; `nil` if the text has none, or one without a scheme. Characters that a URL cannot
/// have, such as spaces, are percent-encoded.
func absoluteURL(_ text: String) -> URL? {
  guard let url = URL(string: text), url.scheme != nil else { return nil }
  return url
}

/// The id of an item that is identified by a URL.
///
/// - Throws: `invalidItem` if the text is no URL.
func checkedURL(_ text: String) throws(LibraryError) -> String {
  guard let url = absoluteURL(text) else { throw .invalidItem("\(text.quoted) is not a URL") }
  return url.favoriteID
}
