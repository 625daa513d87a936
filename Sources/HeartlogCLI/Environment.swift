import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The environment variables that this program reads.
enum Environment {
  static let names = [
    "HEARTLOG_STORE", "HOME", "XDG_DATA_HOME", "NO_COLOR", "TERM", "COLUMNS", "HEARTLOG_SSH",
    "HEARTLOG_HUB_INVITATION",
  ]

  static func ofProcess() -> [String: String] {
    var values: [String: String] = [:]
    for name in names {
      if let value = getenv(name) { values[name] = String(cString: value) }
    }
    return values
  }

  /// The words after the program's name.
  ///
  /// Reads the raw bytes: `CommandLine.arguments` silently repairs invalid UTF-8, which would turn it into another id. On Linux it also
  /// looks for the words in /proc, and there are none if that cannot be read: then every command would print the help and succeed.
  static func arguments() throws(CommandError) -> [String] {
    var count: Int32 = 0
    var values = heartlog_arguments(&count)
    if values == nil { (values, count) = (CommandLine.unsafeArgv, CommandLine.argc) }
    guard let values, count > 0 else {
      throw CommandError(.inputOutput, "the words of the command line cannot be read")
    }
    var words: [String] = []
    for index in 1..<Int(count) {
      guard let bytes = values[index] else { break }
      guard let word = String(validatingCString: bytes) else {
        throw .usage("argument \(index) is not valid UTF-8", hint: "Names, ids and paths must be UTF-8.")
      }
      words.append(word)
    }
    return words
  }
}
