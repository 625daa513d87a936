import Heartlog

/// What was searched for lately: at most eight terms, newest first.
///
/// Each term is a field of its own, `recent/<term>` of the item `city-search` in the library `settings`, and its value is when it was
/// last searched for, in milliseconds since 1970. So terms that two devices record apart are all there after a merge, and the eight
/// newest of both show. Recording clears what no longer shows. The writes are quiet: two devices that search at once have no conflict.
public struct RecentSearchTerms: Sendable {
  /// Terms that show.
  public static let countMax = 8
  /// Characters that a term must have.
  public static let charactersMin = 3

  static let item = "city-search"
  private static let prefix = "recent/"

  private let library: FavoritesLibrary
  private let clock: @Sendable () -> Milliseconds

  /// The terms of a store.
  ///
  /// - Parameters:
  ///   - store: whose library `settings` keeps them.
  ///   - clock: milliseconds since 1970.
  /// - Throws: `HeartlogError`, which the name of that library never causes.
  public init(
    _ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  ) throws(HeartlogError) {
    library = try store.library("settings")
    self.clock = clock
  }

  /// The terms, newest first.
  public var terms: [String] { entries().prefix(Self.countMax).map(\.term) }

  /// Records a term without the white space at its ends. One that is there already moves to the front.
  ///
  /// - Returns: whether it was taken: not where it has fewer than three characters, a control character, or more than 249 bytes of
  ///   UTF-8, which is more than any name of a city.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func record(_ term: String) throws(HeartlogError) -> Bool {
    let term = term.withoutOuterWhiteSpace
    let name = Self.prefix + term
    guard term.count >= Self.charactersMin, name.utf8.count <= Limits.fieldNameBytesMax,
      !term.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return false }
    try library.store.writeAsOne { () throws(HeartlogError) in
      let entries = entries()
      if let first = entries.first, first.term.utf8.elementsEqual(term.utf8) { return }
      // Later than all that is there, also where another device's clock runs ahead.
      let time = max(clock(), min(entries.first?.time ?? 0, .max - 1) + 1)
      var fields = [Field(name: name, value: .int64(time), isQuiet: true)]
      let others = entries.filter { !$0.term.utf8.elementsEqual(term.utf8) }
      fields += others.dropFirst(Self.countMax - 1).map {
        Field(name: Self.prefix + $0.term, value: .null, isQuiet: true)
      }
      try library.set(fields, of: Self.item)
    }
    return true
  }

  /// Forgets all terms, on all devices that hear of it.
  ///
  /// - Throws: `HeartlogError` where the store cannot be written.
  public func removeAll() throws(HeartlogError) {
    try library.store.writeAsOne { () throws(HeartlogError) in
      try library.set(
        entries().map { Field(name: Self.prefix + $0.term, value: .null, isQuiet: true) }, of: Self.item)
    }
  }

  /// Newest first; ties, which only a merge can make, by the bytes of the terms.
  private func entries() -> [(term: String, time: Milliseconds)] {
    var entries: [(term: String, time: Milliseconds)] = []
    for field in library.item(Self.item)?.fields ?? [] {
      guard field.name.utf8.starts(with: Self.prefix.utf8), case .int64(let time) = field.value else {
        continue
      }
      entries.append((String(field.name.dropFirst(Self.prefix.count)), time))
    }
    return entries.sorted { a, b in
      a.time != b.time ? a.time > b.time : a.term.utf8.lexicographicallyPrecedes(b.term.utf8)
    }
  }
}
