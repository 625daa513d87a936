import Heartlog

/// What the beginning of a file tells of the JSON in it: enough to know its kind by.
enum JSONOutline {
  /// An object, with the names of its first members.
  case object(Set<String>)
  /// An array whose first element is an object, with the names of that one's first members.
  case objects(Set<String>)
  /// An array whose first element is a string.
  case strings
  case emptyArray
  /// No JSON, or a value that no format here begins with.
  case other

  init(_ beginning: [UInt8]) {
    let pieces = JSONPieces(beginning)
    func names(_ piece: JSONPieces.Piece) -> Set<String> {
      Set(pieces.members(of: piece).members.map(\.name))
    }
    if pieces.isObject(pieces.root) {
      self = .object(names(pieces.root))
    } else if pieces.isArray(pieces.root) {
      let (elements, failure) = pieces.elements(of: pieces.root)
      guard let first = elements.first else {
        self = failure == nil ? .emptyArray : .other
        return
      }
      self =
        pieces.isObject(first)
        ? .objects(names(first)) : pieces.first(of: first) == UInt8(ascii: "\"") ? .strings : .other
    } else {
      self = .other
    }
  }

  /// The names of the first members of an object; none for another value.
  var objectNames: Set<String> { if case .object(let names) = self { names } else { [] } }

  /// The names of the first members of the first element of an array; none for another value.
  var elementNames: Set<String> { if case .objects(let names) = self { names } else { [] } }
}
