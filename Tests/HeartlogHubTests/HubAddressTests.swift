import Heartlog
import Testing

@testable import HeartlogSync

@Suite("Addresses of hubs")
struct HubAddressTests {
  private static let vault = "00112233445566778899aabbccddeeff"

  @Test(
    "are taken apart",
    arguments: [
      ("https://hub.example.org", "hub.example.org", "https://hub.example.org", false),
      ("https://Hub.Example.ORG:443/", "hub.example.org", "https://hub.example.org", false),
      (
        "https://hub.example.org:8443/x/y/", "hub.example.org:8443", "https://hub.example.org:8443/x/y", false
      ),
      ("http://127.0.0.1:8080/\(vault)", "127.0.0.1:8080", "http://127.0.0.1:8080", true),
      ("http://[::1]:80/p/\(vault)/", "[::1]", "http://[::1]/p", true),
      ("http://localhost:443", "localhost:443", "http://localhost:443", false),
      ("https://h/\(vault.dropLast())", "h", "https://h/\(vault.dropLast())", false),
    ])
  func parts(text: String, host: String, base: String, namesVault: Bool) throws {
    let address = try HubAddress(text)
    #expect(address.host == host && address.base == base && address.description == text)
    #expect(address.vault?.description == (namesVault ? Self.vault : nil))
    #expect(address.origin.isEncrypted == text.hasPrefix("https"))
    let vault = try #require(VaultID(Self.vault))
    #expect(try HubAddress(address.address(of: vault)).vault == vault)
  }

  @Test(
    "of other forms are refused",
    arguments: [
      "", "hub.example.org", "ftp://h", "https:h", "https://", "https:///x", "https://h:0", "https://h:65536",
      "https://h:+80", "https://h:", "https://h/../x", "https://h//x", "https://h/a b", "https://h/%2e",
      "https://h?x",
      "https://h/x#y", "https://-h", "https://h\r\nX: y", "https://[::1", "https://é", "https://[]",
    ])
  func refused(text: String) {
    #expect { try HubAddress(text) } throws: { ($0 as? HeartlogError)?.code == .invalid }
  }

  @Test(
    "with a password are refused without showing it", arguments: ["https://a:secret@h", "http://secret@h/x"])
  func password(text: String) {
    #expect {
      try HubAddress(text)
    } throws: { error in
      guard let error = error as? HeartlogError else { return false }
      return error.code == .invalid && !error.message.contains("secret")
    }
  }

  @Test("say whether the hub is on this machine")
  func loopback() throws {
    for text in ["http://localhost", "http://127.0.0.1:8080", "http://[::1]:9"] {
      #expect(try HubAddress(text).origin.isLoopback)
    }
    for text in ["http://localhost.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1"] {
      #expect(try !HubAddress(text).origin.isLoopback)
    }
  }
}

@Suite("Streams of server-sent events")
struct EventStreamTests {
  @Test(
    "hand over the data of each event that ended, however they are cut",
    arguments: [
      ("data: x\n\n", ["x"]), ("data\n\n", [""]), ("data:\r\n\r\n", [""]),
      ("data: x\r\rdata:y\r\r", ["x", "y"]),
      (": data: x\n\n", []),
      ("id: 3\n\n", []), ("data: x\n", []), ("database: x\n\n", []), (" data: x\n\n", []),
      ("dat\n\na: x\n\n", []),
      ("id: 1\ndata: {\ndata:  }\nevent: x\n\n: y\n\n", ["{\n }"]), ("\n\n\n", []),
      ("data: 123456789\n\ndata: 12345\ndata: 678\n\n", ["12", "12\n67"]),
    ])
  func events(text: String, expected: [String]) {
    let bytes = Array(text.utf8)
    for size in 1...bytes.count {
      // Lines of at most 8 bytes, and data of as many.
      var stream = EventStream(bytesMax: text.contains("123") ? 8 : 100)
      var found: [String] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        let part = Array(bytes[start..<min(start + size, bytes.count)])
        found += stream.read(part).map { String(decoding: $0, as: UTF8.self) }
      }
      #expect(found == expected, "in parts of \(size)")
    }
  }
}
