import HeartlogEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorites of one item type: any `Codable & Identifiable & Sendable` type whose id can be written as text.
///
/// An item is stored as flat fields in its `Codable` form. The id, a Bool called `isFavorite` and a Date called `favoritedDate` are not
/// stored as fields: reading sets them from the store. A value of another type under these names is a field like any other.
///
/// A call that takes a whole item writes every field of it that differs from the stored one, also those of a copy that is older than what is
/// stored. To change some properties of what is there now, use `update(_:_:)`.
public struct Favorites<Item: Codable & Identifiable & Sendable>: Sendable where Item.ID: FavoriteID {
  /// The same library, accessed by id and fields.
  public let library: FavoritesLibrary
  /// Supplies values for fields that a stored item lacks.
  private let template: ItemTemplate?
  /// Reads and writes fields under their names of all versions; nil for a type of version 1, which has only one.
  private let schema: LibrarySchema?

  init(_ library: FavoritesLibrary) throws(HeartlogError) {
    var library = try library.keepingLocal(Self.localFields)
    library.idType = Item.ID.self
    self.library = library
    do { template = try ItemTemplate(of: Item.self) } catch {
      throw HeartlogError(.invalidItem, "the template of \(Item.self): \(error)")
    }
    schema = try LibrarySchema(of: Item.self, in: library, template: template)
  }

  // MARK: - Reading

  /// Returns whether the item with this id is a favorite. One lookup. Inside `write { }` it sees the closure's changes.
  public func contains(_ id: Item.ID) -> Bool { library.contains(id.favoriteID) }

  /// The number of favorites, including those that cannot be read as an `Item`. O(1). Inside `write { }` this is the number before the
  /// closure.
  public var count: Int { library.counts.favorites }

  /// The ids of the favorites, in no particular order. Much cheaper than listing the items.
  ///
  /// Leaves out ids that are not a valid `Item.ID`; `failures` reports them.
  public var ids: [Item.ID] {
    library.store.read { $0.favoriteIDs(in: library.name) }.compactMap(Item.ID.init(favoriteID:))
  }

  /// Returns the stored item with this id, favorite or not; nil if it is not a favorite and has no stored fields. It has what waits of
  /// `update(_:coalescing:_:)`.
  ///
  /// - Throws: `invalidItem` if the stored fields do not decode to an `Item`.
  public func item(_ id: Item.ID) throws(HeartlogError) -> Item? {
    let text = id.favoriteID
    guard let state = library.item(text), state.isVisible else { return nil }
    guard let waiting = library.store.coalesced.waiting(text, in: library.name) else {
      return try decode(state)
    }
    let fields = Array(schema?.fields(of: state) ?? state.fields).setting(waiting.fields)
    return try decode(
      ItemState(
        id: text, isFavorite: state.isFavorite, favoritedMoment: state.favoritedMoment,
        fields: ItemFields(fields.filter { !$0.value.isNull })), isDraft: true)
  }

  /// Returns when the item with this id became a favorite, in whole milliseconds; nil if it is not a favorite. One lookup.
  public func favoritedDate(of id: Item.ID) -> Date? {
    library.item(id.favoriteID)?.favoritedDate.map(Date.init(milliseconds:))
  }

  /// Returns the favorites, newest first by default. Of two favorites of the same millisecond, the one that was written last is
  /// the newer one.
  ///
  /// Leaves out items that do not decode to an `Item`; `failures` reports them, and debug builds print a warning to standard
  /// error, once per field. O(n log n) for all favorites. With a limit, items after the last one returned are not decoded.
  ///
  /// - Parameters:
  ///   - order: the order of the result.
  ///   - limit: the maximum number of items; all if nil. Returns fewer only if there are no more.
  public func list(order: ListOrder = .newestFirst, limit: Int? = nil) -> [Item] {
    page(order: order, limit: limit).items
  }

  /// Items as they are listed.
  package struct Page {
    package var items: [Item] = []
    /// What the items were decoded from.
    var states: [ItemState] = []
    package var failures: [(id: String, error: HeartlogError)] = []
  }

