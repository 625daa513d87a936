/// What the beginning of a file tells of the JSON in it: enough to know its kind by.
public enum JSONOutline: Hashable, Sendable {
  /// An object, with the names of its first members.
  case object(Set<String>)
  /// An array whose first element is an object, with the names of that one's first members.
  case objects(Set<String>)
  /// An array whose first element is a string.
  case strings
  /// An array without elements.
  case emptyArray
  /// No JSON, or a value that no format here begins with.
  case other

  /// The outline of a file that begins so.
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

  /// The names of the first members of an object; none for another value.
  public var objectNames: Set<String> { if case .object(let names) = self { names } else { [] } }

  /// The names of the first members of the first element of an array; none for another value.
  public var elementNames: Set<String> { if case .objects(let names) = self { names } else { [] } }
}
