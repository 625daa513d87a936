import Heartlog
import HeartlogFormat

/// A JSON text with many records.
///
/// It finds the range and the line of each record without parsing it, in one pass and without recursion. Each
/// record is then parsed separately, so a malformed record does not affect the others.
public struct JSONDocument: Sendable {
  /// The position of a value, which is not parsed before `value(_:)` is called.
  public struct Node: Hashable, Sendable {
    /// The line on which it begins; the first line is 1.
    public let line: Int
    /// The range of its bytes in the text.
    public let range: Range<Int>
  }

  /// A member of an object.
  public struct Member: Hashable, Sendable {
    /// The name, without quotation marks and escapes.
    public let name: String
    /// The value after the colon.
    public let value: Node
  }

  private let bytes: [UInt8]
  /// The whole text.
  public let root: Node

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
  public func isArray(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "[") }
  /// Whether a value begins as an object.
  public func isObject(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "{") }
  /// Whether a value begins as a string.
  public func isString(_ node: Node) -> Bool { first(of: node) == UInt8(ascii: "\"") }

  /// Parses a value.
  ///
  /// - Throws: `invalidItem` if it is malformed.
  public func value(_ node: Node) throws(LibraryError) -> JSONValue {
    do throws(MalformedError) {
      // A record contains fields, and these contain values of the maximum depth.
      return try JSONValue.parse(Array(bytes[node.range]), depthMax: Limits.jsonDepthMax + 4)
    } catch {
      throw .invalidItem("\(error.reason) of the record")
    }
  }

  /// The elements of an array, and the first error between or after them. O(bytes).
  public func elements(of array: Node) -> (elements: [Node], failure: FileContents.Refusal?) {
    bytes.withUnsafeBytes { bytes in
      var cursor = Cursor(bytes, at: array)
      var elements: [Node] = []
      guard cursor.parser.take(UInt8(ascii: "[")) else {
        return ([], cursor.failure("a list should be here"))
      }
      if cursor.parser.take(UInt8(ascii: "]")) { return ([], trailing(&cursor, behind: array)) }
      while true {
        elements.append(cursor.skipValue())
        if cursor.parser.take(UInt8(ascii: ",")) { continue }
        guard cursor.parser.take(UInt8(ascii: "]")) else {
          return (elements, cursor.failure("the list has no end"))
        }
        return (elements, trailing(&cursor, behind: array))
      }
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
  public func members(of object: Node) -> (members: [Member], failure: FileContents.Refusal?) {
    bytes.withUnsafeBytes { bytes in
      var cursor = Cursor(bytes, at: object)
      var members: [Member] = []
      guard cursor.parser.take(UInt8(ascii: "{")) else {
        return ([], cursor.failure("an object should be here"))
      }
      if cursor.parser.take(UInt8(ascii: "}")) { return ([], trailing(&cursor, behind: object)) }
      while true {
        guard let name = cursor.name() else { return (members, cursor.failure("a member without a name")) }
        guard cursor.parser.take(UInt8(ascii: ":")) else {
          return (members, cursor.failure("the member \"\(name.prefix(64))\" has no value"))
        }
        members.append(Member(name: name, value: cursor.skipValue()))
        if cursor.parser.take(UInt8(ascii: ",")) { continue }
        guard cursor.parser.take(UInt8(ascii: "}")) else {
          return (members, cursor.failure("the object has no end"))
        }
        return (members, trailing(&cursor, behind: object))
      }
    }
  }

  /// The value of a member of the root object, or of a nested object; `nil` if there is none.
  ///
  /// - Parameter path: the names of the members, from the outermost inwards.
  public func node(_ path: String...) -> Node? {
    var node = root
    for name in path {
      guard isObject(node), let member = members(of: node).members.first(where: { $0.name == name }) else {
        return nil
      }
      node = member.value
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
