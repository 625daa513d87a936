import HeartlogEvents

/// Where the elements of a JSON array stand in its text: each is parsed on its own, so that a bad one takes no other with it.
///
/// An object is the array's only element, unless it has a member "items" first, whose elements are taken. One pass.
struct JSONElements {
  struct Element {
    /// The first line is 1.
    let line: Int
    let range: Range<Int>
  }

  private(set) var elements: [Element] = []

  /// - Throws: `invalidAnswer` for a text that is no array and no object.
  init(_ bytes: [UInt8]) throws(LibraryError) {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
    let start = bytes.firstIndex { !isSpace($0) } ?? 0
    guard start < bytes.count, bytes[start] == UInt8(ascii: "[") || bytes[start] == UInt8(ascii: "{") else {
      throw .invalidAnswer("JSON that is no array of items")
    }
    let wrapping = Array("{\"items\":[".utf8)
    let beginning = bytes[start...].prefix(200)
    let isWrapped = beginning.lazy.filter { !isSpace($0) }.prefix(wrapping.count).elementsEqual(wrapping)
    let isArray = isWrapped || bytes[start] == UInt8(ascii: "[")
    let first = isWrapped ? (beginning.firstIndex(of: UInt8(ascii: "[")) ?? start) : start

    var line = 1 + bytes[..<first].count { $0 == 0x0A }
    var depth = isArray ? 0 : 1
    var elementStart: (place: Int, line: Int)?
    var isString = false
    var isEscaped = false
    func end(_ place: Int) {
      if let start = elementStart { elements.append(Element(line: start.line, range: start.place..<place)) }
      elementStart = nil
    }
    for place in first..<bytes.count {
      let byte = bytes[place]
      if byte == 0x0A { line += 1 }
      if isString {
        isString = isEscaped || byte != UInt8(ascii: "\"")
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        continue
      }
      switch byte {
      case UInt8(ascii: ",") where depth == 1 && isArray:
        end(place)
        continue
      case UInt8(ascii: "]") where depth == 1 && isArray, UInt8(ascii: "}") where depth == 1 && isArray:
        end(place)
        return
      default: break
      }
      if depth >= 1, elementStart == nil, !isSpace(byte) { elementStart = (place, line) }
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    // The parser says what is missing.
    end(bytes.count)
    if isArray, elements.isEmpty { elements.append(Element(line: line, range: first..<bytes.count)) }
  }
}
