import HeartlogFormat

/// A request whose headers were checked, and whose body was read.
struct HubRequest: Sendable {
  let route: HubRoute
  let host: String
  var body: [UInt8] = []

  /// The members of a JSON body.
  func object() throws -> JSONValue {
    let parsed: JSONValue
    do throws(MalformedError) { parsed = try JSONValue.parse(body) } catch {
      throw HubAnswer.refusal(400, "The body is no JSON: \(error.reason)")
    }
    guard parsed.object != nil else { throw HubAnswer.refusal(400, "The body is no JSON object") }
    return parsed
  }
}

extension JSONValue {
  /// Bytes as lower-case hexadecimal digits.
  func hexadecimal(_ name: String, _ count: Int) throws -> [UInt8] {
    guard let bytes = self[name]?.bytes(count) else {
      throw HubAnswer.refusal(400, "\"\(name)\" has \(count * 2) lower-case hexadecimal digits")
    }
    return bytes
  }

  /// Objects, or all of so many bytes; none if there is no such member.
  func hexadecimals(_ name: String, _ count: Int? = nil) throws -> [[UInt8]] {
    guard let value = self[name] else { return [] }
    guard let all = value.array?.map({ $0.bytes(count) }), !all.contains(nil) else {
      let digits = count.map { "\($0 * 2) " } ?? ""
      throw HubAnswer.refusal(400, "\"\(name)\" is a list, each of \(digits)lower-case hexadecimal digits")
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
enum HubRoute: Hashable, Sendable {
  case health
  case openSession
  case createVault(VaultID)
  case keys(VaultID)
  case changeKeys(VaultID)
  case list(VaultID, after: ChangeCursor?, limit: Int)
  case get(VaultID, String)
  case put(VaultID, String)
  case delete(VaultID, String)
  case changes(VaultID, after: ChangeCursor?)

  /// The vault that the path names.
  var vault: VaultID? {
    switch self {
    case .health, .openSession: nil
    case .createVault(let vault), .keys(let vault), .changeKeys(let vault), .list(let vault, _, _),
      .get(let vault, _),
      .put(let vault, _), .delete(let vault, _), .changes(let vault, _):
      vault
    }
  }

  /// Whether the request has a session.
  var needsSession: Bool {
    if case .createVault = self { return false }
    return vault != nil
  }

  /// The most bytes of a body.
  var bodyBytesMax: Int {
    switch self {
    case .put: HubLimits.objectBytesMax
    case .openSession: HubLimits.jsonBytesMax
    case .createVault(let vault):
      vault.isEncrypted ? HubLimits.createBytesMax : HubLimits.jsonBytesMax
    case .changeKeys: HubLimits.keysBytesMax
    default: 0
    }
  }

  var wantsBody: Bool { bodyBytesMax > 0 }

  /// Reads the target of a request as it was sent.
  init(method: String, target: String) throws {
    guard target.utf8.count <= HubLimits.pathBytesMax else {
      throw HubAnswer.refusal(414, "The path is too long")
    }
    let parts = target[...].parts(separatedBy: "?", maxSplits: 1)
    let path = parts[0]
    let query = parts.count > 1 ? String(parts[1]) : ""
    guard path.utf8.allSatisfy(Self.isPlain) else {
      throw HubAnswer.refusal(
        400, "A path has letters, digits, dots, hyphens and slashes, and is not percent-encoded")
    }
    let words = Array(path.parts(separatedBy: "/").dropFirst())
    guard path.utf8.first == UInt8(ascii: "/"), !words.contains("") || words == [""], !words.contains("."),
      !words.contains("..")
    else {
      throw HubAnswer.refusal(400, "The path is malformed")
    }
    func only(_ methods: [String: HubRoute], takesQuery: Bool = false) throws -> HubRoute {
      guard takesQuery || query.isEmpty else { throw HubAnswer.refusal(400, "This path takes no query") }
      guard let route = methods[method] else {
        throw HubAnswer.refusal(
          405, "This path does not take this method", allow: methods.keys.sorted().joined(separator: ", "))
      }
      return route
    }
    switch words {
    case ["healthz"]: self = try only(["GET": .health])
    case ["v1", "sessions"]: self = try only(["POST": .openSession])
    case _ where words.count >= 3 && words[0] == "v1" && words[1] == "vaults":
      guard let vault = VaultID(String(words[2])) else {
        throw HubAnswer.refusal(400, "A vault has 32 lower-case hexadecimal digits")
      }
      let rest = words.dropFirst(3)
      switch rest.first {
      case nil: self = try only(["PUT": .createVault(vault)])
      case "keys" where rest.count == 1: self = try only(["GET": .keys(vault), "POST": .changeKeys(vault)])
      case "objects" where rest.count == 1:
        let query = try Self.values(in: query, names: ["after", "limit"])
        var limit = HubLimits.listMax
        if let text = query["limit"] {
          guard let number = Int(text), (1...HubLimits.listMax).contains(number), String(number) == text
          else {
            throw HubAnswer.refusal(400, "A limit is a number from 1 to \(HubLimits.listMax)")
          }
          limit = number
        }
        let cursor = try Self.cursor(query["after"])
        self = try only(["GET": .list(vault, after: cursor, limit: limit)], takesQuery: true)
      case "changes" where rest.count == 1:
        let cursor = try Self.cursor(try Self.values(in: query, names: ["after"])["after"])
        self = try only(["GET": .changes(vault, after: cursor)], takesQuery: true)
      case "objects":
        let name = String(path[words[4].startIndex...])
        guard ObjectPath.isObject(name) else { throw HubAnswer.refusal(400, "This is no object's name") }
        self = try only(["GET": .get(vault, name), "PUT": .put(vault, name), "DELETE": .delete(vault, name)])
      default: throw HubAnswer.unknownPath
      }
    default: throw HubAnswer.unknownPath
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "/"):
      true
    default: false
    }
  }

  private static func values(in query: String, names: Set<String>) throws -> [String: String] {
    var values: [String: String] = [:]
    if query.isEmpty { return values }
    for part in query.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, names.contains(pair[0]), values[pair[0]] == nil else {
        throw HubAnswer.refusal(400, "This path takes \(names.sorted().joined(separator: " and "))")
      }
      values[pair[0]] = pair[1]
    }
    return values
  }

  private static func cursor(_ text: String?) throws -> ChangeCursor? {
    guard let text else { return nil }
    guard let cursor = ChangeCursor(text) else { throw HubAnswer.refusal(400, "This is no cursor") }
    return cursor
  }
}

/// What a hub answers to a request. Thrown where it refuses one: "Errors" in docs/hub.md.
struct HubAnswer: Error, Hashable, Sendable {
  let status: UInt32
  var contentType = "application/json"
  var body: [UInt8] = []
  /// In seconds.
  var retryAfter: Int?
  /// The methods that a path takes.
  var allow: String?
  /// For the log of the operator.
  var detail: String?

  static func json(_ status: UInt32, _ write: (inout JSONWriter) -> Void) -> HubAnswer {
    var writer = JSONWriter()
    writer.beginObject()
    write(&writer)
    writer.endObject()
    return HubAnswer(status: status, body: writer.bytes)
  }

  static func text(_ text: String) -> HubAnswer {
    HubAnswer(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
  }

  /// - Parameter time: The hub's clock, in seconds since 1970, for a client whose clock is another one.
  static func refusal(
    _ status: UInt32, _ sentence: String, retryAfter: Int? = nil, allow: String? = nil, time: UInt64? = nil
  ) -> HubAnswer {
    var answer = json(status) { writer in
      writer.member("error", sentence)
      if let time { writer.member("time", time) }
    }
    (answer.retryAfter, answer.allow) = (retryAfter, allow)
    return answer
  }

  /// Whether its key may open another one, it is told when it tries.
  static let sessionOver = refusal(401, "The session is over")

  static let unknownPath = refusal(404, "There is no such path")

  /// The answer that an error stands for: itself, a refused change of keys, or what the database says.
  static func to(_ error: any Error) -> HubAnswer {
    switch error {
    case let answer as HubAnswer: return answer
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
