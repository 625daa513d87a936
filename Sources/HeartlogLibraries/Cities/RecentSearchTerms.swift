import Heartlog

/// Recent search terms: at most eight, newest first.
///
/// Each term is a separate field, `recent/<term>` of the item `city-search` in the library `settings`. Its
/// value is the time of the last search, in milliseconds since 1970. So after a merge, the terms of both
/// devices are there, and the eight newest of them are shown. Recording a term clears those that are no
/// longer shown. The writes are quiet: concurrent searches on two devices are not a conflict.
public struct RecentSearchTerms: Sendable {
  /// The most terms that are shown.
  package static let countMax = 8
  /// The fewest characters that a term must have.
  package static let charactersMin = 3

  static let item = "city-search"
  private static let prefix = "recent/"

  private let library: FavoritesLibrary

  /// Creates an interface to the search terms of a store, which are in its library `settings`.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) { library = try store.library("settings") }

  /// The terms, newest first.
  public var terms: [String] { entries().prefix(Self.countMax).map(\.term) }

  /// Records a term without white space at its ends. A term that is already there moves to the front.
  ///
  /// - Returns: Whether it was recorded: false if it has fewer than three characters, a control character, or
  ///   more than 249 bytes of UTF-8, which is longer than any name of a city.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func record(_ term: String) throws(HeartlogError) -> Bool {
    let term = term.withoutOuterWhiteSpace
    guard let name = Self.fieldName(of: term) else { return false }
    try library.store.writeAsOne { () throws(HeartlogError) in
      let entries = entries()
      if let first = entries.first, first.term.utf8.elementsEqual(term.utf8) { return }
      // Later than all others, even if the clock of another device is ahead.
      let time = max(library.store.options.clock(), min(entries.first?.time ?? 0, .max - 1) + 1)
      var fields = [Field(name: name, value: .int64(time), isQuiet: true)]
      let others = entries.filter { !$0.term.utf8.elementsEqual(term.utf8) }
      fields += others.dropFirst(Self.countMax - 1).map {
        Field(name: Self.prefix + $0.term, value: .null, isQuiet: true)
      }
      try library.set(fields, of: Self.item)
    }
    return true
  }

  /// Takes over the search terms of an app's own database, in one commit: the eight newest, with their times.
  ///
  /// A term that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing. Terms that `record(_:)` does not take are left out.
  ///
  /// - Parameter old: the terms and when each was last searched for, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  public func migrate(from old: some Sequence<(term: String, searchedAt: Date)>) throws(HeartlogError) {
    let newest = old.sorted { $0.searchedAt > $1.searchedAt }
    try library.store.writeAsOne(origin: MigrationOrigin.database) { () throws(HeartlogError) in
      let fields = newest.compactMap { old -> Field? in
        guard let name = Self.fieldName(of: old.term), !isWritten(name) else { return nil }
        return Field(name: name, value: .int64(old.searchedAt.milliseconds), isQuiet: true)
      }
      try library.set(Array(fields.prefix(Self.countMax)), of: Self.item)
    }
  }

  private func isWritten(_ name: String) -> Bool {
    library.store.read { $0.position(ofField: name, of: Self.item, in: library.name) } != nil
  }

  /// The name of the field of a term; `nil` if it is not recorded.
  private static func fieldName(of term: String) -> String? {
    let term = term.withoutOuterWhiteSpace
    let name = prefix + term
    guard term.count >= charactersMin, name.utf8.count <= Limits.fieldNameBytesMax,
      !term.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    return name
  }

  /// Removes all terms, on this device and on those that sync with it.
  ///
  /// - Throws: `HeartlogError` if the store cannot be written.
  public func removeAll() throws(HeartlogError) {
    try library.store.writeAsOne { () throws(HeartlogError) in
      try library.set(
        entries().map { Field(name: Self.prefix + $0.term, value: .null, isQuiet: true) }, of: Self.item)
    }
  }

  /// The terms, newest first. Equal times, which occur only after a merge, are ordered by the bytes of the
  /// terms.
  private func entries() -> [(term: String, time: Milliseconds)] {
    var entries: [(term: String, time: Milliseconds)] = []
    for field in library.item(Self.item)?.fields ?? [] {
      guard field.name.utf8.starts(with: Self.prefix.utf8), case .int64(let time) = field.value else {
        continue
      }
      entries.append((String(field.name.dropFirst(Self.prefix.count)), time))
    }
    return entries.sorted { a, b in
      a.time != b.time ? a.time > b.time : a.term.bytesPrecede(b.term)
    }
  }
}
