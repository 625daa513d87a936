import Heartlog

extension BookLibrary {
  /// Takes over what the app kept in its user defaults, in one commit: the array of books, the position of each, the
  /// settings, and the current book.
  ///
  /// ```swift
  /// try library.takeOver(
  ///   books: defaults.data(forKey: "saved_books"), settings: defaults.data(forKey: "playback_settings"),
  ///   currentBookID: defaults.string(forKey: "current_book_id")
  /// ) { defaults.object(forKey: "current_position_\($0.uuidString)") as? Double }
  /// ```
  ///
  /// What the store has had before stays as it is: a book that was deleted since does not come back, a setting that
  /// was changed keeps its value, and a second call changes nothing. A book that another device has added gets the files
  /// of this one. A record or a setting that is not valid does not affect the others; members that are not known are
  /// reported.
  ///
  /// - Parameters:
  ///   - array: the JSON array of books; `nil` if there is none.
  ///   - settings: the JSON object of the settings; `nil` if there is none.
  ///   - currentBookID: the id of the current book; `nil` if there is none.
  ///   - position: the position that the app kept for a book, in seconds; `nil` for the one in the array.
  /// - Throws: `LibraryError.invalidAnswer` if a text is not JSON, or of another kind; `HeartlogError` if the store
  ///   cannot be written.
  @discardableResult
  public func takeOver(
    books array: (any JSONSource)?, settings: (any JSONSource)? = nil, currentBookID: String? = nil,
    position: (Book.ID) -> Double? = { _ in nil }
  ) throws -> TakeOverReport {
    let list = try array.map { try $0.json() } ?? .array([])
    let records = try Book.books(appRecords: list)
    let unknown = (list.array ?? []).unknownMembers(besides: Book.appMembers)
    let (fields, badSettings) = try settings.map { try Self.settingFields($0) } ?? ([], [])
    let badRecords = records.rejected.map { LibraryError.invalidItem("record \($0.index + 1): \($0.error)") }
    let (storable, refused) = books.storable(records.books)
    let count = try store.write(origin: TakeOverOrigin.userDefaults) {
      var count = 0
      for book in storable {
        if let known = books.library.item(book.id.favoriteID) {
          try takeOverFiles(of: book, known)
          continue
        }
        var book = book
        if let kept = position(book.id), kept.isFinite { book.currentPosition = book.clamped(kept) }
        if try add(BookDraft(book)) { count += 1 }
      }
      let item = PlaybackSettings.item
      try self.settings.set(fields.filter { !isWritten($0.name, of: item) }, of: item)
      if let id = currentBookID.flatMap(Book.ID.init(uuidString:)), books.contains(id),
        !isWritten(Self.currentBookField, of: Self.player)
      {
        try setCurrentBookID(id)
      }
      return count
    }
    return TakeOverReport(count: count, failures: badRecords + refused + unknown + badSettings)
  }

  /// Records the files of a book that another device has added, unless this one ever recorded any. Must be called inside a write.
  private func takeOverFiles(of book: Book, _ known: ItemState) throws(HeartlogError) {
    let isLocal = { (field: Field) in Book.localFields.contains(field.name) }
    guard known.isFavorite, !known.fields.contains(where: isLocal) else { return }
    try books.library.set(try BookDraft(book).fields.filter(isLocal), of: known.id)
  }

  /// Whether a setting was ever written, even if only to clear it.
  private func isWritten(_ field: String, of item: String) -> Bool {
    // The item has what is queued, the state what was cleared.
    settings.item(item)?.value(of: field) != nil
      || store.read { $0.position(ofField: field, of: item, in: PlaybackSettings.library) } != nil
  }

  /// The valid settings in an object, and an error for each other one.
  private static func settingFields(
    _ source: some JSONSource
  ) throws(LibraryError) -> (fields: [Field], failures: [LibraryError]) {
    let object = try source.json()
    guard object.object != nil else {
      throw .invalidAnswer("settings that are \(object.kind), not an object")
    }
    var fields: [Field] = []
    let names = PlaybackSettings.descriptor.fields.map(\.name)
    var failures = [object].unknownMembers(besides: Set(names))
    for known in PlaybackSettings.descriptor.fields {
      guard let json = object[known.name], !json.isNull else { continue }
      do throws(LibraryError) {
        try known.check(json: json)
        if let value = try? FieldValue(json) { fields.append(Field(name: known.name, value: value)) }
      } catch { failures.append(error) }
    }
    return (fields, failures)
  }
}
