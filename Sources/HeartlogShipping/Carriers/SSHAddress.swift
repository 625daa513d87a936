import Heartlog

/// `ssh://[user@]host[:port]/path`: a store on another machine.
///
/// The path is absolute; `/~/…` begins in the user's home directory, as in git's addresses. Nothing is percent-decoded. There is no
/// password in it: ssh asks for one, or has a key.
public struct SSHAddress: Hashable, Sendable, CustomStringConvertible {
  public let description: String
  /// With the user, where one is named.
  public let host: String
  /// Nil for ssh's own.
  public let port: Int?
  /// Of the store, as the other machine is told it.
  public let path: String

  static let scheme = "ssh://"

  /// Takes an address apart.
  ///
  /// - Throws: `invalid` for what is no such address, for a host or user that ssh would take for an option, and for a password, which
  ///   the error does not tell.
  public init(_ text: String) throws(HeartlogError) {
    guard text.hasPrefix(Self.scheme) else {
      throw HeartlogError(.invalid, "an address that does not begin with \(Self.scheme)")
    }
    let rest = text.dropFirst(Self.scheme.count)
    guard Self.withoutPassword(text) == text else {
      throw HeartlogError(
        .invalid,
        "an address with a password in it, which everybody can see who lists processes: leave it out, ssh asks for it or has a key"
      )
    }
    guard let slash = rest.firstIndex(of: "/") else {
      throw HeartlogError(.invalid, "an address without the path of a store: \(text)")
    }
    var authority = rest[..<slash]
    var port: Int?
    // Of an IPv6 address only what follows the bracket is a port.
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number)
      else {
        throw HeartlogError(.invalid, "a port that is no number from 1 to 65535: \(text)")
      }
      port = number
      authority = authority[..<colon]
    }
    let user = authority.lastIndex(of: "@").map { authority[..<$0] }
    var host = user.map { authority[$0.endIndex...].dropFirst() } ?? authority
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard Self.isSafe(host), user.map(Self.isSafe) ?? true else {
      throw HeartlogError(.invalid, "a host or user that cannot be one: \(text)")
    }
    let path = rest[slash...]
    self.path = path.hasPrefix("/~/") ? String(path.dropFirst(3)) : String(path)
    guard !self.path.isEmpty, self.path != "/", !self.path.utf8.contains(0) else {
      throw HeartlogError(.invalid, "an address without the path of a store: \(text)")
    }
    self.host = (user.map { "\($0)@" } ?? "") + host
    self.port = port
    description = text
  }

  /// A text in which passwords of addresses are replaced by `***`.
  package static func withoutPassword(_ text: String) -> String {
    guard let start = text.firstRange(of: scheme) else { return text }
    let (before, rest) = (text[..<start.upperBound], text[start.upperBound...])
    // A password may have a slash in it, and no space.
    let address = rest.prefix { !$0.isWhitespace }
    let path = address.firstIndex(of: "/") ?? address.endIndex
    guard let colon = address.firstIndex(of: ":"), colon < path, let at = address.lastIndex(of: "@"),
      colon < at
    else { return before + withoutPassword(String(rest)) }
    return before + rest[...colon] + "***" + withoutPassword(String(rest[at...]))
  }

  /// What follows the program's name.
  var arguments: [String] {
    let port = port.map { ["-p", "\($0)"] } ?? []
    // What the other machine's shell takes apart, and no shell here.
    return port + ["--", host, "heartlog --store \(Self.quoted(path)) serve --stdio"]
  }

  /// Letters, digits, and a few marks; never what begins with a dash.
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

  /// One word for a POSIX shell, whatever is in it; never what begins with a dash.
  static func quoted(_ path: String) -> String {
    let safe = path.hasPrefix("-") ? "./\(path)" : path
    return "'" + safe.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
