/// A write of a model that failed: a tap that was taken back.
///
/// A model keeps it until it is dismissed, or until a later write of the same item succeeds.
public struct WriteFailure<ID: Hashable & Sendable>: Identifiable, Sendable {
  /// What was to be written: the id of the item.
  public let id: ID
  /// Why it was not written.
  public let error: HeartlogError
}

extension Array {
  /// Adds the result of a write. A failure replaces an earlier one of the same item, and a success ends it.
  package mutating func add<ID>(_ error: HeartlogError?, of id: ID) where Element == WriteFailure<ID> {
    // Not written to if nothing changes: a view would be updated.
    if contains(where: { $0.id == id }) { removeAll { $0.id == id } }
    if let error { append(WriteFailure(id: id, error: error)) }
  }
}
