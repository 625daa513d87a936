import HeartlogFormat

/// The fields of an item that hold a value, sorted by the bytes of their names.
///
/// They are stored in a single allocation, however many there are. A `Field`, and the string in it, is created on access. `isQuiet` is
/// always false, because it belongs to a write, not to a state.
public struct ItemFields: RandomAccessCollection, Sendable {
  // Unchecked, because packed fields are immutable.
  private enum Storage: @unchecked Sendable {
    case made([Field])
    case packed(PackedFields)
  }

  private let storage: Storage

  /// Creates a collection of fields.
  ///
  /// - Parameter fields: without nulls or duplicates, sorted by the bytes of their names.
  public init(_ fields: [Field]) { storage = .made(fields) }

  init(_ packed: PackedFields?) { storage = packed.map(Storage.packed) ?? .made([]) }

  public var startIndex: Int { 0 }

  public var endIndex: Int {
    switch storage {
    case .made(let fields): fields.count
    case .packed(let fields): fields.count
    }
  }

  /// Returns the field at an index. Creates the `Field` and the string in it.
  public subscript(index: Int) -> Field {
    switch storage {
    case .made(let fields): return fields[index]
    case .packed(let fields):
      precondition(indices.contains(index), "a field that is not there")
      return Field(name: fields.name(index), value: fields.value(index))
    }
  }

  /// Returns the value of a field; nil if it holds none. O(n), without creating the other fields.
  public subscript(name: String) -> FieldValue? {
    switch storage {
    case .made(let fields): fields.first { $0.name.hasSameBytes(as: name) }?.value
    case .packed(let fields): fields.index(of: name).map { fields.value($0) }
    }
  }
}

extension ItemFields {
  /// The fields in packed form; nil if they are an array.
  var packed: PackedFields? { if case .packed(let fields) = storage { fields } else { nil } }
}

extension ItemFields: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The names and values, as in `[minutes: 90, title: "Ribollita"]`.
  public var description: String { "[\(map(\.description).joined(separator: ", "))]" }

  /// The same as the description.
  public var debugDescription: String { description }

  /// The values by their names.
  public var customMirror: Mirror {
    Mirror(self, children: map { (label: $0.name, value: $0.value) }, displayStyle: .dictionary)
  }
}

extension ItemFields: Hashable {
  public static func == (a: ItemFields, b: ItemFields) -> Bool { a.elementsEqual(b) }

  public func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension ItemFields: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Field...) { self.init(elements) }
}
