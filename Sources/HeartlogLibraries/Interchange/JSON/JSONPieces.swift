import Heartlog

/// A JSON text taken apart without being parsed: where its records are, and on which line each begins.
///
/// A record is parsed on its own, so that one that is malformed takes no other with it. Only strings and brackets are looked at, in one
/// pass and without recursion.
struct JSONPieces {
  /// A value, by its place. It is parsed, and found to be none, only where it is asked for.
  struct Piece {
    /// The first line is 1.
    let line: Int
    let range: Range<Int>
  }

  struct Member {
    let name: String
    let value: Piece
  }

  let bytes: [UInt8]
  /// The whole text.
  let root: Piece

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var cursor = JSONCursor(bytes, at: 0, line: 1)
    cursor.skipSpace()
    root = Piece(line: cursor.line, range: cursor.offset..<bytes.count)
  }

  /// The first byte of a value; 0 where there is none.
  func first(of piece: Piece) -> UInt8 { piece.range.isEmpty ? 0 : bytes[piece.range.lowerBound] }

  func isArray(_ piece: Piece) -> Bool { first(of: piece) == UInt8(ascii: "[") }
  func isObject(_ piece: Piece) -> Bool { first(of: piece) == UInt8(ascii: "{") }

  /// Parses a value.
  ///
  /// - Throws: `invalidItem` with what is malformed in it.
  func value(_ piece: Piece) throws(LibraryError) -> JSONValue {
    do throws(MalformedError) {
      // A record wraps fields, and these wrap a value as deep as a value may be.
      return try JSONValue.parse(Array(bytes[piece.range]), depthMax: Limits.jsonDepthMax + 4)
    } catch {
      throw .invalidItem("\(error.reason) of the record")
    }
  }

  /// The elements of an array, and what is wrong between or behind them. O(bytes).
  func elements(of array: Piece) -> (elements: [Piece], failure: FileContents.Refusal?) {
    var cursor = JSONCursor(bytes, at: array.range.lowerBound, line: array.line)
    var elements: [Piece] = []
    guard cursor.enter(UInt8(ascii: "[")) else { return ([], cursor.failure("a list should be here")) }
    if cursor.leave(UInt8(ascii: "]")) { return ([], trailing(after: cursor, of: array)) }
    while true {
      elements.append(cursor.skipValue())
      switch cursor.current {
      case UInt8(ascii: ","): cursor.step()
      case UInt8(ascii: "]"):
        cursor.step()
        return (elements, trailing(after: cursor, of: array))
      default: return (elements, cursor.failure("the list has no end"))
      }
    }
  }

  /// The members of an object as far as it goes, and what is wrong between or behind them. O(bytes).
  func members(of object: Piece) -> (members: [Member], failure: FileContents.Refusal?) {
    var cursor = JSONCursor(bytes, at: object.range.lowerBound, line: object.line)
    var members: [Member] = []
    guard cursor.enter(UInt8(ascii: "{")) else { return ([], cursor.failure("an object should be here")) }
    if cursor.leave(UInt8(ascii: "}")) { return ([], trailing(after: cursor, of: object)) }
    while true {
      cursor.skipSpace()
      let start = cursor.offset
      guard cursor.current == UInt8(ascii: "\""), cursor.skipString(),
        let name = (try? JSONValue.parse(Array(bytes[start..<cursor.offset])))?.string
      else { return (members, cursor.failure("a member without a name")) }
      guard cursor.leave(UInt8(ascii: ":")) else {
        return (members, cursor.failure("the member \"\(name.prefix(64))\" has no value"))
      }
      members.append(Member(name: name, value: cursor.skipValue()))
      switch cursor.current {
      case UInt8(ascii: ","): cursor.step()
      case UInt8(ascii: "}"):
        cursor.step()
        return (members, trailing(after: cursor, of: object))
      default: return (members, cursor.failure("the object has no end"))
      }
    }
  }

  /// The value of a member of the text, or of an object in it; nil where there is none.
  func piece(_ path: String...) -> Piece? {
    var piece = root
    for name in path {
      guard isObject(piece), let member = members(of: piece).members.first(where: { $0.name == name }) else {
        return nil
      }
      piece = member.value
    }
    return piece
  }

  /// Behind the whole text there is only white space; what is behind a part is the business of what holds it.
  private func trailing(after cursor: JSONCursor, of piece: Piece) -> FileContents.Refusal? {
    guard piece.range.lowerBound == root.range.lowerBound else { return nil }
    var cursor = cursor
    cursor.skipSpace()
    return cursor.offset < bytes.count ? cursor.failure("something after the end of the JSON text") : nil
  }
}

/// A place in a JSON text.
private struct JSONCursor {
  let bytes: [UInt8]
  private(set) var offset: Int
  private(set) var line: Int

  init(_ bytes: [UInt8], at offset: Int, line: Int) {
    self.bytes = bytes
    self.offset = offset
    self.line = line
  }

  /// 0, which stands nowhere in JSON, at the end.
  var current: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  func failure(_ reason: String) -> FileContents.Refusal { .init(line: line, reason: reason) }

  mutating func step() {
    if current == 0x0A { line += 1 }
    offset += 1
  }

  mutating func skipSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: step()
      default: return
      }
    }
  }

  /// Passes an opening bracket.
  mutating func enter(_ bracket: UInt8) -> Bool {
    guard current == bracket else { return false }
    offset += 1
    return true
  }

  /// Passes a byte that may have white space before it; stays where another follows.
  mutating func leave(_ byte: UInt8) -> Bool {
    skipSpace()
    guard current == byte else { return false }
    offset += 1
    return true
  }

  /// Passes a string; false where the text ends in it.
  mutating func skipString() -> Bool {
    offset += 1
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return true
      case UInt8(ascii: "\\"):
        offset += 1
        if offset < bytes.count { step() }
      default: step()
      }
    }
    return false
  }

  /// Passes what stands up to the next comma or closing bracket of the level.
  mutating func skipValue() -> JSONPieces.Piece {
    skipSpace()
    let start = offset
    let startLine = line
    var depth = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""): _ = skipString()
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        offset += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if depth == 0 { return .init(line: startLine, range: start..<offset) }
        depth -= 1
        offset += 1
      case UInt8(ascii: ","):
        if depth == 0 { return .init(line: startLine, range: start..<offset) }
        offset += 1
      default: step()
      }
    }
    return .init(line: startLine, range: start..<bytes.count)
  }
}