  /// Returns the same favorites as `list(order:limit:)`, together with those that could not be decoded. One bad item never hides the
  /// others.
  ///
  /// - Parameters:
  ///   - order: the order of the result.
  ///   - limit: the maximum number of items; all if nil. Items that cannot be decoded do not count.
  ///   - isIncluded: whether an item is in the page.
  /// - Returns: the items with what they were decoded from, and the id and error of each favorite that failed to decode while collecting
  ///   them. The errors have the code `invalidItem`.
  package func page(
    order: ListOrder = .newestFirst, limit: Int? = nil, where isIncluded: ((Item) -> Bool)? = nil
  ) -> Page {
    let most = limit.map { max(0, $0) }
    var wanted = most
    var states = library.favorites(order: order, limit: wanted)
    var page = read(states, upTo: most, where: isIncluded)
    // Too few items are in the page, but there are more favorites: fetch more until it is full.
    while let most, let count = wanted, states.count == count, page.items.count < most {
      // What was fetched before is fetched again: a filter that few items pass takes a few turns only.
      wanted = max(16, count) * 8
      let more = library.favorites(order: order, limit: wanted)
      if more.starts(with: states) {
        let rest = read(Array(more.dropFirst(states.count)), upTo: most - page.items.count, where: isIncluded)
        page.items += rest.items
        page.states += rest.states
        page.failures += rest.failures
      } else {
        // Another write came in between.
        page = read(more, upTo: most, where: isIncluded)
      }
      states = more
    }
    return page
  }

  /// Decodes items until the limit is reached.
  func read(_ states: [ItemState], upTo limit: Int?, where isIncluded: ((Item) -> Bool)? = nil) -> Page {
    var failures: [(id: String, error: HeartlogError)] = []
    var leftOut: [Int] = []
    var readCount = 0
    let most = max(0, min(states.count, limit ?? .max))
    let (schema, template) = (schema, template)
    // An array that grows asks the runtime for its type at each item, and a call of `self` in the closure for that of `self`.
    let items = [Item](unsafeUninitializedCapacity: most) { items, count in
      while count < most, readCount < states.count {
        do {
          let item = try ItemDecoder.decode(Item.self, from: states[readCount], schema, template)
          if isIncluded?(item) ?? true {
            items.initializeElement(at: count, to: item)
            count += 1
          } else {
            leftOut.append(readCount)
          }
        } catch {
          let id = states[readCount].id
          failures.append((id, failure(error, of: id, isListed: true)))
          leftOut.append(readCount)
        }
        readCount += 1
      }
    }
    guard !leftOut.isEmpty else {
      let read = readCount == states.count ? states : Array(states[..<readCount])
      return Page(items: items, states: read, failures: failures)
    }
    var left = leftOut[...]
    let kept = (0..<readCount).filter { index in
      guard left.first == index else { return true }
      left.removeFirst()
      return false
    }
    return Page(items: items, states: kept.map { states[$0] }, failures: failures)
  }

  /// Decodes items and leaves out those that fail.
  func readable(_ states: [ItemState]) -> [Item] { read(states, upTo: nil).items }

  /// The favorites that cannot be read as an `Item`: the id of each, with an error of the code `invalidItem` that names the field. Decodes
  /// all favorites.
  ///
  /// An older version of an app finds items here that a newer version wrote. A newer version finds items that lack a property without a
  /// default: see ``FavoriteItem/template``.
  public var failures: [(id: String, error: HeartlogError)] { page().failures }

  /// - Parameters:
  ///   - isListed: whether the failure only leaves the item out of a list, so that a debug build should print it.
  ///   - isDraft: whether the state is not in the store yet, and has all fields under their newest names.
  func decode(
    _ state: ItemState, isListed: Bool = false, isDraft: Bool = false
  ) throws(HeartlogError) -> Item {
    do {
      return try ItemDecoder.decode(Item.self, from: state, isDraft ? nil : schema, template)
    } catch {
      throw failure(error, of: state.id, isListed: isListed)
    }
  }

  private func failure(_ error: any Error, of id: String, isListed: Bool) -> HeartlogError {
    let error = FieldCodingError(error)
    #if DEBUG
      if isListed { DebugWarnings.current.tell(error, of: id, in: library.name, as: Item.self) }
    #endif
    return HeartlogError(.invalidItem, "\(library.name) \(id): \(error)")
  }

  // MARK: - Writing

