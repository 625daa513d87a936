import HeartlogEvents

/// The fields of an item that hold a value, by the bytes of their names.
///
/// They are one piece of memory, whatever their number; a field, and the string in it, is made when it is looked at. `isQuiet` is always
/// false: it belongs to a write, not to what the write left.
public struct ItemFields: RandomAccessCollection, Sendable {
  // Unchecked: packed fields are not written to any more.
  private enum Storage: @unchecked Sendable {
    case made([Field])
    case packed(PackedFields)
  }

  private let storage: Storage

  /// - Parameter fields: without nulls, sorted by the bytes of their names, without duplicates.
  public init(_ fields: [Field]) { storage = .made(fields) }

  init(_ packed: PackedFields?) { storage = packed.map(Storage.packed) ?? .made([]) }

  public var startIndex: Int { 0 }

  public var endIndex: Int {
    switch storage {
    case .made(let fields): fields.count
    case .packed(let fields): fields.count
    }
  }

  public subscript(place: Int) -> Field {
    switch storage {
    case .made(let fields): return fields[place]
    case .packed(let fields):
      precondition(indices.contains(place), "a field that is not there")
      return Field(name: fields.name(place), value: fields.value(place))
    }
  }

  /// The value of a field; nil where it holds none. O(n), and makes nothing of the others.
  public subscript(name: String) -> FieldValue? {
    switch storage {
    case .made(let fields): fields.first { $0.name.hasSameBytes(as: name) }?.value
    case .packed(let fields): name.withBytes { fields.index(of: $0) }.map { fields.value($0) }
    }
  }
}

// Fields where they lie, for those who make no `Field` of them.
extension ItemFields {
  /// Where the field of a name is, by its bytes; nil where there is none. O(n).
  package func index(ofName name: String) -> Int? {
    switch storage {
    case .made(let fields): fields.firstIndex { $0.name.hasSameBytes(as: name) }
    case .packed(let fields): name.withBytes { fields.index(of: $0) }
    }
  }

  /// Whether a name may be canonically equivalent to another one here: not all of them are of ASCII.
  package func mayHaveEquivalent(ofName name: String) -> Bool {
    func isASCII(_ name: String) -> Bool { name.utf8.allSatisfy { $0 < 0x80 } }
    return switch storage {
    case .made(let fields): !isASCII(name) || !fields.allSatisfy { isASCII($0.name) }
    case .packed(let fields): !isASCII(name) || !fields.namesAreASCII
    }
  }

  /// The value of a field, borrowed for the length of the call.
  @inline(__always)
  package func withBorrowedValue<R>(at index: Int, _ body: (BorrowedValue) throws -> R) rethrows -> R {
    precondition(indices.contains(index), "a field that is not there")
    switch storage {
    case .made(let fields): return try fields[index].value.withBorrowed(body)
    case .packed(let fields): return try fields.withBorrowedValue(at: index, body)
    }
  }
}

extension ItemFields: Hashable {
  public static func == (a: ItemFields, b: ItemFields) -> Bool { a.elementsEqual(b) }

  public func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension ItemFields: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Field...) { self.init(elements) }
}
