import HeartlogFormat
import HeartlogHTTPServer

/// A request whose headers were checked, and whose body was read.
struct HubRequest: Sendable {
  let route: HubRoute
  let host: String
  var body: [UInt8] = []

  /// The members of a JSON body.
  func object() throws -> JSONValue {
    let parsed: JSONValue
    do throws(MalformedError) { parsed = try JSONValue.parse(body) } catch {
      throw HTTPResponse.refusal(400, "The body is no JSON: \(error.reason)")
    }
    guard parsed.object != nil else { throw HTTPResponse.refusal(400, "The body is no JSON object") }
    return parsed
  }
}

extension JSONValue {
  /// Bytes as lower-case hexadecimal digits.
  func hexadecimal(_ name: String, _ count: Int) throws -> [UInt8] {
    guard let bytes = self[name]?.bytes(count) else {
      throw HTTPResponse.refusal(400, "\"\(name)\" has \(count * 2) lower-case hexadecimal digits")
    }
    return bytes
  }

  /// Objects, or all of so many bytes; none if there is no such member.
  func hexadecimals(_ name: String, _ count: Int? = nil) throws -> [[UInt8]] {
    guard let value = self[name] else { return [] }
    guard let all = value.array?.map({ $0.bytes(count) }), !all.contains(nil) else {
      let digits = count.map { "\($0 * 2) " } ?? ""
      throw HTTPResponse.refusal(400, "\"\(name)\" is a list, each of \(digits)lower-case hexadecimal digits")
    }
    return all.compactMap { $0 }
  }

  /// Keys; none if there is no such member.
  func keys(_ name: String) throws -> [PublicKey] {
    try hexadecimals(name, PublicKey.byteCount).compactMap { PublicKey(bytes: $0) }
  }

  private func bytes(_ count: Int?) -> [UInt8]? {
    guard let text = string, let bytes = Hexadecimal.bytes(text), bytes.count == count ?? bytes.count,
      Hexadecimal.text(bytes) == text
    else { return nil }
    return bytes
  }
}

/// What a request asks for: "Requests and answers" in docs/hub.md.
struct HubRoute: Hashable, Sendable {
  enum Action: Sendable {
    case health
    case openSession
    case createVault
    case keys
    case changeKeys
    case list
    case get
    case put
    case delete
    case changes
  }

  let action: Action
  /// The vault that the path names.
  var vault: VaultID?
  /// The name of an object.
  var name = ""
  var after: ChangeCursor?
  var limit = HubLimits.listMax

  /// Whether the request has a session.
  var needsSession: Bool { vault != nil && action != .createVault }

  /// The most bytes of a body.
  var bodyBytesMax: Int {
    switch action {
    case .put: HubLimits.objectBytesMax
    case .openSession: HubLimits.jsonBytesMax
    case .createVault: vault?.isEncrypted == true ? HubLimits.createBytesMax : HubLimits.jsonBytesMax
    case .changeKeys: HubLimits.keysBytesMax
    default: 0
    }
  }

  var wantsBody: Bool { bodyBytesMax > 0 }
}

