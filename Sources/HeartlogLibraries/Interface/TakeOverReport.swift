/// The result of taking over what an app kept before it had a store.
///
/// What the store has had before stays as it is: an item that was removed since then does not come back, and a
/// second call changes nothing.
public struct TakeOverReport: Sendable {
  /// The number of new favorites.
  public let count: Int
  /// An error for each record that could not be taken over, with its number, starting at 1. The others were.
  public let failures: [LibraryError]
}

/// Where favorites come from, as the log records it.
enum TakeOverOrigin {
  static let userDefaults = "import:user-defaults"
  static let database = "import:database"
}

extension Sequence {
  /// Converts the elements, and collects an error for each that fails.
  func converting<Output>(
    _ convert: (Element) throws(LibraryError) -> Output?
  ) -> (items: [Output], failures: [LibraryError]) {
    var items: [Output] = []
    var failures: [LibraryError] = []
    for (index, element) in enumerated() {
      do throws(LibraryError) {
        if let item = try convert(element) { items.append(item) }
      } catch {
        failures.append(.invalidItem("record \(index + 1): \(error)"))
      }
    }
    return (items, failures)
  }
}
