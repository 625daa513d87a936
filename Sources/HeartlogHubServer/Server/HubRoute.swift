import Heartlog
import HeartlogHub
import HeartlogShipping

/// What a request asks for: "Requests and answers" in docs/hub.md.
enum HubRoute: Hashable, Sendable {
  case health
  case metrics
  case challenge
  case openSession
  case createVault(VaultID)
  case keys(VaultID)
  case changeKeys(VaultID)
  case list(VaultID, after: String?, limit: Int)
  case get(VaultID, String)
  case put(VaultID, String)
  case delete(VaultID, String)
  case changes(VaultID, after: String?)

  /// The vault that the path names.
  var vault: VaultID? {
    switch self {
    case .health, .metrics, .challenge, .openSession: nil
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
    case .challenge, .openSession: HubLimits.jsonBytesMax
    case .createVault(let vault):
      vault.isEncrypted ? HubLimits.createBytesMax : HubLimits.jsonBytesMax
    case .changeKeys: HubLimits.keysBytesMax
    default: 0
    }
  }

  var wantsBody: Bool { bodyBytesMax > 0 }

  /// Reads the target of a request as it was sent.
  init(method: String, target: String) throws(HubRefusal) {
    guard target.utf8.count <= HubLimits.pathBytesMax else { throw HubRefusal(414, "The path is too long") }
    let parts = target[...].parts(separatedBy: "?", maxSplits: 1)
    let path = parts[0]
    let query = parts.count > 1 ? String(parts[1]) : ""
    guard path.utf8.allSatisfy(Self.isPlain) else {
      throw HubRefusal(
        400, "A path has letters, digits, dots, hyphens and slashes, and is not percent-encoded")
    }
    let words = Array(path.parts(separatedBy: "/").dropFirst())
    guard path.utf8.first == UInt8(ascii: "/"), !words.contains("") || words == [""], !words.contains("."),
      !words.contains("..")
    else {
      throw HubRefusal(400, "The path is malformed")
    }
    func only(_ methods: [String: HubRoute]) throws(HubRefusal) -> HubRoute {
      guard query.isEmpty else { throw HubRefusal(400, "This path takes no query") }
      guard let route = methods[method] else {
        throw HubRefusal(
          405, "This path does not take this method", allow: methods.keys.sorted().joined(separator: ", "))
      }
      return route
    }
    if words == ["healthz"] {
      self = try only(["GET": .health])
    } else if words == ["metrics"] {
      self = try only(["GET": .metrics])
    } else if words == ["v1", "challenges"] {
      self = try only(["POST": .challenge])
    } else if words == ["v1", "sessions"] {
      self = try only(["POST": .openSession])
    } else if words.count >= 3, words[0] == "v1", words[1] == "vaults" {
      guard let vault = VaultID(String(words[2])) else {
        throw HubRefusal(400, "A vault has 32 lower-case hexadecimal digits")
      }
      let rest = words.dropFirst(3)
      switch rest.first {
      case nil: self = try only(["PUT": .createVault(vault)])
      case "keys" where rest.count == 1: self = try only(["GET": .keys(vault), "POST": .changeKeys(vault)])
      case "objects" where rest.count == 1:
        guard method == "GET" else {
          throw HubRefusal(405, "This path does not take this method", allow: "GET")
        }
        let query = try Self.values(in: query, names: ["after", "limit"])
        var limit = HubLimits.listMax
        if let text = query["limit"] {
          guard let number = Int(text), (1...HubLimits.listMax).contains(number), String(number) == text
          else {
            throw HubRefusal(400, "A limit is a number from 1 to \(HubLimits.listMax)")
          }
          limit = number
        }
        self = .list(vault, after: try Self.cursor(query["after"]), limit: limit)
      case "changes" where rest.count == 1:
        guard method == "GET" else {
          throw HubRefusal(405, "This path does not take this method", allow: "GET")
        }
        self = .changes(vault, after: try Self.cursor(try Self.values(in: query, names: ["after"])["after"]))
      case "objects":
        let name = String(path[words[4].startIndex...])
        guard Self.isObjectName(name) else { throw HubRefusal(400, "This is no object's name") }
        self = try only(["GET": .get(vault, name), "PUT": .put(vault, name), "DELETE": .delete(vault, name)])
      default: throw HubRefusal(404, "There is no such path")
      }
    } else {
      throw HubRefusal(404, "There is no such path")
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

  /// Whether a name is one that Heartlog gives: "Names" in docs/shipping.md, key epochs and admissions.
  static func isObjectName(_ name: String) -> Bool {
    guard name.utf8.count <= HubLimits.nameBytesMax else { return false }
    if name.hasPrefix("keys/") { return FolderPlace.isKey(name) }
    switch FolderPlace(name)?.file {
    case .run, .checkpoint, .evidence: return true
    // A hub has none: no program that syncs folders ever sees it.
    case .copy, nil: return false
    }
  }

  private static func values(in query: String, names: Set<String>) throws(HubRefusal) -> [String: String] {
    var values: [String: String] = [:]
    if query.isEmpty { return values }
    for part in query.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, names.contains(pair[0]), values[pair[0]] == nil else {
        throw HubRefusal(400, "This path takes \(names.sorted().joined(separator: " and "))")
      }
      values[pair[0]] = pair[1]
    }
    return values
  }

  private static func cursor(_ text: String?) throws(HubRefusal) -> String? {
    guard let text else { return nil }
    guard ChangeCursor(text) != nil else { throw HubRefusal(400, "This is no cursor") }
    return text
  }
}
