import HeartlogFormat

/// The names of fields, shared by all libraries. Each name has a slot, and a string that is created once.
struct FieldNames: Sendable {
  /// The names as strings, by slot.
  struct Texts: Sendable {
    fileprivate(set) var strings: [String] = []
    /// Whether all names are ASCII, so that no two of them are canonically equivalent.
    fileprivate(set) var areASCII = true

    /// Returns whether a slot has that name, compared by bytes.
    @inline(__always)
    func isName(_ slot: FieldNameSlot, _ name: String) -> Bool {
      let number = Int(slot.index)
      guard strings.indices.contains(number), strings[number].utf8.count == name.utf8.count else {
        return false
      }
      // Short strings are compared at once by `==`. A text that is equivalent to one of ASCII, but not the same, is longer.
      return areASCII ? strings[number] == name : strings[number].hasSameBytes(as: name)
    }
  }

  private var keys = InternTable<Key>()
  private(set) var texts = Texts()
  var strings: [String] { texts.strings }

  var count: Int { keys.count }

  mutating func intern(_ name: UnsafeRawBufferPointer) -> FieldNameSlot {
    let number = keys.intern(name)
    if Int(number) == texts.strings.count {
      texts.strings.append(String(decoding: name, as: UTF8.self))
      if !name.allSatisfy({ $0 < 0x80 }) { texts.areASCII = false }
    }
    return FieldNameSlot(index: number)
  }

  func find(_ name: String) -> FieldNameSlot? { keys.find(name).map(FieldNameSlot.init) }

  /// Returns a name; empty for a slot without one.
  func string(of slot: FieldNameSlot) -> String {
    strings.indices.contains(Int(slot.index)) ? strings[Int(slot.index)] : ""
  }

  /// Returns all names sorted by bytes, and by slot the index of each in that order.
  func sorted() -> (texts: [String], indices: [Int32]) {
    let order = strings.indices.sorted { keys.precedes(Int32($0), Int32($1)) }
    var indices = [Int32](repeating: 0, count: strings.count)
    for (index, slot) in order.enumerated() { indices[slot] = Int32(index) }
    return (order.map { strings[$0] }, indices)
  }

  /// Passes the bytes of a name to `body`, for the duration of the call.
  func withBytes<R>(of slot: FieldNameSlot, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try keys.withBytes(of: slot.index, body)
  }

  /// Returns whether name `a` comes before name `b` in byte order.
  func precedes(_ a: FieldNameSlot, _ b: FieldNameSlot) -> Bool { keys.precedes(a.index, b.index) }
}

extension FavoritesState {
  /// Whether any item was ever written with a field of this name.
  package func hasField(called name: String) -> Bool { fieldNames.find(name) != nil }
}
