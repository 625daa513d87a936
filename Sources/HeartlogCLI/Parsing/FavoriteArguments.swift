import Heartlog

/// The arguments of a command that makes an item a favorite.
struct FavoriteArguments {
  let library: String
  let item: String
  let fields: [Field]
  /// The favorited date, in milliseconds since 1970; nil for now.
  let date: Milliseconds?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    fields = try arguments.fields().fields()
    date = try arguments.moment(.date)?.first
  }
}
