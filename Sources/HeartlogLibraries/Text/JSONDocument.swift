import Heartlog

/// A JSON text with many records.
///
/// It finds the range and the line of each record without parsing it, in one pass and without recursion. Each
/// record is then parsed separately, so a malformed record does not affect the others.
public struct JSONDocument: Sendable {
  /// The position of a value, which is not parsed before `value(_:)` is called.
  public struct Node: Hashable, Sendable {
    /// The line on which it begins; the first line is 1.
    package let line: Int
    /// The range of its bytes in the text.
    package let range: Range<Int>
  }

  /// A member of an object.
  package struct Member: Hashable, Sendable {
    /// The name, without quotation marks and escapes.
    package let name: String
    /// The value after the colon.
    package let value: Node
  }

  private let bytes: [UInt8]
  /// The whole text.
  package let root: Node

  /// Creates a document for a text, which may be cut off or malformed.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    root = bytes.withUnsafeBytes { bytes in
      var cursor = Cursor(bytes, at: Node(line: 1, range: 0..<bytes.count))
      cursor.parser.skipWhitespace()
      return cursor.node(cursor.parser.offset..<bytes.count)
    }
  }

  private func first(of node: Node) -> UInt8 { node.range.isEmpty ? 0 : bytes[node.range.lowerBound] }

  /// Whether a value begins as an array.
  package func isArray(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "[") }
  /// Whether a value begins as an object.
  package func isObject(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "{") }
  /// Whether a value begins as a string.
  package func isString(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "\"") }

  /// Parses a value.
  ///
  /// - Throws: `invalidItem` if it is malformed.
  package func value(_ node: Node) throws(LibraryError) -> JSONValue {
    do throws(MalformedError) {
      // A record contains fields, and these contain values of the maximum depth.
      return try JSONValue.parse(Array(bytes[node.range]), depthMax: Limits.jsonDepthMax + 4)
    } catch {
      throw .invalidItem("\(error.reason) of the record")
    }
  }

  /// The elements of an array, and the first error between or after them. O(bytes).
  public func elements(of array: Node) -> (elements: [Node], failure: FileContents.Refusal?) {
    parts(of: array, "a list", in: "[]") { $0.skipValue() }
  }

  /// The parts of an array or an object up to the first error, and the first error between or after them.
  private func parts<Part>(
    of node: Node, _ noun: String, in brackets: StaticString,
    _ part: (inout Cursor) throws(MalformedError) -> Part
  ) -> ([Part], FileContents.Refusal?) {
    bytes.withUnsafeBytes { bytes in
      var cursor = Cursor(bytes, at: node)
      var parts: [Part] = []
      let (open, close) = (brackets.utf8Start[0], brackets.utf8Start[1])
      guard cursor.parser.take(open) else { return ([], cursor.failure("\(noun) should be here")) }
      if cursor.parser.take(close) { return ([], trailing(&cursor, behind: node)) }
      do throws(MalformedError) {
        repeat { parts.append(try part(&cursor)) } while cursor.parser.take(UInt8(ascii: ","))
        guard cursor.parser.take(close) else {
          throw MalformedError("the \(noun.drop { $0 != " " }.dropFirst()) has no end")
        }
      } catch {
        return (parts, cursor.failure(error.reason))
      }
      return (parts, trailing(&cursor, behind: node))
    }
  }

  /// The elements of the root, if it is an array, with the first error between or after them. Otherwise each line is
  /// a value, if the first line can be one, or the whole text is. O(bytes).
  package func records() -> (records: [Node], failure: FileContents.Refusal?) {
    if isArray(root) {
      let (elements, failure) = elements(of: root)
      return (elements, failure)
    }
    var line = root.line
    var start = root.range.lowerBound
    var records: [Node] = []
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
      let value = bytes[start..<end].withoutOuterWhiteSpace
      if records.isEmpty, value.last != UInt8(ascii: "}") { return ([root], nil) }
      if !value.isEmpty { records.append(Node(line: line, range: value.startIndex..<value.endIndex)) }
      line += 1
      start = end + 1
    }
    return (records, nil)
  }

  /// The members of an object up to the first error, and the first error between or after them. O(bytes).
  package func members(of object: Node) -> (members: [Member], failure: FileContents.Refusal?) {
    parts(of: object, "an object", in: "{}") { (cursor) throws(MalformedError) in
      guard let name = cursor.name() else { throw MalformedError("a member without a name") }
      guard cursor.parser.take(UInt8(ascii: ":")) else {
        throw MalformedError("the member \"\(name.prefix(64))\" has no value")
      }
      return Member(name: name, value: cursor.skipValue())
    }
  }

  /// The value of a member of the root object, or of a nested object; `nil` if there is none.
  ///
  /// - Parameter path: the names of the members, from the outermost inwards.
  public func node(_ path: String...) -> Node? {
    var node = root
    for name in path {
      guard isObject(node), let value = members(of: node).members[name] else {
        return nil
      }
      node = value
    }
    return node
  }

  /// Checks that only white space follows the root. What follows any other node is checked with the node that
  /// contains it.
  private func trailing(_ cursor: inout Cursor, behind node: Node) -> FileContents.Refusal? {
    guard node.range.lowerBound == root.range.lowerBound else { return nil }
    cursor.parser.skipWhitespace()
    return cursor.parser.offset < bytes.count
      ? cursor.failure("text after the end of the JSON") : nil
  }
}

