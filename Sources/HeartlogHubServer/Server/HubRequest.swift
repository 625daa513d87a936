import Heartlog
import HeartlogHub
import HeartlogFormat

/// A request whose headers were checked, and whose body was read.
struct HubRequest: Sendable {
  let route: HubRoute
  let host: String
  var body: [UInt8] = []

  /// The members of a JSON body.
  func object() throws(HubRefusal) -> JSONValue {
    let parsed: JSONValue
    do throws(MalformedError) { parsed = try JSONValue.parse(body) } catch {
      throw HubRefusal(400, "The body is no JSON: \(error.reason)")
    }
    guard parsed.object != nil else { throw HubRefusal(400, "The body is no JSON object") }
    return parsed
  }
}

/// What a client proves its key with: "Sessions" in docs/hub.md.
struct KeyProof {
  let key: PublicKey
  let challenge: HubChallenge
  let signature: Signature

  init(_ object: JSONValue) throws(HubRefusal) {
    guard let key = PublicKey(bytes: try object.hexadecimal("key", 32)),
      let challenge = HubChallenge(try object.hexadecimal("challenge", 32)),
      let signature = Signature(bytes: try object.hexadecimal("signature", 64))
    else { preconditionFailure("the counts were checked") }
    self.key = key
    self.challenge = challenge
    self.signature = signature
  }
}

extension JSONValue {
  /// Bytes as lower-case hexadecimal digits.
  func hexadecimal(_ name: String, _ count: Int) throws(HubRefusal) -> [UInt8] {
    guard let text = self[name]?.string, let bytes = Hexadecimal.bytes(text), bytes.count == count,
      Hexadecimal.text(bytes) == text
    else { throw HubRefusal(400, "\"\(name)\" has \(count * 2) lower-case hexadecimal digits") }
    return bytes
  }

  /// Objects as hexadecimal digits; none if there is no such member.
  func objects(_ name: String) throws(HubRefusal) -> [[UInt8]] {
    guard let value = self[name] else { return [] }
    let objects = value.array?.map { $0.string.flatMap { Hexadecimal.bytes($0) } }
    guard let objects, !objects.contains(nil) else {
      throw HubRefusal(400, "\"\(name)\" is a list of objects in hexadecimal digits")
    }
    return objects.compactMap { $0 }
  }

  /// Keys; none if there is no such member.
  func keys(_ name: String) throws(HubRefusal) -> [PublicKey] {
    guard let value = self[name] else { return [] }
    guard let values = value.array else { throw HubRefusal(400, "\"\(name)\" is a list of keys") }
    var keys: [PublicKey] = []
    for value in values {
      guard let text = value.string, let bytes = Hexadecimal.bytes(text), let key = PublicKey(bytes: bytes),
        key.description == text
      else { throw HubRefusal(400, "A key has 64 lower-case hexadecimal digits") }
      keys.append(key)
    }
    return keys
  }
}
