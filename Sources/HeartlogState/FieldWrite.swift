import HeartlogEvents

/// A field that an event writes; its value lies in somebody's memory.
struct FieldWrite {
  let name: FieldNameSlot
  let value: BorrowedValue
  let isQuiet: Bool
}
