import Heartlog

/// The audiobook app's array of books, with their positions: dates as seconds since 2001, and the address for
/// downloading the audio in place of its file.
struct BookRecordList: AppRecordList {
  let library = Book.descriptor
  let members = Set(
    Book.descriptor.fields.map(\.name) + Book.AppKey.allCases.map(\.rawValue) + ["id"]
      + FileItem.restMembers)

  private static let path = Book.AppKey.fileURLString.rawValue
  /// 2001-01-01, in milliseconds since 1970.
  private static let referenceDate: Milliseconds = 978_307_200_000

  func matches(_ outline: JSONOutline) -> Bool {
    let names = outline.elementNames
    // The app has no favoritedDate.
    return !names.contains(FieldName.favoritedDate)
      && (!names.isDisjoint(with: ["fileURL", Self.path])
        || names.isSuperset(of: ["title", "dateAdded"]))
  }

  func matches(_ item: FileItem) -> Bool {
    item["title"] != nil && (item["fileURL"] != nil || item["duration"] != nil)
  }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    var item = try FileItem(encoding: try Book(appRecord: record))
    // A member that is missing stays missing: it does not become its default.
    item.fields.removeAll { field in Self.members(of: field.name).allSatisfy { record[$0]?.isNull ?? true } }
    item.favoritedDate = try Self.date(record["dateAdded"])
    try item.takeRest(of: record)
    library.removeLocal(&item)
    return item
  }

  /// The members that hold a field: the app's own first.
  private static func members(of field: String) -> [String] {
    switch field {
    case "downloadURL": [path, "fileURL"]
    case "coverImageURL": [Book.AppKey.coverImageURLString.rawValue, field]
    default: [field]
    }
  }

  /// Parses a date. If the seconds are exactly a millisecond, it is that; otherwise the last millisecond
  /// before them.
  private static func date(_ value: JSONValue?) throws(LibraryError) -> Milliseconds? {
    guard let seconds = value?.number else { return try FileItem.date(value, named: "dateAdded") }
    // The app counts from 2001. What would be a date after 2038 counts from 1970.
    if seconds >= 1_200_000_000, let time = FileDate.time(seconds) { return time }
    let nearest = (seconds * 1_000).rounded()
    guard abs(nearest) < 1e15 else { throw .invalidItem("a date outside the years 0000 to 9999") }
    let isExact = nearest / 1_000 == seconds
    return referenceDate + Milliseconds(isExact ? nearest : (seconds * 1_000).rounded(.down))
  }

  func record(_ item: FileItem) throws(LibraryError) -> JSONValue {
    guard let id = UUID(uuidString: item.id) else {
      throw .invalidItem("\(item.id): the id is not a UUID, as those of the app are")
    }
    guard let date = item.favoritedDate, item.isFavorite else {
      throw .invalidItem("\(item.id): a book that is not in the library")
    }
    var written: Set<String> = []
    var members = [JSONMember("id", .string(id.uuidString))]
    for known in library.fields where known.name != "coverSearch" {
      guard let value = item[known.name], let told = Self.told(value, known) else { continue }
      members.append(JSONMember(known.name == "downloadURL" ? Self.path : known.name, told))
      written.insert(known.name)
    }
    guard written.contains("title") else { throw .invalidItem("\(item.id): a book without a title") }
    members += .present([
      // The app reads no list with a book that lacks one of these.
      Self.path: written.contains("downloadURL") ? nil : .string(""),
      "isDownloaded": written.contains("isDownloaded") ? nil : .bool(false),
      "dateAdded": .double(Double(date - Self.referenceDate) / 1_000),
    ])
    return .object(members + item.rest(except: written, date: false))
  }

  /// The JSON of a value as the app stores it; `nil` if the app cannot store it.
  private static func told(_ value: FieldValue, _ known: LibraryField) -> JSONValue? {
    guard (try? known.check(value)) != nil else { return nil }
    switch (known.kind, value.jsonValue) {
    case (.url, .string(let text)): return .string(path(text))
    case (.texts, .array(let texts)): return .array(texts.compactMap(\.string).map { .string(path($0)) })
    case (.texts, _): return nil
    case (_, let value): return value
    }
  }

  /// The path of a file URL if it leads back to the same URL; otherwise the URL.
  private static func path(_ text: String) -> String {
    guard let url = URL(string: text), url.isFileURL, url.path.hasPrefix("/"),
      URL(filePath: url.path).absoluteString.utf8.elementsEqual(text.utf8)
    else { return text }
    return url.path
  }
}

/// The audiobook app's settings: one object, which also contains the current book, and `items` for all other
/// settings.
struct SettingsRecords: AppRecords {
  private static let items = "items"
  private static let player = BookLibrary.player
  private static let currentBook = BookLibrary.currentBookField
  private var settings: [LibraryField] { PlaybackSettings.descriptor.fields }

  func matches(_ outline: JSONOutline) -> Bool {
    !outline.objectNames.isDisjoint(with: settings.map(\.name) + [Self.currentBook])
  }

