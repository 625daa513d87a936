import Heartlog

/// The audiobook app's settings: one object, with the current book beside them, and with `items` for what other settings there are.
enum SettingsForm {
  private static let items = "items"
  private static let player = BookLibrary.player
  private static let currentBook = BookLibrary.currentBookField
  private static let settings = KnownField.all(of: PlaybackSettings.library)

  static func isForm(_ outline: JSONOutline) -> Bool {
    !outline.objectNames.isDisjoint(with: settings.map(\.name) + [currentBook])
  }

  /// Each setting is taken or refused on its own. One that is missing is not told.
  static func read(_ pieces: JSONPieces) throws(LibraryError) -> FileContents {
    guard pieces.isObject(pieces.root) else { throw .invalidAnswer("settings that are no object") }
    var contents = FileContents()
    let (members, failure) = pieces.members(of: pieces.root)
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    var playback = FileItem(id: PlaybackSettings.item, isFavorite: false)
    for member in members {
      let piece = member.value
      if member.name == items, pieces.isObject(piece) {
        for item in pieces.members(of: piece).members {
          contents.take(line: item.value.line) { () throws(LibraryError) in
            try Self.item(item.name, pieces.value(item.value))
          }
        }
      } else if member.name == currentBook {
        contents.take(line: piece.line) { () throws(LibraryError) in
          let id = try pieces.value(piece).string ?? ""
          let book = try FileItem(id: id).checked(for: Book.library)
          return try Self.item(player, .object([JSONMember(currentBook, .string(book.id))]))
        }
      } else {
        do throws(LibraryError) {
          let value = try pieces.value(piece)
          guard let known = settings.first(where: { $0.name == member.name }) else {
            throw .invalidItem("\(KnownField.shown(member.name)) is no setting of the app")
          }
          try known.check(json: value)
          try playback.take([JSONMember(member.name, value)])
        } catch {
          contents.refuse(line: piece.line, error.description)
        }
      }
    }
    if !playback.fields.isEmpty { contents.take(playback, line: pieces.root.line) }
    return contents
  }

  private static func item(_ id: String, _ fields: JSONValue) throws(LibraryError) -> FileItem {
    var item = FileItem(id: id, isFavorite: false)
    try item.takeFields(fields)
    return try item.checked(for: PlaybackSettings.library)
  }

  static func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    var rest: [(id: String, fields: [Field])] = []
    for item in items {
      guard !item.isFavorite else { throw .invalidItem("\(item.id): a setting that is a favorite") }
      var others = item.fields.filter { !$0.value.isNull }
      if item.id == PlaybackSettings.item {
        for setting in settings {
          guard let value = item[setting.name], (try? setting.check(value)) != nil else { continue }
          json.member(setting.name, value)
          others.removeAll { $0.name == setting.name }
        }
      } else if item.id == player, case .string(let id)? = item[currentBook],
        (try? FileItem(id: id).checked(for: Book.library))?.id == id
      {
        json.member(currentBook, id)
        others.removeAll { $0.name == currentBook }
      }
      if !others.isEmpty { rest.append((item.id, others)) }
    }
    if !rest.isEmpty {
      json.name(self.items)
      json.beginObject()
      for item in rest { json.member(item.id, item.fields) }
      json.endObject()
    }
    json.endObject()
    json.endLine()
    return json.bytes
  }
}
