import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A field of a library's items, as far as it is known: for files that other programs wrote, and for the columns of tables.
public struct LibraryField: Hashable, Sendable {
  /// What a field holds.
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

  /// As the store knows it.
  public let name: String
  /// What it holds.
  public let kind: Kind
  /// Whether it is written all the time, as a playback position is: two devices that do never disagree.
  public let isQuiet: Bool
  /// Whether a table has a column for it even where no item has a value.
  public let alwaysHasColumn: Bool

  /// A field of a library's items.
  ///
  /// - Parameters:
  ///   - name: as the store knows it.
  ///   - kind: what it holds.
  ///   - isQuiet: whether it is written all the time, as a playback position is.
  ///   - alwaysHasColumn: whether a table has a column for it even where no item has a value.
  public init(_ name: String, _ kind: Kind = .text, isQuiet: Bool = false, alwaysHasColumn: Bool = false) {
    self.name = name
    self.kind = kind
    self.isQuiet = isQuiet
    self.alwaysHasColumn = alwaysHasColumn
  }

  /// Refuses a value that no item of the library may have. Null, and what only a later version understands, may stand in any field.
  ///
  /// - Throws: `invalidItem`, which names the field.
  public func check(_ value: FieldValue) throws(LibraryError) {
    switch (kind, value) {
    case (_, .null), (_, .unknown), (.text, .string), (.bool, .bool): break
    case (.url, .string(let text)):
      guard URL(string: text) != nil else { throw .invalidItem("\(name) is no URL: \(text.quoted)") }
    case (.number(let range), .int64), (.number(let range), .double):
      guard range.contains(value.number ?? .nan) else {
        throw .invalidItem("\(name) is \(value.jsonValue.jsonText), \(Self.bounds(of: range))")
      }
    case (.texts, .string): break
    case (.texts, .json(let list)):
      guard let elements = list.value.array, elements.allSatisfy({ $0.string != nil }) else {
        throw .invalidItem("\(name) is no list of texts")
      }
    default: throw .invalidItem("\(name) is \(value.jsonValue.kind), not \(kind.noun)")
    }
  }

  /// Refuses a member of a record, as `check` does the field that it becomes.
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
  /// As a message says it: "a number".
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