  /// Makes an item a favorite. An item that already is a favorite stays one, with its date.
  ///
  /// - Parameters:
  ///   - item: the item. Its fields that differ from the stored ones are written too.
  ///   - date: the favorited date, rounded down to milliseconds; the time of the commit if nil.
  /// - Returns: whether it was not a favorite before.
  /// - Throws: `invalidItem` if the item cannot be stored; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(_ item: Item, since date: Date? = nil) throws(HeartlogError) -> Bool {
    let fields = try fields(of: item)
    let result = try perform(.add(fields: fields, favoritedDate: date?.milliseconds), on: item.id)
    if result.isChange { return true }
    // To add a favorite writes nothing.
    try perform(.set(fields: fields), on: item.id)
    return false
  }

  /// Makes the item with this id a favorite. Its stored fields stay as they are; one that was never stored has none.
  ///
  /// - Parameters:
  ///   - id: the item's id.
  ///   - date: the favorited date, rounded down to milliseconds; the time of the commit if nil.
  /// - Returns: whether it was not a favorite before.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(_ id: Item.ID, since date: Date? = nil) throws(HeartlogError) -> Bool {
    try perform(.add(favoritedDate: date?.milliseconds), on: id).isChange
  }

  /// Toggles whether an item is a favorite. The stored state decides, not the item's own properties. If the item becomes a favorite, its
  /// fields are stored too.
  ///
  /// - Parameter item: the item to toggle.
  /// - Returns: whether it is a favorite now.
  /// - Throws: `invalidItem` if the item becomes a favorite and cannot be stored; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func toggle(_ item: Item) throws(HeartlogError) -> Bool {
    guard contains(item.id) else {
      return try perform(.toggle(fields: try fields(of: item)), on: item.id).isFavorite
    }
    // Encoding an item takes twice as long as toggling it, and one that is removed is not stored.
    guard try toggle(item.id) else { return false }
    // Something else removed it in between.
    try perform(.set(fields: try fields(of: item)), on: item.id)
    return true
  }

  /// Toggles whether the item with this id is a favorite. Its stored fields stay as they are; one that was never stored has none.
  ///
  /// - Parameter id: the item's id.
  /// - Returns: whether it is a favorite now.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func toggle(_ id: Item.ID) throws(HeartlogError) -> Bool {
    try perform(.toggle(), on: id).isFavorite
  }

  /// Removes the item with this id from the favorites. Its stored fields stay.
  ///
  /// - Parameter id: the item's id.
  /// - Returns: whether it was a favorite before. If not, no event is written.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: Item.ID) throws(HeartlogError) -> Bool {
    try perform(.remove, on: id).isChange
  }

  /// Removes an item from the favorites. Only its id is used.
  ///
  /// - Parameter item: the item to remove.
  /// - Returns: whether it was a favorite before.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ item: Item) throws(HeartlogError) -> Bool { try remove(item.id) }

  /// Updates the stored fields of an item, favorite or not. Writes only fields that differ.
  ///
  /// Does not change whether the item is a favorite, or since when: its own `isFavorite` and `favoritedDate` are ignored. Use `add`,
  /// `remove` or `toggle` for that.
  ///
  /// - Parameter item: the item with its new values.
  /// - Returns: whether any field differed.
  /// - Throws: `invalidItem` if the item cannot be stored; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(_ item: Item) throws(HeartlogError) -> Bool {
    try perform(.set(fields: try fields(of: item)), on: item.id).isChange
  }

  /// Changes the stored item with this id, favorite or not, as it is now. No other write comes between reading and writing it.
  ///
  /// ```swift
  /// try recipes.update("ribollita") { $0.tags.append("soup") }
  /// ```
  ///
  /// - Parameters:
  ///   - id: the item's id.
  ///   - change: changes the item, but not its id. Other writers wait while it runs.
  /// - Returns: whether any field differed.
  /// - Throws: what `change` throws; `notFound` if no item with this id is stored; `invalid` if its id was changed; `invalidItem` if the
  ///   stored fields do not decode to an `Item`, or if the item cannot be stored; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(_ id: Item.ID, _ change: (inout Item) throws -> Void) throws -> Bool {
    try library.store.write {
      var item = try stored(id)
      try apply(change, to: &item, id)
      return try update(item)
    }
  }

  /// The item with this id, which must be stored.
  func stored(_ id: Item.ID) throws(HeartlogError) -> Item {
    guard let item = try item(id) else {
      throw HeartlogError(.notFound, "\(library.name) \(id.favoriteID): no such item is stored")
    }
    return item
  }

  /// Changes an item, but not its id.
  func apply(_ change: (inout Item) throws -> Void, to item: inout Item, _ id: Item.ID) throws {
    try change(&item)
    guard item.id == id else {
      throw HeartlogError(.invalid, "\(library.name) \(id.favoriteID): an update cannot change the id")
    }
  }

  @discardableResult
  func perform(
    _ operation: HeartlogState.Operation, on id: Item.ID
  ) throws(HeartlogError) -> WriteResult {
    let id = id.favoriteID
    guard mayMeetUnknown(operation.fields) else { return try write(operation, on: id) }
    return try library.store.writeAsOne { () throws(HeartlogError) in
      try write(operation.with(keepingUnknown(operation.fields, of: id)), on: id)
    }
  }

  private func write(
    _ operation: HeartlogState.Operation, on id: String
  ) throws(HeartlogError) -> WriteResult {
    guard let schema else { return try library.perform(operation, on: id) }
    return try schema.perform(operation, on: id)
  }

  /// Whether the stored item may have something under the name of a field that the type does not know: a member of a nested value, or a
  /// field with one of the store's own names.
  private func mayMeetUnknown(_ fields: [Field]) -> Bool {
    fields.contains { field in
      if UnknownMembers.mayBe(in: field.value) { return true }
      guard field.value.isNull, FieldKey.isSupplied(field.name) else { return false }
      return WriteTransaction.joined(by: library.store)?.wroteReserved == true
        || library.store.projection.read { $0.hasField(called: field.name) }
    }
  }

  /// The fields to write: without those in which the item is as the type reads it from the store, and with the members of nested values that
  /// the type does not know.
  private func keepingUnknown(_ fields: [Field], of id: String) throws(HeartlogError) -> [Field] {
    guard let state = library.item(id) else { return fields }
    let stored = schema?.fields(of: state) ?? state.fields
    func isCompared(_ field: Field) -> Bool {
      guard let value = stored[field.name], value != field.value else { return false }
      return UnknownMembers.mayBe(in: value) || field.value.isNull && FieldKey.isSupplied(field.name)
    }
    // What cannot be read is replaced as a whole.
    guard fields.contains(where: isCompared), let item = try? decode(state),
      let known = try? FieldEncoder.encode(item, id: id)
    else { return fields }
    var kept: [Field] = []
    for field in fields {
      guard isCompared(field), let value = stored[field.name] else {
        kept.append(field)
        continue
      }
      let read = known.fields.first { $0.name.hasSameBytes(as: field.name) }?.value ?? .null
      if read == field.value { continue }
      guard UnknownMembers.mayBe(in: value), UnknownMembers.mayBe(in: read) else {
        kept.append(field)
        continue
      }
      let merged = UnknownMembers.merge(
        field.value.jsonValue, over: value.jsonValue, known: read.jsonValue)
      kept.append(Field(name: field.name, value: try heartlogErrors { try FieldValue(merged) }))
    }
    return kept
  }

  /// The fields of an item that is written later, when nobody is there to hear that it is not valid.
  func checkedFields(of item: Item) throws(HeartlogError) -> [Field] {
    let fields = try fields(of: item)
    try heartlogErrors {
      try NameRules.checkItem(item.id.favoriteID)
      try Event(localFields: [].setting(fields), of: item.id.favoriteID, in: library.name)
        .validateContent(wallTime: 0)
    }
    return fields
  }

  /// Returns an item as the store will have it.
  ///
  /// - Parameters:
  ///   - item: what is added; nil if it is removed. One that cannot be stored is added with what is stored already.
  ///   - moment: since when it is a favorite.
  func state(of id: Item.ID, with item: Item?, since moment: FavoritedMoment) -> ItemState {
    let id = id.favoriteID
    var fields = library.item(id).map { Array($0.fields) } ?? []
    if let item, let own = try? self.fields(of: item, isWritten: false) {
      // Beside the item's own fields there are the store's: its note, and its places in collections.
      fields = fields.filter { $0.name.utf8.first == UInt8(ascii: "@") }.setting(own).filter {
        !$0.value.isNull
      }
    }
    return ItemState(
      id: id, isFavorite: item != nil, favoritedMoment: moment, fields: ItemFields(fields))
  }

  /// Whether two items that are favorites since the same time are written alike.
  func isSame(_ a: Item, _ b: Item) -> Bool {
    guard let a = try? fields(of: a, isWritten: false), let b = try? fields(of: b, isWritten: false) else {
      return false
    }
    return a == b
  }

  /// The fields of an item, with null for those that the store supplies: they clear a value that the item had under the same name before.
  func fields(of item: Item, isWritten: Bool = true) throws(HeartlogError) -> [Field] {
    let id = item.id.favoriteID
    do throws(FieldCodingError) {
      var (fields, suppliedNames) = try FieldEncoder.encode(item, id: id)
      #if DEBUG
        if isWritten { try checkRoundTrip(of: item, id, fields) }
      #endif
      for name in suppliedNames where FieldKey.isSupplied(name) {
        let place = fields.firstIndex { name.bytesPrecede($0.name) } ?? fields.count
        fields.insert(Field(name: name, value: .null), at: place)
      }
      return try schema?.current(fields) ?? fields
    } catch {
      throw HeartlogError(.invalidItem, "\(library.name) \(id): \(error)")
    }
  }

  #if DEBUG
    /// Checks at the first write of a type that an item comes back as it was written.
    private func checkRoundTrip(
      of item: Item, _ id: String, _ fields: [Field]
    ) throws(FieldCodingError) {
      guard DebugWarnings.current.isFirstWrite(of: Item.self) else { return }
      let stored = ItemState(
        id: id, isFavorite: true, favoritedDate: 0, fields: fields.filter { !$0.value.isNull })
      let readItem: Item
      do { readItem = try ItemDecoder.decode(Item.self, from: stored, nil, template) } catch {
        throw FieldCodingError(error)
      }
      guard readItem.id.favoriteID.hasSameBytes(as: id) else {
        throw FieldCodingError(
          field: nil,
          reason:
            "the item would be read with the id \"\(readItem.id.favoriteID)\"; its type must encode what its id is made of"
        )
      }
      let read = try FieldEncoder.encode(readItem, id: id).fields
      for field in fields + read {
        func value(_ fields: [Field]) -> FieldValue {
          fields.first { $0.name.hasSameBytes(as: field.name) }?.value ?? .null
        }
        let (written, read) = (value(fields), value(read))
        guard written != read else { continue }
        throw FieldCodingError(
          field: field.name,
          reason:
            "the type encodes \(written.jsonValue.jsonText), and would read it back as \(read.jsonValue.jsonText); it must decode what it encodes"
        )
      }
    }
  #endif

  // MARK: - Catalogs

  /// Sets the favorite flags in a catalog. Each flag is replaced with the stored one; the order and everything else in the catalog stay.
  ///
  /// In the style of Smart City's MergePersistedFavoritesUseCase. One lookup per element. Writes nothing.
  ///
  /// - Parameters:
  ///   - catalog: any list; an id may occur more than once.
  ///   - id: the id of the item that an element represents.
  ///   - set: sets the flag, and for a favorite its date, in an element.
  /// - Returns: the catalog, and the favorites that are not in it, newest first. Leaves out those that do not decode to an `Item`;
  ///   `failures` reports them.
  public func merge<Element>(
    into catalog: [Element], id: (Element) -> Item.ID,
    set: (inout Element, _ isFavorite: Bool, _ date: Date?) -> Void
  ) -> CatalogMerge<Element, Item> {
    let merged = library.store.read { state in
      state.merge(into: catalog, of: library.name, id: { id($0).favoriteID }) { element, isFavorite, date in
        set(&element, isFavorite, date.map(Date.init(milliseconds:)))
      }
    }
    return CatalogMerge(catalog: merged.catalog, orphans: readable(merged.orphans))
  }
}

