/// The version of the `heartlog` command.
enum Version {
  static let text = "0.1.0"
}
