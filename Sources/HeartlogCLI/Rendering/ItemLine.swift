import Heartlog

/// One item, for programs and for people.
enum ItemLine {
  static func write(_ item: ItemState, in library: String, to json: inout JSONWriter) {
    json.member("library", library)
    json.member("id", item.id)
    json.member("isFavorite", item.isFavorite)
    json.name("favoritedDate")
    if let date = item.favoritedDate { json.value(RFC3339.text(date)) } else { json.null() }
    json.member("fields", item.fields)
  }

  /// A value in one line.
  static func text(_ value: FieldValue) -> String {
    switch value {
    case .null: "null"
    case .string(let text): text
    default: value.jsonValue.jsonText
    }
  }

  /// The fields that tell people most about an item of any library, the first that is there.
  private static let titles = ["title", "name", "breed"]
  /// And those that come after it.
  private static let subtitles = ["author", "authors", "creators", "country"]

  /// What an item is called: by its fields, else nothing.
  static func title(_ item: ItemState) -> String {
    let title = titles.lazy.compactMap { item.value(of: $0) }.first.map(text)
    let subtitle = subtitles.lazy.compactMap { item.value(of: $0) }.first.map(list)
    return [title, subtitle].compactMap { $0 }.joined(separator: " — ")
  }

  private static func list(_ value: FieldValue) -> String {
    guard case .json(let json) = value, case .array(let elements) = json.value else { return text(value) }
    return elements.map { element in
      if case .string(let text) = element { text } else { element.jsonText }
    }.joined(separator: ", ")
  }

  static func cells(_ item: ItemState, _ style: Style, _ times: TimeStyle) -> [Table.Cell] {
    [
      .init(item.isFavorite ? "♥" : "♡", item.isFavorite ? .favorite : .faint),
      .init(item.favoritedDate.map { times.text($0) } ?? "", .faint), .init(item.id, .name),
      .init(title(item)),
    ]
  }

  static let columns: [Table.Column] = [
    .init(), .init(), .init(isFlexible: true, keepsEnd: true), .init(isFlexible: true),
  ]
}
