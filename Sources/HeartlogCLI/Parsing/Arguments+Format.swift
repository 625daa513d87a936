import HeartlogLibraries

extension Option {
  static let format = Option.value(
    "format", "F", .choice(FileFormats.all.map(\.name)),
    "The file's format: \(FileFormats.all.map(\.name).joined(separator: ", ")).")
}

extension Arguments {
  /// The format that was named, if it is one for the items of that library.
  func format(for library: String) throws(CommandError) -> (any FileFormat)? {
    guard let name = text(Option.format), let format = FileFormats.named(name) else { return nil }
    guard format.fits(library) else {
      throw .usage("\(name) cannot hold \(library)", hint: "There are \(FileFormats.names(for: library)).")
    }
    return format
  }
}

extension FileFormats {
  /// The names of the formats for a library, for messages.
  static func names(for library: String, writtenOnly: Bool = false) -> String {
    all.filter { $0.fits(library) && ($0.isWritten || !writtenOnly) }.map(\.name).joined(separator: ", ")
  }
}
