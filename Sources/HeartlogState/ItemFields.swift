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
    case .packed(let fields):
      indices.first { fields.name($0).hasSameBytes(as: name) }.map { fields.value($0) }
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
