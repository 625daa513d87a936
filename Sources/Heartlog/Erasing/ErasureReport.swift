/// What an erasure did to a store.
public struct ErasureReport: Hashable, Sendable {
  /// An item by its library and its id.
  public struct Item: Hashable, Sendable {
    /// The item's library.
    public let library: String
    /// The item's id.
    public let id: String
  }

  /// The number of events whose content was erased from this store, or would be in a dry run.
  public internal(set) var eventCount = 0
  /// The items of erased events of which something is left: a device wrote it that did not know of the erasure, or it was not to be
  /// erased. Sorted by the bytes of library and id.
  public internal(set) var remainingItems: [Item] = []

  /// The report of an erasure that did nothing.
  public init() {}
}
