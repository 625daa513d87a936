import Heartlog
import HeartlogLibraries

/// Formats one item, as JSON and as text.
enum ItemLine {
  static func write(_ item: ItemState, in library: String, to json: inout JSONWriter) {
    json.member("library", library)
    json.member("id", item.id)
    json.member("isFavorite", item.isFavorite)
    json.name("favoritedDate")
    if let date = item.favoritedDate { json.value(RFC3339.text(date)) } else { json.null() }
    json.member("fields", item.fields)
  }

  /// A value on one line.
  static func text(_ value: FieldValue) -> String {
    switch value {
    case .null: "null"
    case .string(let text): text
    default: value.jsonValue.jsonText
    }
  }

  /// The cells of a row: the heart, the date, the id, and the title line of the library's descriptor.
  static func cells(
    _ item: ItemState, of library: any LibraryDescriptor, _ times: TimeStyle
  ) -> [Table.Cell] {
    [
      .init(item.isFavorite ? "♥" : "♡", item.isFavorite ? .favorite : .faint),
      .init(item.favoritedDate.map { times.text($0) } ?? "", .faint),
      .init(DisplayText.identifier(item.id), .name),
      .init(library.titleLine(of: item)),
    ]
  }

  static let columns: [Table.Column] = [
    .init(), .init(), .init(isFlexible: true, keepsEnd: true), .init(isFlexible: true),
  ]
}