  /// False: an item of a library without a descriptor is never written as settings.
  func matches(_ item: FileItem) -> Bool { false }

  /// Reads the settings. Each is accepted or refused separately; a missing one is not set.
  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents {
    guard document.isObject(document.root) else { throw .invalidAnswer("the settings are not a JSON object") }
    var contents = FileContents()
    let (members, failure) = document.members(of: document.root)
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    // An item may be spread over the settings, the current book and `items`.
    var items: [(line: Int, item: FileItem)] = []
    func add(line: Int, to id: String, _ fields: () throws(LibraryError) -> JSONValue) {
      do throws(LibraryError) {
        var item = FileItem(id: id, isFavorite: false)
        try item.takeFields(try fields())
        item = try PlaybackSettings.descriptor.checked(item)
        guard let index = items.firstIndex(where: { $0.item.id == item.id }) else {
          return items.append((line, item))
        }
        for field in item.fields { items[index].item.set(field.name, field.value) }
      } catch {
        contents.refuse(line: line, error.description)
      }
    }
    var names: Set<String> = []
    for member in members {
      let node = member.value
      switch member.name {
      case Self.items where document.isObject(node):
        for item in document.members(of: node).members {
          add(line: item.value.line, to: item.name) { () throws(LibraryError) in
            try document.value(item.value)
          }
        }
      case Self.currentBook:
        add(line: node.line, to: Self.player) { () throws(LibraryError) in
          let book = try Book.descriptor.checked(FileItem(id: document.value(node).string ?? ""))
          return .object([JSONMember(Self.currentBook, .string(book.id))])
        }
      default:
        add(line: node.line, to: PlaybackSettings.item) { () throws(LibraryError) in
          let value = try document.value(node)
          guard let known = settings.first(where: { $0.name == member.name }) else {
            throw .invalidItem("\(member.name.quoted) is not a setting of the app")
          }
          try known.check(json: value)
          guard !value.isNull else { return .null }
          guard names.insert(known.name).inserted else {
            throw .invalidItem("\(known.name) is in the settings twice")
          }
          return .object([JSONMember(member.name, value)])
        }
      }
    }
    for (line, item) in items where !item.fields.isEmpty { contents.take(item, line: line) }
    return contents
  }

  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8] {
    var members: [JSONMember] = []
    var rest: [JSONMember] = []
    for item in items {
      guard !item.isFavorite else { throw .invalidItem("\(item.id): a setting that is a favorite") }
      var others = item.fields.filter { !$0.value.isNull }
      if item.id == PlaybackSettings.item {
        for setting in settings {
          guard let value = item[setting.name], (try? setting.check(value)) != nil else { continue }
          members.append(JSONMember(setting.name, value.jsonValue))
          others.removeAll { $0.name == setting.name }
        }
      } else if item.id == Self.player, case .string(let id)? = item[Self.currentBook],
        (try? Book.descriptor.checked(FileItem(id: id)))?.id == id
      {
        members.append(JSONMember(Self.currentBook, .string(id)))
        others.removeAll { $0.name == Self.currentBook }
      }
      if !others.isEmpty { rest.append(JSONMember(item.id, others.jsonObject)) }
    }
    if !rest.isEmpty { members.append(JSONMember(Self.items, .object(rest))) }
    return Array("\(JSONValue.object(members).jsonText)\n".utf8)
  }
}

extension BookLibrary {
  /// Takes over what the app kept in its user defaults, in one commit: the array of books, the position of each, the
  /// settings, and the current book.
  ///
  /// ```swift
  /// try library.migrate(
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
  public func migrate(
    books array: (any JSONSource)?, settings: (any JSONSource)? = nil, currentBookID: String? = nil,
    position: (Book.ID) -> Double? = { _ in nil }
  ) throws -> MigrationReport {
    let list: any JSONSource = array ?? JSONValue.array([])
    let (storable, badRecords) = try BookRecordList().items(of: list, for: books)
    let (fields, badSettings) = try settings.map { try Self.settingFields($0) } ?? ([], [])
    let count = try store.write(origin: MigrationOrigin.userDefaults) {
      var count = 0
      for book in storable {
        if let known = books.library.item(book.id.favoriteID) {
          try migrateFiles(of: book, known)
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
    return MigrationReport(count: count, failures: badRecords + badSettings)
  }

  /// Records the files of a book that another device has added, unless this one ever recorded any. Must be called inside a write.
  private func migrateFiles(of book: Book, _ known: ItemState) throws(HeartlogError) {
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

  /// The valid settings in an object, and an error for each other member.
  private static func settingFields(
    _ source: some JSONSource
  ) throws(LibraryError) -> (fields: [Field], failures: [LibraryError]) {
    let contents = try SettingsRecords().read(JSONDocument(Array(try source.json().jsonText.utf8)))
    let playback = contents.records.first { $0.item.id == PlaybackSettings.item }
    return (playback?.item.fields ?? [], contents.refusals.map { .invalidItem($0.reason) })
  }
}
