import Heartlog
import HeartlogFormat

/// The result of taking over what an app kept before it had a store.
///
/// What the store has had before stays as it is: an item that was removed since then does not come back, and a
/// second call changes nothing.
public struct TakeOverReport: Sendable {
  /// The number of new favorites.
  public let count: Int
  /// An error for each record that could not be taken over, which names the record, and for each name of a member that no record is known
  /// to have. Everything else was taken over.
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

/// The members of records that are not read.
struct UnknownMembers {
  private let known: Set<String>
  private var counts: [String: Int] = [:]

  init(besides known: Set<String>) { self.known = known }

  /// Counts those of a record.
  mutating func count(in record: JSONValue) {
    for member in record.object ?? [] where !known.contains(member.name) {
      counts[member.name, default: 0] += 1
    }
  }

  /// A phrase for each name, with the number of records that have it.
  var phrases: [String] {
    counts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { name, count in
      "\(name.quoted) is not known, and was left out of \(count == 1 ? "1 record" : "\(count) records")"
    }
  }
}

extension [JSONValue] {
  /// An error for each name of a member that is not read, with the number of records that have it.
  func unknownMembers(besides known: Set<String>) -> [LibraryError] {
    var members = UnknownMembers(besides: known)
    for record in self { members.count(in: record) }
    return members.phrases.map(LibraryError.invalidItem)
  }
}

extension Favorites {
  /// Checks that the store would take an item.
  ///
  /// - Throws: `invalidItem` if its id or a value breaks a rule of the store.
  func checkStorable(_ item: Item) throws(LibraryError) {
    let id = item.id.favoriteID
    do {
      try NameRules.checkItem(id)
      try Event(
        library: library.name, item: id, action: .added, favoritedDate: nil,
        fields: FieldEncoder.fields(of: item)
      ).validateContent(wallTime: 0)
    } catch {
      throw .invalidItem("\(id.quoted): \(error)")
    }
  }

  /// The items that the store would take, and an error for each other one.
  func storable(_ items: [Item]) -> (items: [Item], failures: [LibraryError]) {
    items.converting { (item) throws(LibraryError) -> Item? in
      try checkStorable(item)
      return item
    }
  }
}
