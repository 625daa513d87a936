/// A host that is asked by HTTP, and whether what travels is encrypted.
package struct HTTPOrigin: Hashable, Sendable {
  /// The value of the `Host` header: the host in lower case, with the port unless it is the scheme's own.
  package let host: String
  package let isEncrypted: Bool

  package var url: String { "\(isEncrypted ? "https" : "http")://\(host)" }

  /// Whether the host is this machine, by its name.
  package var isLoopback: Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") }
  }

  /// Parses `host[:port]`; `nil` if it has other characters than names and addresses have.
  package init?(_ authority: String, isEncrypted: Bool) {
    var name = authority.lowercased()[...]
    var port: Int?
    // In an IPv6 address, only a colon after the bracket starts the port.
    if let colon = name.lastIndex(of: ":"), !name[colon...].contains("]") {
      let digits = name[name.index(after: colon)...]
      guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int(digits), (1...65_535).contains(number)
      else { return nil }
      port = number
      name = name[..<colon]
    }
    let isLiteral = name.hasPrefix("[") && name.hasSuffix("]")
    let inner = isLiteral ? name.dropFirst().dropLast() : name
    let others = isLiteral ? ":." : "-._"
    guard !inner.isEmpty, inner.utf8.allSatisfy({ Self.isAlphanumeric($0) || others.utf8.contains($0) }),
      inner.utf8.first != UInt8(ascii: "-")
    else { return nil }
    let ownPort = isEncrypted ? 443 : 80
    host = port.flatMap { $0 == ownPort ? nil : "\(name):\($0)" } ?? String(name)
    self.isEncrypted = isEncrypted
  }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}