extension HubRoute {
  /// Reads the target of a request as it was sent.
  init(method: String, target: String) throws {
    guard target.utf8.count <= HubLimits.pathBytesMax else {
      throw HTTPResponse.refusal(414, "The path is too long")
    }
    let parts = target[...].parts(separatedBy: "?", maxSplits: 1)
    let path = parts[0]
    guard path.utf8.allSatisfy(Self.isPlain) else {
      throw HTTPResponse.refusal(
        400, "A path has letters, digits, dots, hyphens and slashes, and is not percent-encoded")
    }
    let words = Array(path.parts(separatedBy: "/").dropFirst())
    guard path.utf8.first == UInt8(ascii: "/"), !words.contains("") || words == [""], !words.contains("."),
      !words.contains("..")
    else {
      throw HTTPResponse.refusal(400, "The path is malformed")
    }
    var (vault, name): (VaultID?, String) = (nil, "")
    if words.count >= 3, words[..<2] == ["v1", "vaults"] {
      vault = VaultID(String(words[2]))
      if vault == nil { throw HTTPResponse.refusal(400, "A vault has 32 lower-case hexadecimal digits") }
    }
    let actions: [String: Action]
    var parameters: Set<String> = []
    switch vault == nil ? words[...] : ArraySlice(["{vault}"]) + words[3...] {
    case ["healthz"]: actions = ["GET": .health]
    case ["v1", "sessions"]: actions = ["POST": .openSession]
    case ["{vault}"]: actions = ["PUT": .createVault]
    case ["{vault}", "keys"]: actions = ["GET": .keys, "POST": .changeKeys]
    case ["{vault}", "objects"]: (actions, parameters) = (["GET": .list], ["after", "limit"])
    case ["{vault}", "changes"]: (actions, parameters) = (["GET": .changes], ["after"])
    case let words where words.starts(with: ["{vault}", "objects"]):
      name = words.dropFirst(2).joined(separator: "/")
      guard ObjectPath.isObject(name) else { throw HTTPResponse.refusal(400, "This is no object's name") }
      actions = ["GET": .get, "PUT": .put, "DELETE": .delete]
    default: throw HTTPResponse.unknownPath
    }
    let values = try Self.values(in: parts.count > 1 ? parts[1] : "", names: parameters)
    guard let action = actions[method] else {
      throw HTTPResponse.refusal(
        405, "This path does not take this method", allow: actions.keys.sorted().joined(separator: ", "))
    }
    self.init(action: action, vault: vault, name: name)
    if let text = values["after"] {
      after = ChangeCursor(text)
      if after == nil { throw HTTPResponse.refusal(400, "This is no cursor") }
    }
    if let text = values["limit"] {
      limit = Int(text) ?? 0
      guard (1...HubLimits.listMax).contains(limit), String(limit) == text else {
        throw HTTPResponse.refusal(400, "A limit is a number from 1 to \(HubLimits.listMax)")
      }
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._/".utf8.contains(byte)
    }
  }

  private static func values(in query: Substring, names: Set<String>) throws -> [String: String] {
    var values: [String: String] = [:]
    if query.isEmpty { return values }
    for part in query.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, names.contains(pair[0]), values[pair[0]] == nil else {
        let taken = names.isEmpty ? "no query" : names.sorted().joined(separator: " and ")
        throw HTTPResponse.refusal(400, "This path takes \(taken)")
      }
      values[pair[0]] = pair[1]
    }
    return values
  }
}

/// What a hub answers in some cases: "Errors" in docs/hub.md.
extension HTTPResponse {
  /// Whether its key may open another one, it is told when it tries.
  static let sessionOver = refusal(401, "The session is over")

  static let unknownPath = refusal(404, "There is no such path")

  /// The answer that an error stands for: itself, a refused change of keys, or what the database says.
  static func to(_ error: any Error) -> HTTPResponse {
    switch error {
    case let answer as HTTPResponse: return answer
    case KeyRefusal.wrongCount:
      return refusal(
        400,
        "At least one key stays, and \(HubLimits.keysMax) at most, with \(HubLimits.invitationsMax) invitations"
      )
    case KeyRefusal.notInvited:
      return refusal(403, "This key is that of an invitation, which admits one device while it is good")
    case KeyRefusal.notAllowed:
      return refusal(403, "Only the vault's root may do this: it takes the recovery code")
    default: break
    }
    let error = HeartlogError(wrapping: error)
    switch error.code {
    case .invalid: return refusal(400, error.message)
    case .notAdmitted: return sessionOver
    default:
      var answer =
        error.code == .diskFull
        ? refusal(507, "The hub's disk is full")
        : refusal(503, "The hub cannot do this now", retryAfter: 2)
      answer.detail = error.description
      return answer
    }
  }
}
