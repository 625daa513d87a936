import Heartlog

/// The address of a store on another machine: `ssh://[user@]host[:port]/path`.
///
/// The path is absolute; `/~/…` starts in the user's home directory, as in git addresses. Nothing is
/// percent-decoded. The address contains no password: ssh asks for one, or uses a key.
public struct SSHAddress: Hashable, Sendable, CustomStringConvertible {
  public let description: String
  /// The host, with the user if the address names one.
  public let host: String
  /// The port; `nil` for the default of ssh.
  public let port: Int?
  /// The path of the store, as it is passed to the other machine.
  public let path: String

  static let scheme = "ssh://"

  /// Parses an address.
  ///
  /// - Throws: `invalid` if the text is no such address, if ssh would take the host or user for an option, or
  ///   if there is a password, which the error does not contain.
  public init(_ text: String) throws(HeartlogError) {
    guard text.hasPrefix(Self.scheme) else {
      throw HeartlogError(.invalid, "the address does not begin with \(Self.scheme)")
    }
    let rest = text.dropFirst(Self.scheme.count)
    guard Self.withoutPassword(text) == text else {
      throw HeartlogError(
        .invalid,
        "the address contains a password, which everyone who lists processes can see: leave it out; ssh asks for it or uses a key"
      )
    }
    guard let slash = rest.firstIndex(of: "/") else {
      throw HeartlogError(.invalid, "the address has no path of a store: \(text)")
    }
    var authority = rest[..<slash]
    var port: Int?
    // In an IPv6 address, only a colon after the bracket starts the port.
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number)
      else {
        throw HeartlogError(.invalid, "the port is not a number from 1 to 65535: \(text)")
      }
      port = number
      authority = authority[..<colon]
    }
    let user = authority.lastIndex(of: "@").map { authority[..<$0] }
    var host = user.map { authority[$0.endIndex...].dropFirst() } ?? authority
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard Self.isSafe(host), user.map(Self.isSafe) ?? true else {
      throw HeartlogError(.invalid, "the host or the user is not valid: \(text)")
    }
    let path = rest[slash...]
    self.path = path.hasPrefix("/~/") ? String(path.dropFirst(3)) : String(path)
    guard !self.path.isEmpty, self.path != "/", !self.path.utf8.contains(0) else {
      throw HeartlogError(.invalid, "the address has no path of a store: \(text)")
    }
    self.host = (user.map { "\($0)@" } ?? "") + host
    self.port = port
    description = text
  }

  /// Returns the text with passwords in addresses replaced by `***`.
  package static func withoutPassword(_ text: String) -> String {
    guard let start = text.firstRange(of: scheme) else { return text }
    let (before, rest) = (text[..<start.upperBound], text[start.upperBound...])
    // A password may contain a slash, but no space.
    let address = rest.prefix { !$0.isWhitespace }
    let path = address.firstIndex(of: "/") ?? address.endIndex
    guard let colon = address.firstIndex(of: ":"), colon < path, let at = address.lastIndex(of: "@"),
      colon < at
    else { return before + withoutPassword(String(rest)) }
    return before + rest[...colon] + "***" + withoutPassword(String(rest[at...]))
  }

  /// The arguments for `ssh`, without the program name, to run a command of `heartlog` for the store.
  func arguments(running command: String) -> [String] {
    let port = port.map { ["-p", "\($0)"] } ?? []
    // The shell of the other machine parses this; no local shell does.
    return port + ["--", host, "heartlog --store \(Self.quoted(path)) \(command)"]
  }

  /// Whether a name contains only letters, digits and a few marks, and does not begin with a dash.
  private static func isSafe(_ name: Substring) -> Bool {
    guard !name.isEmpty, !name.hasPrefix("-") else { return false }
    return name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: ":"), UInt8(ascii: "%"), UInt8(ascii: "+"), 0x80...:
        true
      default: false
      }
    }
  }

  /// Quotes a path as one word for a POSIX shell, which never begins with a dash.
  static func quoted(_ path: String) -> String {
    let safe = path.hasPrefix("-") ? "./\(path)" : path
    return "'" + safe.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
