import Heartlog

/// One item as a file holds it, on its way in or out.
public struct FileItem: Hashable, Sendable {
  /// As its library writes it.
  public var id: String
  /// Without duplicate names; their order means nothing.
  public var fields: [Field]
  /// Fields of other names that hold where the store knows nothing of them: what makes an item whole, and was not told or not exactly.
  public var defaults: [Field] = []
  /// Milliseconds since 1970; nil where the file does not tell.
  public var favoritedDate: Milliseconds?
  /// False for what the file knows and does not call a favorite: its fields are taken over, and nothing else.
  public var isFavorite: Bool

  /// An item without defaults.
  ///
  /// - Parameters:
  ///   - id: as its library writes it.
  ///   - fields: without duplicate names.
  ///   - favoritedDate: milliseconds since 1970; nil where the file does not tell.
  ///   - isFavorite: false for what is known and no favorite.
  public init(id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil, isFavorite: Bool = true) {
    self.id = id
    self.fields = fields
    self.favoritedDate = favoritedDate
    self.isFavorite = isFavorite
  }

  /// The value of a field, told or by default; nil where there is neither.
  func value(of name: String) -> FieldValue? {
    (fields + defaults).first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The value of a field; nil where there is none, or null.
  public subscript(name: String) -> FieldValue? {
    guard let value = fields.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value, !value.isNull
    else { return nil }
    return value
  }
}

extension FileItem {
  /// An item of the store, without the fields that were cleared.
  init(_ state: ItemState) {
    self.init(
      id: state.id, fields: state.fields.filter { !$0.value.isNull }, favoritedDate: state.favoritedDate,
      isFavorite: state.isFavorite)
  }

  /// An app's item by its `Codable` form.
  ///
  /// - Throws: `invalidItem` for what the store cannot hold.
  init<Item: Codable & Identifiable>(_ item: Item, since date: Milliseconds? = nil) throws(LibraryError)
  where Item.ID: FavoriteID {
    do {
      self.init(id: item.id.favoriteID, fields: try FieldEncoder.fields(of: item), favoritedDate: date)
    } catch {
      throw .invalidItem(String(describing: error))
    }
  }

  /// The app's item that this one is.
  ///
  /// - Throws: `invalidItem` where its fields do not make one.
  func decoded<Item: Codable & Identifiable>(as type: Item.Type) throws(LibraryError) -> Item
  where Item.ID: FavoriteID {
    do {
      return try FieldDecoder.decode(
        type, id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, fields: fields)
    } catch {
      throw .invalidItem("\(id): \(error)")
    }
  }

  /// Refuses what no store can hold, before anything of its file is written.
  func validate() throws(LibraryError) {
    do throws(MalformedError) {
      try NameRules.checkItem(id)
      for field in fields + defaults {
        try NameRules.checkFieldName(field.name)
        if case .string(let text) = field.value, text.utf8.count > Limits.valueBytesMax {
          throw MalformedError(
            "field \"\(field.name)\" of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
        }
      }
    } catch {
      throw .invalidItem(error.reason)
    }
    if let favoritedDate, !(Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(favoritedDate) {
      throw .invalidItem("a favorited date outside the years 0000 to 9999")
    }
  }
}

/// What was read from a file: the items, each with the line where it begins, and what was refused.
public struct FileContents: Sendable {
  /// A record that is no item, where it begins (the first line is 1), and why.
  public struct Refusal: Hashable, Sendable {
    /// The first line is 1.
    public let line: Int
    /// A phrase without a full stop.
    public let reason: String

    /// A refusal of the record that begins on a line.
    public init(line: Int, reason: String) {
      self.line = line
      self.reason = reason
    }
  }

  /// A sound record.
  public struct Record: Hashable, Sendable {
    /// Where it begins; the first line is 1.
    public let line: Int
    /// What it holds.
    public let item: FileItem
  }

  /// The sound records, in the order of the file.
  public private(set) var records: [Record] = []
  /// What was refused, in the order of the file.
  public private(set) var refusals: [Refusal] = []

  /// A file without a record.
  public init() {}

  /// Takes a sound record.
  public mutating func take(_ item: FileItem, line: Int) { records.append(Record(line: line, item: item)) }

  /// Notes that there is no item at a line, and why.
  public mutating func refuse(line: Int, _ reason: String) {
    refusals.append(Refusal(line: line, reason: reason))
  }

  /// Takes the record that `read` makes, or notes why there is none.
  public mutating func take(line: Int, _ read: () throws(LibraryError) -> FileItem) {
    do { take(try read(), line: line) } catch { refuse(line: line, error.description) }
  }

  /// Takes what `read` makes of each line of a file that has one record a line; blank lines are passed over, and counted.
  mutating func takeLines(
    of bytes: [UInt8], _ read: (ArraySlice<UInt8>) throws(LibraryError) -> FileItem
  ) {
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
      take(line: number) { () throws(LibraryError) in try read(line) }
    }
  }
}
