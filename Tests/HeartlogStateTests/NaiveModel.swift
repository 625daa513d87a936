import HeartlogFormat
import HeartlogState

/// The rules with nothing clever about them: all events in the total order, the last write stays.
struct NaiveModel {
  /// Text by its bytes: a dictionary keyed by String would merge canonically equivalent ids.
  struct Bytes: Hashable {
    let bytes: [UInt8]
    init(_ text: String) { bytes = Array(text.utf8) }
    var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  struct Item {
    var isFavorite = false
    var favoritedDate: Milliseconds = 0
    var fields: [Bytes: FieldValue] = [:]
    var wasWritten = false
    /// It was a favorite once, or was removed.
    var hasMembership = false
    /// The number of the membership's write in the total order.
    var favorited = 0

    var isListed: Bool { hasMembership || fields.values.contains { $0 != .null } }
  }

  private(set) var libraries: [Bytes: [Bytes: Item]] = [:]
  private(set) var libraryEvents: [Bytes: UInt64] = [:]
  private(set) var eventCount: UInt64 = 0
  private(set) var commitCount: UInt64 = 0
  private var writeCount = 0
  let conflicts: [Conflict]

  /// - Parameter commits: in any order, with repetitions.
  init(_ commits: [Commit]) {
    conflicts = Self.conflicts(in: commits)
    var seen: Set<Head> = []
    let unique = commits.filter { seen.insert(Head(replica: $0.replica, commit: $0.number)).inserted }
    for commit in unique.sorted(by: { $0.position < $1.position }) {
      commitCount += 1
      eventCount += UInt64(commit.records.count)
      for event in commit.records.compactMap(\.event) { apply(event, of: commit) }
    }
  }

  private mutating func apply(_ event: Event, of commit: Commit) {
    libraryEvents[Bytes(event.library), default: 0] += 1
    var item = libraries[Bytes(event.library)]?[Bytes(event.item)] ?? Item()
    if let isFavorite = event.action.isFavorite {
      item.isFavorite = isFavorite
      item.favoritedDate = event.favoritedDate ?? commit.wallTime
      item.wasWritten = true
      item.hasMembership = true
      writeCount += 1
      item.favorited = writeCount
    }
    for field in event.fields {
      item.fields[Bytes(field.name)] = field.value
      item.wasWritten = true
    }
    if item.wasWritten { libraries[Bytes(event.library), default: [:]][Bytes(event.item)] = item }
  }

  /// By id bytes, tombstones too.
  func items(in library: String) -> [ItemState] {
    (libraries[Bytes(library)] ?? [:]).sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
      .map { key, item in
        ItemState(
          id: key.text, isFavorite: item.isFavorite, favoritedDate: item.favoritedDate,
          fields: item.fields.filter { $0.value != .null }
            .sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
            .map { Field(name: $0.key.text, value: $0.value) })
      }
  }

  /// The ids of the favorites, newest first.
  func favorites(in library: String) -> [String] {
    (libraries[Bytes(library)] ?? [:]).filter(\.value.isFavorite).sorted { a, b in
      (a.value.favoritedDate, a.value.favorited) > (b.value.favoritedDate, b.value.favorited)
    }.map(\.key.text)
  }

  func counts(of library: String) -> LibraryCounts {
    let items = items(in: library)
    return LibraryCounts(
      favorites: items.count { $0.isFavorite },
      items: (libraries[Bytes(library)] ?? [:]).values.count { $0.isListed },
      events: libraryEvents[Bytes(library)] ?? 0)
  }
}
