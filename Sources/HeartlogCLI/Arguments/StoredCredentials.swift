import Heartlog
import HeartlogFiles
import HeartlogSync

/// The credentials for storage that a person keeps in files and the environment, where other programs look for them as well.
struct StoredCredentials {
  let environment: [String: String]
  let fileSystem: any FileSystem

  /// The region of buckets.
  func region() throws -> String {
    if let named = value("AWS_REGION") ?? value("AWS_DEFAULT_REGION") { return named }
    let section = profile == "default" ? profile : "profile \(profile)"
    return try text(of: value("AWS_CONFIG_FILE") ?? inHome(".aws/config"))
      .flatMap { Self.section(section, of: $0)["region"] } ?? "us-east-1"
  }

  var endpoint: String? { value("AWS_ENDPOINT_URL_S3") ?? value("AWS_ENDPOINT_URL") }

  /// The credentials for a place; nil if there are none.
  func credentials(for address: StorageAddress) throws -> StorageCredentials? {
    switch address.kind {
    case .webDAV:
      if let user = value("HEARTLOG_WEBDAV_USER"), let password = value("HEARTLOG_WEBDAV_PASSWORD") {
        return StorageCredentials(user: user, secret: password)
      }
      let host = address.origin.host.prefix { $0 != ":" }
      return try text(of: value("NETRC") ?? inHome(".netrc")).flatMap { Self.entry(of: String(host), in: $0) }
    case .s3:
      if let id = value("AWS_ACCESS_KEY_ID"), let key = value("AWS_SECRET_ACCESS_KEY") {
        return StorageCredentials(user: id, secret: key, token: value("AWS_SESSION_TOKEN"))
      }
      let file = value("AWS_SHARED_CREDENTIALS_FILE") ?? inHome(".aws/credentials")
      let values = try text(of: file).map { Self.section(profile, of: $0) } ?? [:]
      guard let id = values["aws_access_key_id"], let key = values["aws_secret_access_key"] else {
        return nil
      }
      return StorageCredentials(user: id, secret: key, token: values["aws_session_token"])
    }
  }

  private var profile: String { value("AWS_PROFILE") ?? "default" }

  /// The value of a variable that is set and not empty.
  private func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

  private func inHome(_ path: String) -> String? { value("HOME").map { "\($0)/\(path)" } }

  private func text(of path: String?) throws -> String? {
    try path.flatMap { try fileSystem.contents(of: $0) }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The values of a section of a file of Amazon's tools.
  static func section(_ name: String, of text: String) -> [String: String] {
    var values: [String: String] = [:]
    var isInSection = false
    for line in text.split(whereSeparator: \.isNewline).map(\.withoutOuterWhiteSpace) {
      if line.hasPrefix("[") {
        isInSection = line.dropFirst().prefix { $0 != "]" }.collapsed == name
      } else if isInSection, !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
        values[line[..<equals].withoutOuterWhiteSpace] =
          line[line.index(after: equals)...].withoutOuterWhiteSpace
      }
    }
    return values
  }

  /// The entry of a host in a file that ftp and curl read: `machine HOST login USER password PASSWORD`, or `default` in place of the first two.
  static func entry(of host: String, in text: String) -> StorageCredentials? {
    var words = Self.words(of: text)[...]
    var isEntry = false
    var user = ""
    var password: String?
    while let word = words.popFirst() {
      switch word {
      case "machine", "default":
        if isEntry, let password { return StorageCredentials(user: user, secret: password) }
        isEntry = word == "default" || words.popFirst()?.lowercased() == host
        (user, password) = ("", nil)
      case "login": user = words.popFirst() ?? ""
      case "password": password = words.popFirst()
      case "account": _ = words.popFirst()
      default: break
      }
    }
    return isEntry ? password.map { StorageCredentials(user: user, secret: $0) } : nil
  }

  /// The words of a netrc file: those in quotation marks may have spaces, and a backslash stands before what is meant as it is.
  private static func words(of text: String) -> [String] {
    var words: [String] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      // A macro ends with an empty line.
      if isMacro { isMacro = !line.allSatisfy(\.isWhitespace) }
      if isMacro { continue }
      var rest = line[...].drop(while: \.isWhitespace)
      while let first = rest.first, first != "#" {
        var word = ""
        let isQuoted = first == "\""
        if isQuoted { rest.removeFirst() }
        while let character = rest.popFirst(), isQuoted ? character != "\"" : !character.isWhitespace {
          word.append(isQuoted && character == "\\" ? rest.popFirst() ?? character : character)
        }
        if word == "macdef", !isQuoted { isMacro = true }
        words.append(word)
        rest = rest.drop(while: \.isWhitespace)
      }
    }
    return words
  }
}
