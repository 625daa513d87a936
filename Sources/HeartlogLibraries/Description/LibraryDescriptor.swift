import Heartlog

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
  var traits: Set<LibraryTrait> { get }

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
public enum LibraryTrait: Sendable {
  /// Items have a place on a map, in the fields `lat` and `lon`.
  case places
  /// Items are publications, in the fields of `Paper`.
  case publications
  /// Items are settings, which are never favorites.
  case settings
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
  public var traits: Set<LibraryTrait> { [] }

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
  package func title(of item: FileItem) -> String? {
    titleFields.lazy.compactMap { item[$0]?.text }.first { !$0.isEmpty }
  }

  /// An item in one line: its title and its subtitle.
  public func titleLine(of item: FileItem) -> String {
    // A general name that another program used is better than no title.
    [titleFields + Self.generalTitleFields, subtitleFields].compactMap { names in
      names.lazy.compactMap { item[$0] }.first?.line
    }.joined(separator: " — ")
  }

  /// An item of a store in one line.
  package func titleLine(of item: ItemState) -> String { titleLine(of: FileItem(item)) }

  private static var generalTitleFields: [String] { ["title", "name", "breed"] }

  /// Whether the fields of the items are unknown.
  package var isOpaque: Bool { fields.isEmpty }
  /// Whether the items may be of a kind: nothing is known of those of an opaque library.
  package func mayHold(_ trait: LibraryTrait) -> Bool { isOpaque || traits.contains(trait) }

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

/// A known field of a library's items: its values are checked on import, and tables have a column for it.
public struct LibraryField: Hashable, Sendable {
  /// The kinds of values.
  public enum Kind: Hashable, Sendable {
    /// Any text.
    case text
    /// A text that is a URL.
    case url
    /// True or false.
    case bool
    /// A number within these bounds.
    case number(ClosedRange<Double>)
    /// A list of texts, or a single text for a list of one.
    case texts

    /// A number of seconds: 0 or more.
    public static let seconds = Kind.number(0...Double.greatestFiniteMagnitude)
  }

  /// The name of the field in the store.
  public let name: String
  /// The kind of its values.
  public let kind: Kind
  /// Whether it is written continuously, like a playback position. Concurrent quiet writes are not conflicts.
  public let isQuiet: Bool
  /// Whether a table has a column for the field even if no item has a value.
  public let alwaysHasColumn: Bool
  /// Whether it belongs to one device, like the path of a file. Local fields are neither exported nor imported.
  public let isLocal: Bool

  /// Creates a description of a field.
  ///
  /// - Parameters:
  ///   - name: the name of the field in the store.
  ///   - kind: the kind of its values.
  ///   - isQuiet: whether it is written continuously, like a playback position.
  ///   - alwaysHasColumn: whether a table has a column for the field even if no item has a value.
  ///   - isLocal: whether it belongs to one device, as `FavoriteItem.localFields` of the item type says.
  public init(
    _ name: String, _ kind: Kind = .text, isQuiet: Bool = false, alwaysHasColumn: Bool = false,
    isLocal: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.isQuiet = isQuiet
    self.alwaysHasColumn = alwaysHasColumn
    self.isLocal = isLocal
  }

  /// Checks a value. Null, and values of a later version of the store, are valid in any field.
  ///
  /// - Throws: `invalidItem`, which names the field, if the value is not valid.
  package func check(_ value: FieldValue) throws(LibraryError) {
    switch (kind, value) {
    case (_, .null), (_, .unknown), (.text, .string), (.bool, .bool): break
    case (.url, .string(let text)):
      guard URL(string: text) != nil else { throw .invalidItem("\(name) is not a URL: \(text.quoted)") }
    case (.number(let range), .int64), (.number(let range), .double):
      guard range.contains(value.number ?? .nan) else {
        throw .invalidItem("\(name) is \(value.jsonValue.jsonText), \(Self.bounds(of: range))")
      }
    case (.texts, .string): break
    case (.texts, .json(let list)):
      guard let elements = list.value.array, elements.allSatisfy({ $0.string != nil }) else {
        throw .invalidItem("\(name) is not a list of texts")
      }
    default: throw .invalidItem("\(name) is \(value.jsonValue.kind), not \(kind.noun)")
    }
  }

  /// Checks a member of a record as the value of this field.
  package func check(json: JSONValue) throws(LibraryError) {
    try check(try LibraryError.checking(FieldValue(json), in: "\(name): "))
  }

  private static func bounds(of range: ClosedRange<Double>) -> String {
    let least = JSONValue.double(range.lowerBound).jsonText
    guard range.upperBound < .greatestFiniteMagnitude else { return "which must be \(least) or more" }
    return "which must be \(least) to \(JSONValue.double(range.upperBound).jsonText)"
  }
}

extension LibraryField.Kind {
  /// The kind as a noun in messages: "a number".
  fileprivate var noun: String {
    switch self {
    case .text: "a text"
    case .url: "a URL"
    case .bool: "true or false"
    case .number: "a number"
    case .texts: "a list of texts"
    }
  }
}

/// The descriptors of libraries, by name.
///
/// A registry is a value. An app with a library of its own makes a registry that includes it:
///
/// ```swift
/// let libraries = LibraryRegistry.standard.adding(RecipesDescriptor())
/// ```
public struct LibraryRegistry: Sendable {
  /// The ready-made libraries, in the order in which they are listed.
  public static let standard = LibraryRegistry([
    Archive.descriptor, Track.descriptor, Paper.descriptor, City.descriptor, BreedImage.descriptor,
    Book.descriptor, PlaybackSettings.descriptor,
  ])

  /// The descriptors, in the order in which they were registered.
  package private(set) var descriptors: [any LibraryDescriptor] = []

  /// Creates a registry of these libraries. A later descriptor replaces an earlier one of the same name.
  public init(_ descriptors: [any LibraryDescriptor]) {
    for descriptor in descriptors { self = adding(descriptor) }
  }

  /// The registry with one more descriptor, which replaces one of the same name.
  public func adding(_ descriptor: any LibraryDescriptor) -> LibraryRegistry {
    var registry = self
    if let index = descriptors.firstIndex(where: { $0.name == descriptor.name }) {
      registry.descriptors[index] = descriptor
    } else {
      registry.descriptors.append(descriptor)
    }
    return registry
  }

  /// The names of the libraries, in the order in which they were registered.
  package var names: [String] { descriptors.map(\.name) }

  /// The descriptor of a library. A library that is not registered gets a descriptor with its name only.
  public subscript(name: String) -> any LibraryDescriptor {
    descriptors.first { $0.name == name } ?? UnknownLibrary(name: name)
  }
}

/// A library that is not registered.
private struct UnknownLibrary: LibraryDescriptor {
  let name: String
}

/// Errors of the ready-made libraries.
public enum LibraryError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// A value that no item may have, or a record that lacks a required part of an item.
  case invalidItem(String)
  /// An answer of an API that is malformed, or that reports an error.
  case invalidAnswer(String)
  /// An item to be added is a favorite already. The text is the message that an app shows.
  case alreadyFavorite(String)

  public var description: String {
    switch self {
    case .invalidItem(let reason), .invalidAnswer(let reason), .alreadyFavorite(let reason): reason
    }
  }

  /// The same sentence, for alerts.
  public var errorDescription: String? { description }

  /// A value, or `invalidItem` with the reason why it is malformed.
  package static func checking<Value>(
    _ value: @autoclosure () throws(MalformedError) -> Value, in place: String = ""
  ) throws(LibraryError) -> Value {
    do { return try value() } catch { throw .invalidItem(place + error.reason) }
  }
}