extension [JSONDocument.Member] {
  /// The value of the first member with this name.
  package subscript(name: String) -> JSONDocument.Node? { first { $0.name == name }?.value }
}

/// A parser position in a text, with its line. It must not outlive the buffer that it was created for.
private struct Cursor {
  private let bytes: UnsafeRawBufferPointer
  var parser: JSONParser
  private var line: Int
  /// The offset up to which line feeds have been counted.
  private var countedTo: Int

  init(_ bytes: UnsafeRawBufferPointer, at node: JSONDocument.Node) {
    self.bytes = bytes
    parser = JSONParser(bytes, depthMax: 0)
    parser.offset = node.range.lowerBound
    line = node.line
    countedTo = node.range.lowerBound
  }

  /// Creates a node. Nodes must be created in the order of their offsets.
  mutating func node(_ range: Range<Int>) -> JSONDocument.Node {
    JSONDocument.Node(line: line(at: range.lowerBound), range: range)
  }

  mutating func skipValue() -> JSONDocument.Node { node(parser.skipValue()) }

  /// The name of a member; `nil` if there is none.
  mutating func name() -> String? {
    parser.skipWhitespace()
    let start = parser.offset
    guard parser.current == UInt8(ascii: "\""), parser.skipString() else { return nil }
    let end = parser.offset
    parser.offset = start
    let name = try? parser.string()
    parser.offset = end
    return name
  }

  mutating func failure(_ reason: String) -> FileContents.Refusal {
    .init(line: line(at: parser.offset), reason: reason)
  }

  private mutating func line(at offset: Int) -> Int {
    line += bytes[countedTo..<offset].count { $0 == 0x0A }
    countedTo = offset
    return line
  }
}

/// The outline of a JSON text, by which formats recognize their files.
public enum JSONOutline: Hashable, Sendable {
  /// An object, with the names of its first members.
  case object(Set<String>)
  /// An array whose first element is an object, with the names of that object's first members.
  case objects(Set<String>)
  /// An array whose first element is a string.
  case strings
  /// An array without elements.
  case emptyArray
  /// Any other value, or no JSON.
  case other

  /// Creates the outline of a file from its beginning.
  public init(_ beginning: [UInt8]) {
    let document = JSONDocument(beginning)
    func names(_ node: JSONDocument.Node) -> Set<String> {
      Set(document.members(of: node).members.map(\.name))
    }
    if document.isObject(document.root) {
      self = .object(names(document.root))
    } else if document.isArray(document.root) {
      let (elements, failure) = document.elements(of: document.root)
      guard let first = elements.first else {
        self = failure == nil ? .emptyArray : .other
        return
      }
      self =
        document.isObject(first) ? .objects(names(first)) : document.isString(first) ? .strings : .other
    } else {
      self = .other
    }
  }

  /// The names of the first members of an object; empty for any other value.
  public var objectNames: Set<String> { if case .object(let names) = self { names } else { [] } }

  /// The names of the first members of the first element of an array; empty for any other value.
  public var elementNames: Set<String> { if case .objects(let names) = self { names } else { [] } }

  /// The names of the first members of the first record: of an array, or of records one after the other.
  package var recordNames: Set<String> { elementNames.union(objectNames) }
}

/// What the readers of this module take: a JSON text, as `Data`, bytes or a string, or a value parsed from one.
public protocol JSONSource {
  /// Returns the value.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the text is not JSON.
  func json() throws(LibraryError) -> JSONValue
}

extension JSONValue: JSONSource {
  /// The value itself.
  public func json() -> JSONValue { self }
}

extension Array: JSONSource where Element == UInt8 {
  public func json() throws(LibraryError) -> JSONValue {
    do { return try JSONValue.parse(self) } catch { throw .invalidAnswer(error.reason) }
  }
}

extension Data: JSONSource {
  public func json() throws(LibraryError) -> JSONValue { try Array(self).json() }
}

extension String: JSONSource {
  public func json() throws(LibraryError) -> JSONValue { try Array(utf8).json() }
}
