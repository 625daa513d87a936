import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
  public func check(_ value: FieldValue) throws(LibraryError) {
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
    let value: FieldValue
    do throws(MalformedError) {
      value = try FieldValue(json)
    } catch {
      throw .invalidItem("\(name): \(error.reason)")
    }
    try check(value)
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
