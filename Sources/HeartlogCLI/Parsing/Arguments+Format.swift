import HeartlogInterchange
import HeartlogLibraries

extension Option {
  static let format = Option.value(
    "format", "F", .choice(FileFormats.standard.all.map(\.name)),
    "The file's format: \(FileFormats.standard.all.map(\.name).joined(separator: ", ")).")
}

extension Arguments {
  /// The format that was named; nil if none was. Throws if it is not a format for the library.
  func format(for library: String) throws(CommandError) -> (any FileFormat)? {
    guard let name = text(Option.format) else { return nil }
    guard let format = FileFormats.standard.formats(for: library).first(where: { $0.name == name }) else {
      throw .usage(
        "\(name) cannot be used for \(library)",
        hint: "Formats for \(library): \(FileFormats.standard.names(for: library)).")
    }
    return format
  }
}

extension FileFormats {
  /// The names of the formats for a library, for messages.
  func names(for library: String, writtenOnly: Bool = false) -> String {
    formats(for: library).filter { $0.isWritten || !writtenOnly }.map(\.name).joined(separator: ", ")
  }
}
