import HeartlogFiles
package import HeartlogFormat

/// An address of this machine, and a port.
package struct SocketAddress: Sendable, CustomStringConvertible {
  private let bytes: [UInt8]
  /// As it was given.
  package let host: String
  package let port: UInt16
  let isIPv6: Bool

  /// Reads `HOST:PORT`; an IPv6 address stands in brackets.
  package init(_ text: String) throws(HeartlogError) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw HeartlogError(.invalid, "\"\(text)\" is not HOST:PORT")
    }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") || host.isEmpty {
      throw HeartlogError(.invalid, "\"\(text)\" is not HOST:PORT; an IPv6 address stands in brackets")
    }
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_family = AF_UNSPEC
    #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
    #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &found)
    defer { if let found { freeaddrinfo(found) } }
    guard code == 0, let first = found?.pointee, let address = first.ai_addr else {
      throw HeartlogError(
        .invalid, "\"\(host)\" is no address of this machine: \(String(cString: gai_strerror(code)))")
    }
    bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(first.ai_addrlen)))
    self.host = host
    self.port = port
    isIPv6 = first.ai_family == AF_INET6
  }

  package var description: String { text(port: port) }

  /// Whether only this machine reaches it.
  package var isLoopback: Bool {
    isIPv6
      ? bytes.count >= 24 && bytes[8..<24].elementsEqual([UInt8](repeating: 0, count: 15) + [1])
      : bytes.count >= 8 && bytes[4] == 127
  }

  /// The hosts that clients on this machine reach it by.
  package func loopbackNames(port: UInt16) -> Set<String> {
    // Clients leave out the ports of http and https.
    let hosts = Set([host.contains(":") ? "[\(host)]" : host.lowercased(), "localhost", "127.0.0.1", "[::1]"])
    return Set(hosts.map { "\($0):\(port)" }).union(port == 80 || port == 443 ? hosts : [])
  }

  /// The address with another port.
  package func text(port: UInt16) -> String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Calls `body` with the address as the system wants it.
  func withPointer<R>(_ body: (UnsafePointer<sockaddr>) -> R) -> R {
    var storage = sockaddr_storage()
    return withUnsafeMutableBytes(of: &storage) { storage in
      storage.copyBytes(from: bytes)
      return body(UnsafeRawPointer(storage.baseAddress!).assumingMemoryBound(to: sockaddr.self))
    }
  }

  /// A client's address without its port.
  static func text(of address: UnsafePointer<sockaddr>?) -> String {
    guard let address else { return "unknown" }
    let family = Int32(address.pointee.sa_family)
    guard family == AF_INET || family == AF_INET6 else { return "unknown" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      let raw = UnsafeRawPointer(address)
      let source =
        family == AF_INET
        ? raw + MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
        : raw + MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
      guard let base = buffer.baseAddress, inet_ntop(family, source, base, socklen_t(buffer.count)) != nil
      else {
        return "unknown"
      }
      return String(cString: base)
    }
  }

  /// What shares a limit: an IPv4 address, or the 64 bits of an IPv6 address that its owner was given.
  package static func network(of client: String) -> String {
    guard client.contains(":") else { return client }
    var address = in6_addr()
    guard inet_pton(AF_INET6, client, &address) == 1 else { return client }
    return withUnsafeBytes(of: address) { bytes in
      // IPv4 in IPv6.
      bytes[..<10].allSatisfy { $0 == 0 } ? client : Hexadecimal.text(bytes[..<8])
    }
  }
}
