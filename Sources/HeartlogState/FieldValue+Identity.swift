import HeartlogEvents

extension FieldValue {
  /// Whether the two are the same bytes. `==` on strings would take canonically equivalent texts for equal,
  /// and a write that only changes the normal form would be lost.
  func isIdentical(to other: FieldValue) -> Bool {
    switch (self, other) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int64(let a), .int64(let b)): a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.json(let a), .json(let b)): a.text.utf8.elementsEqual(b.text.utf8)
    case (.unknown(let a, let bytesOfA), .unknown(let b, let bytesOfB)): a == b && bytesOfA == bytesOfB
    default: false
    }
  }

  var isNull: Bool {
    if case .null = self { true } else { false }
  }
}