extension Favorites: CustomStringConvertible {
  /// The type and the library, as in `favorites of Recipe in recipes`.
  public var description: String { "favorites of \(Item.self) in \(library.name)" }
}

extension FavoritesStore {
  /// Returns the favorites of a type, in the given library.
  ///
  /// - Parameters:
  ///   - type: the type that items are read and written as.
  ///   - library: 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`. A library need not be created first.
  /// - Throws: `invalid` for an invalid library name; `invalidItem` if the type's template cannot be stored.
  public func favorites<Item: Codable & Identifiable & Sendable>(
    of type: Item.Type, in library: String
  ) throws(HeartlogError) -> Favorites<Item> where Item.ID: FavoriteID {
    try Favorites(try self.library(library))
  }

  /// Returns the favorites of a type that names its own library.
  ///
  /// - Parameter type: the type that items are read and written as.
  /// - Throws: `invalid` if the type's library name is invalid; `invalidItem` if its template cannot be stored.
  public func favorites<Item: FavoriteItem>(of type: Item.Type) throws(HeartlogError) -> Favorites<Item> {
    try favorites(of: type, in: Item.library)
  }
}

extension Date {
  /// Creates a date from milliseconds since 1970.
  package init(milliseconds: Milliseconds) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
  }

  /// Milliseconds since 1970, rounded down. Dates outside the range of the format are clamped to it.
  ///
  /// A date of whole milliseconds is stored as a nearby double, which may lie just below or above. Comparing dates instead of doubles
  /// ensures that a date read from a store is unchanged when written again.
  package var milliseconds: Milliseconds {
    let estimate = (timeIntervalSince1970 * 1_000).rounded(.down)
    guard estimate > Double(Limits.dateMillisecondsMin) else { return Limits.dateMillisecondsMin }
    guard estimate < Double(Limits.dateMillisecondsMax) else { return Limits.dateMillisecondsMax }
    let milliseconds = Milliseconds(estimate)
    if Date(milliseconds: milliseconds) > self { return milliseconds - 1 }
    return Date(milliseconds: milliseconds + 1) <= self ? milliseconds + 1 : milliseconds
  }
}
