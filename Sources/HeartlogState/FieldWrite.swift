import HeartlogFormat

/// A field that an event writes. Its value is borrowed.
struct FieldWrite {
  let name: FieldNameSlot
  let value: BorrowedValue
  let isQuiet: Bool
}
