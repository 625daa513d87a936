/// The versions of the `heartlog` command.
enum Version {
  static let text = "0.1.0"
  /// The version of the store format that it writes.
  static let storeFormat = 1
}
