import HeartlogFormat

/// Reads the fields of an item by name, as a decoder asks for them, without creating a `Field`.
///
/// A name is compared by bytes; if none has the same bytes, by canonical equivalence. Reading counts no references to the fields, and no
/// function is generic, because generic functions are not specialized in other modules.
package struct FieldReader {
  private let fields: ItemFields
  /// What `fields` keeps alive, if they are packed.
  private let packed: Unmanaged<PackedFields>?

  package init(_ fields: ItemFields) {
    self.fields = fields
    packed = fields.packed.map(Unmanaged.passUnretained)
  }

  /// The names of all fields.
  package var names: [String] { fields.map(\.name) }

  package func contains(_ name: String) -> Bool { read(name) { _ in true } ?? false }

  /// Returns the value of a field; nil if there is none.
  package func value(of name: String) -> FieldValue? { read(name) { FieldValue(copying: $0) } }

  /// Returns whether the value of a field is null; nil if there is none.
  package func isNull(_ name: String) -> Bool? { read(name) { if case .null = $0 { true } else { false } } }

  /// Returns the value of a field that is a string; nil for any other value.
  package func string(of name: String) -> String? {
    read(name) { if case .string(let text) = $0 { String(decoding: text, as: UTF8.self) } else { nil } }
  }

  /// Returns the value of a field that is a time in UTC with all its digits; nil for any other value.
  package func time(of name: String) -> Milliseconds? {
    read(name) { if case .string(let text) = $0 { RFC3339.milliseconds(text) } else { nil } }
  }

  /// Returns the value of a field that is a list of strings without escapes; nil for any other value.
  package func strings(of name: String) -> [String]? {
    read(name) { if case .json(let text) = $0 { CanonicalJSON.plainStrings(text) } else { nil } }
  }

  @inline(__always)
  private func read<R>(_ name: String, _ body: (BorrowedValue) -> R?) -> R? {
    guard let packed else {
      let index =
        fields.firstIndex { $0.name.hasSameBytes(as: name) } ?? fields.firstIndex { $0.name == name }
      return index.flatMap { fields[$0].value.withBorrowed(body) }
    }
    return packed._withUnsafeGuaranteedRef { packed in
      guard let index = packed.index(of: name) ?? equivalent(of: name, in: packed) else { return nil }
      return packed.withBorrowedValue(at: index, body)
    }
  }

  private func equivalent(of name: String, in packed: PackedFields) -> Int? {
    // Two texts of ASCII are equivalent only if they are the same.
    if packed.namesAreASCII, name.utf8.allSatisfy({ $0 < 0x80 }) { return nil }
    return fields.firstIndex { $0.name == name }
  }
}
