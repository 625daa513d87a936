import Testing

@testable import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The examples of docs/audit.md, made again from what the page says of them.
@Suite struct WorkedProofTests {
  /// The fenced blocks whose info string is `hex` and a name. What follows a semicolon is a comment.
  private static func examples(path: String = #filePath) throws -> [String: [UInt8]] {
    let root = URL(fileURLWithPath: path)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appendingPathComponent("docs/audit.md"), encoding: .utf8)
    var examples: [String: [UInt8]] = [:]
    var name: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        name = line.hasPrefix("```hex ") ? String(line.dropFirst(7)) : nil
      } else if let name {
        let digits = line.prefix { $0 != ";" }.filter { $0 != " " }
        examples[name, default: []] += try #require(Hexadecimal.bytes(digits), "\(name): \(line)")
      }
    }
    return examples
  }

  /// The keys of the first two tests of RFC 8032, section 7.1.
  private static func keys() throws -> (owner: SigningKey, witness: SigningKey) {
    func key(_ seed: String) throws -> SigningKey {
      try #require(SigningKey(seed: Hexadecimal.bytes(seed) ?? []))
    }
    return (
      try key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
      try key("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    )
  }

  private static func stream() throws -> (stream: SignedStream, witness: SigningKey) {
    let (owner, witness) = try keys()
    let vault = try #require(VaultID("00112233445566778899aabbccddeeff"))
    var stream = SignedStream(key: owner, vault: vault, secret: Digest(Array(0..<32)))
    let paper = Event(
      library: "papers", item: "2403.01234v2", action: .added,
      fields: [Field(name: "title", value: .string("Logs"))])
    let city = Event(library: "cities", item: "urn:ngsi-ld:Zürich", action: .toggled(on: false))
    let removal = Event(library: "papers", item: "2403.01234v2", action: .removed)
    stream.append([.event(paper)], origin: "cli", at: 1_772_438_400_000)
    stream.append([.event(removal), .event(city)], origin: "cli", at: 1_772_438_460_000)
    stream.append([.event(paper)], origin: "cli", at: 1_772_438_520_000)
    return (stream, witness)
  }

  @Test func `the proof of an event is made of the bytes on the page`() throws {
    let (stream, witness) = try Self.stream()
    let checkpoint = try stream.checkpoint(size: 3, witnesses: [witness], seconds: 1_772_438_521)
    let proof = ProofFile.event(try stream.proof(commit: 2, event: 1, below: checkpoint))
    let bytes = try #require(try Self.examples()["event-proof"], "\(Hexadecimal.text(proof.bytes))")
    #expect(Hexadecimal.text(proof.bytes) == Hexadecimal.text(bytes))
    #expect(try ProofFile(bytes) == proof)
  }

  @Test func `the proof of a history is made of the bytes on the page`() throws {
    let (stream, _) = try Self.stream()
    let later = try stream.checkpoint(size: 3)
    let proof = ProofFile.history(
      try stream.history(from: .checkpoint(stream.checkpoint(size: 2)), to: later))
    let bytes = try #require(try Self.examples()["history-proof"], "\(Hexadecimal.text(proof.bytes))")
    #expect(Hexadecimal.text(proof.bytes) == Hexadecimal.text(bytes))
    #expect(try ProofFile(bytes) == proof)
  }
}
