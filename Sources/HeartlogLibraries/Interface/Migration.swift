import Heartlog

/// The result of taking over what an app kept before it had a store.
///
/// What the store has had before stays as it is: an item that was removed since then does not come back, and a
/// second call changes nothing.
public struct MigrationReport: Sendable {
  /// The number of new favorites.
  public let count: Int
  /// An error for each record that could not be taken over, which names the record, and for each name of a member that no record is known
  /// to have. Everything else was taken over.
  public let failures: [LibraryError]
}

/// Where favorites come from, as the log records it.
enum MigrationOrigin {
  static let userDefaults = "import:user-defaults"
  static let database = "import:database"
}

extension Favorites {
  /// The items of records that the store would take, and an error for each other record.
  ///
  /// - Parameter item: returns the item of a record; `nil` if it has none, which is no error.
  func items<Record>(
    of records: some Sequence<Record>, _ item: (Record) throws(LibraryError) -> Item?
  ) -> (items: [Item], failures: [LibraryError]) {
    var items: [Item] = []
    var failures: [LibraryError] = []
    for (index, record) in records.enumerated() {
      do throws(LibraryError) {
        guard let item = try item(record) else { continue }
        try checkStorable(item)
        items.append(item)
      } catch {
        failures.append(.invalidItem("record \(index + 1): \(error)"))
      }
    }
    return (items, failures)
  }

  /// Checks that the store would take an item.
  ///
  /// - Throws: `invalidItem` if its id or a value breaks a rule of the store.
  private func checkStorable(_ item: Item) throws(LibraryError) {
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

  /// Takes over favorites in one commit, or in several if they are very many.
  ///
  /// - Parameters:
  ///   - records: the items, and an error for each record of which there is none.
  ///   - origin: where they come from.
  ///   - date: the favorited date of an item; the current time if `nil`.
  func migrate(
    from records: (items: [Item], failures: [LibraryError]), origin: String,
    since date: (Item) -> Date? = { _ in nil }
  ) throws(HeartlogError) -> MigrationReport {
    let count = try migrate(from: records.items.map { (item: $0, since: date($0)) }, origin: origin)
    return MigrationReport(count: count, failures: records.failures)
  }
}

extension DescribedItem {
  /// Creates an item from a record of the app's own JSON, as `JSONDecoder` reads it with its default settings.
  ///
  /// - Throws: `LibraryError.invalidItem`, which names the member, if one is missing or not valid.
  public init(appRecord record: some JSONSource) throws(LibraryError) {
    let record = try record.json()
    do throws(FieldCodingError) { self = try FieldDecoder.decode(Self.self, json: record) } catch {
      throw .invalidItem(error.description)
    }
  }
}

extension AppRecordList {
  /// The favorites in an app's own array, and an error for each record that is not valid and for each name of a
  /// member that is not read.
  ///
  /// - Throws: `invalidAnswer` if it is no array.
  func items<Item: DescribedItem>(
    of array: some JSONSource, for favorites: Favorites<Item>
  ) throws(LibraryError) -> (items: [Item], failures: [LibraryError]) {
    let array = try array.json()
    guard let records = array.array else {
      throw .invalidAnswer("\(library.name) that are \(array.kind), not an array")
    }
    let (items, failures) = favorites.items(of: records) { (record) throws(LibraryError) -> Item? in
      try library.checked(try item(record)).isFavorite ? try Item(appRecord: record) : nil
    }
    var unknown = UnknownMembers(besides: members)
    for record in records { unknown.count(in: record) }
    return (items, failures + unknown.phrases.map(LibraryError.invalidItem))
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
    counts.sorted { $0.key.bytesPrecede($1.key) }.map { name, count in
      "\(name.quoted) is not known, and was left out of \(count == 1 ? "1 record" : "\(count) records")"
    }
  }
}
