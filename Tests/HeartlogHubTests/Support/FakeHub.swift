import Foundation
import Heartlog
import HeartlogFormat
import HeartlogSimulator
import Synchronization

@testable import HeartlogSync

/// A hub in memory, behind a transport. Tests may look into it, change it as whoever runs it could, and answer in its place.
final class FakeHub: HTTPTransport {
  struct Vault {
    /// Those that were admitted by a request.
    var admitted: [String]
    /// The keys of invitations that were made by a request.
    var invited: [String] = []
    /// By the epochs and admissions that are stored: "Keys at a hub" in docs/hub.md.
    var state: KeyState?
    var keys: [String] {
      let removed = state?.removed ?? [:]
      let members =
        (state?.members.values.map(\.publicKey) ?? []) + (state?.root.map { [$0.publicKey] } ?? [])
      return (Set(admitted).union(members.map(\.description))).filter { text in
        Hexadecimal.bytes(text).flatMap { PublicKey(bytes: $0) }.map { removed[$0.replica] == nil } ?? false
      }.sorted()
    }
    /// The keys of invitations that nobody has used.
    var open: [String] {
      invited
        + (state?.openInvitations ?? []).map(\.member.publicKey).filter { state?.acceptedCount($0) == 0 }
        .map(\.description)
    }
    var objects: [(name: String, bytes: [UInt8], number: Int)] = []
    var number = 0
  }

  struct State {
    var generation = 1
    var vaults: [String: Vault] = [:]
    var nonces: Set<String> = []
    /// How far the clock of the hub is ahead of that of devices.
    var secondsAhead = 0
    var sessions: [String: (vault: String, key: String)] = [:]
    var count = 0
    var invitation: String?
    /// The method and the path of each request, from the first one on.
    var requests: [String] = []
  }

  let state = Mutex(State())
  /// Answers a request in place of the hub; `nil` to let the hub answer.
  private let instead = Mutex<(@Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>?)?>(nil)
  static let base = "https://hub.example"

  func answer(instead body: (@Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>?)?) {
    instead.withLock { $0 = body }
  }

  var requests: [String] { state.withLock { $0.requests } }

  static func answer(_ status: Int, _ text: String = "{}", headers: [String: String] = [:]) -> HTTPAnswer {
    var answer = HTTPAnswer()
    answer.status = status
    answer.body = Array(text.utf8)
    answer.headers = headers
    return answer
  }

  /// The hub is another process, with the same data or none.
  func restart(losingAll: Bool = false) {
    state.withLock { state in
      state.sessions = [:]
      state.nonces = []
      guard losingAll else { return }
      state.vaults = [:]
      state.generation += 1
    }
  }

  /// Replaces the bytes of an object, or loses it.
  func replace(_ name: String, with bytes: [UInt8]?) {
    state.withLock { state in
      for vault in state.vaults.keys {
        for index in (state.vaults[vault]?.objects ?? []).indices.reversed()
        where state.vaults[vault]?.objects[index].name == name {
          if let bytes {
            state.vaults[vault]?.objects[index].bytes = bytes
          } else {
            state.vaults[vault]?.objects.remove(at: index)
          }
        }
      }
    }
  }

  var objects: [String: [UInt8]] {
    state.withLock { state in
      Dictionary(
        state.vaults.values.flatMap(\.objects).map { ($0.name, $0.bytes) },
        uniquingKeysWith: { one, _ in one })
    }
  }

  // MARK: - HTTPTransport

  func perform(
    _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer {
    isStream
      ? try answerAsStream(request, isOver: isOver, receive: receive)
      : try answerWhole(request, isOver: isOver)
  }

  private func answerWhole(_ request: HTTPRequest, isOver: () -> Bool) throws(HTTPFailure) -> HTTPAnswer {
    state.withLock { $0.requests.append("\(request.method) \(request.url.dropFirst(Self.base.count))") }
    guard !isOver() else { throw HTTPFailure(.over, "over") }
    if let answer = instead.withLock({ $0 })?(request) { return try Self.limited(answer.get(), request) }
    return try Self.limited(serve(request), request)
  }

  /// Does what a request asks for.
  func serve(_ request: HTTPRequest) -> HTTPAnswer { state.withLock { Self.answer(request, &$0) } }

  private func answerAsStream(
    _ request: HTTPRequest, isOver: () -> Bool, receive: ([UInt8]) -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer {
    state.withLock { $0.requests.append("\(request.method) \(request.url.dropFirst(Self.base.count))") }
    if let answer = instead.withLock({ $0 })?(request) {
      let answer = try answer.get()
      if answer.isSuccess { _ = receive(answer.body) }
      return answer
    }
    var list = request
    list = HTTPRequest(
      "GET", request.url.replacing("changes", with: "objects"), bytesMax: request.bytesMax)
    list.headers = request.headers
    _ = receive(Array(": hello\n\n".utf8))
    while true {
      let answer = state.withLock { Self.answer(list, &$0) }
      guard answer.isSuccess else { return answer }
      if answer.headers["x-count"] != "0" {
        guard receive(Array("id: 1\ndata: \(String(decoding: answer.body, as: UTF8.self))\n\n".utf8)) else {
          return answer
        }
        let cursor = (try? JSONValue.parse(answer.body))?["cursor"]?.string ?? ""
        let path = list.url.prefix { $0 != "?" }
        list = HTTPRequest("GET", "\(path)?after=\(cursor)", bytesMax: request.bytesMax)
        list.headers = request.headers
      }
      guard !isOver() else { throw HTTPFailure(.over, "over") }
      Self.rest()
    }
  }

  private static func limited(_ answer: HTTPAnswer, _ request: HTTPRequest) throws(HTTPFailure) -> HTTPAnswer
  {
    guard !answer.isSuccess || answer.body.count <= request.bytesMax else {
      throw HTTPFailure(.tooLarge, "too large")
    }
    return answer
  }

  /// Between two looks at what was put, and at whether the stream is over.
  private static func rest() { usleep(1_000) }

  // MARK: - The hub

  private static func error(_ status: Int, _ text: String) -> HTTPAnswer {
    answer(status, "{\"error\": \"\(text)\"}")
  }

  private static func answer(_ request: HTTPRequest, _ state: inout State) -> HTTPAnswer {
    let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
    let (path, query) = split(String(request.url.dropFirst(base.count)))
    let parts = path.split(separator: "/").map(String.init)
    let json = request.body.flatMap { try? JSONValue.parse($0) } ?? .null
    state.count += 1
    switch (request.method, parts.count, parts.dropFirst().first) {
    case ("POST", 2, "sessions"):
      guard let vault = json["vault"]?.string, let key = signer(json, vault, headers["Host"] ?? "", &state)
      else { return answer(401, "{\"error\": \"a wrong nonce\", \"time\": \(seconds(state))}") }
      guard let known = state.vaults[vault], known.keys.contains(key) || known.open.contains(key) else {
        return error(403, "not admitted")
      }
      return session(200, vault, key, &state)
    case ("PUT", 3, "vaults"):
      let vault = parts[2]
      guard let key = signer(json, vault, headers["Host"] ?? "", &state) else {
        return answer(401, "{\"error\": \"a wrong nonce\", \"time\": \(seconds(state))}")
      }
      if let known = state.vaults[vault] {
        return known.keys.contains(key) ? session(200, vault, key, &state) : error(403, "not admitted")
      }
      guard state.invitation == nil || json["invitation"]?.string == state.invitation else {
        return error(403, "no invitation")
      }
      guard let id = VaultID(vault), id.isEncrypted else {
        state.vaults[vault] = Vault(admitted: [key])
        return session(201, vault, key, &state)
      }
      var made = Vault(admitted: [])
      for bytes in (json["objects"]?.array ?? []).compactMap({ $0.string.flatMap { Hexadecimal.bytes($0) } })
      {
        made.number += 1
        let name =
          (try? KeyEpoch(bytes))?.id.objectName ?? (try? Admission(bytes))?.objectName ?? "keys/unknown"
        made.objects.append((name, bytes, made.number))
      }
      update(&made, id)
      guard made.keys.contains(key) else { return error(403, "no keys that lead from the vault to this one") }
      state.vaults[vault] = made
      return session(201, vault, key, &state)
    default: break
    }
    guard parts.count > 3, parts[1] == "vaults" else { return error(404, "no such path") }
    let token = (headers["Authorization"] ?? "").dropFirst("Bearer ".count)
    guard let session = state.sessions[String(token)], session.vault == parts[2],
      var vault = state.vaults[parts[2]]
    else { return error(401, "no session") }
    defer { state.vaults[parts[2]] = vault }
    let name = parts.dropFirst(4).joined(separator: "/")
    switch (request.method, parts[3]) {
    case ("GET", "objects") where name.isEmpty:
      return list(
        vault, after: query["after"], limit: query["limit"].flatMap { Int($0) } ?? 1_000, state.generation)
    case ("GET", "objects"):
      guard let object = vault.objects.first(where: { $0.name == name }) else { return error(404, "absent") }
      var found = answer(200)
      found.body = object.bytes
      return found
    case ("PUT", "objects"):
      if let object = vault.objects.first(where: { $0.name == name }) {
        return answer(object.bytes == request.body ? 200 : 409)
      }
      vault.number += 1
      vault.objects.append((name, request.body ?? [], vault.number))
      if name.hasPrefix("keys/"), let id = VaultID(parts[2]), id.isEncrypted {
        update(&vault, id)
        vault.objects.removeAll { object in
          guard let admission = try? Admission(object.bytes), case .invites = admission.kind else {
            return false
          }
          return vault.state?.isWithdrawn(admission.member.publicKey) == true
        }
        state.sessions = state.sessions.filter {
          $0.value.vault != parts[2] || (vault.keys + vault.open).contains($0.value.key)
        }
      }
      return answer(201)
    case ("DELETE", "objects"):
      if name.hasPrefix("keys/"), let root = vault.state?.root, root.publicKey.description != session.key {
        return error(403, "only the root deletes keys")
      }
      vault.objects.removeAll { $0.name == name }
      return answer(204, "")
    case (_, "keys"):
      let isOfRoot = vault.state == nil || vault.state?.root?.publicKey.description == session.key
      for key in json["remove"]?.array ?? [] {
        guard isOfRoot || key.string == session.key else { return error(403, "only the root removes others") }
        vault.admitted.removeAll { $0 == key.string }
        vault.invited.removeAll { $0 == key.string }
        state.sessions = state.sessions.filter { $0.value.key != key.string }
      }
      vault.invited += (json["invite"]?.array ?? []).compactMap(\.string)
      if vault.state == nil || !vault.open.contains(session.key) {
        vault.admitted += (json["admit"]?.array ?? []).compactMap(\.string)
      }
      if json["admit"] != nil { vault.invited.removeAll { $0 == session.key } }
      let (keys, open) = (vault.keys, vault.open)
      return answer(200, "{\"keys\": \(texts(keys)), \"invited\": \(texts(open))}")
    default: return error(405, "no such method")
    }
  }

  private static func texts(_ keys: [String]) -> String {
    "[\(keys.sorted().map { "\"\($0)\"" }.joined(separator: ","))]"
  }

  private static func update(_ vault: inout Vault, _ id: VaultID) {
    let objects = vault.objects.filter { $0.name.hasPrefix("keys/") }.map(\.bytes)
    let root = vault.state?.root
    defer { if root != nil, vault.state?.root != root { vault.admitted = [] } }
    vault.state = KeyState(
      of: id, epochs: objects.compactMap { try? KeyEpoch($0) },
      admissions: objects.compactMap { try? Admission($0) })
  }

  private static func split(_ path: String) -> (String, [String: String]) {
    let parts = path.split(separator: "?", maxSplits: 1)
    var query: [String: String] = [:]
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let pair = pair.split(separator: "=", maxSplits: 1)
      query[String(pair[0])] = String(pair[1])
    }
    return (String(parts[0]), query)
  }

  private static func seconds(_ state: State) -> Int {
    Int(StoreOptions.systemTime() / 1_000) + state.secondsAhead
  }

  private static func signer(
    _ json: JSONValue, _ vault: String, _ host: String, _ state: inout State
  ) -> String? {
    guard let text = json["nonce"]?.string, state.nonces.insert(text).inserted,
      let nonce = Hexadecimal.bytes(text).flatMap({ HubNonce($0) }), let id = VaultID(vault),
      abs(Int(clamping: nonce.seconds) - seconds(state)) <= HubLimits.nonceSeconds,
      let key = json["key"]?.string.flatMap({ Hexadecimal.bytes($0) }).flatMap({ PublicKey(bytes: $0) }),
      let signature = json["signature"]?.string.flatMap({ Hexadecimal.bytes($0) }).flatMap({
        Signature(bytes: $0)
      }), key.verifies(signature, of: nonce.message(vault: id, host: host))
    else { return nil }
    return key.description
  }

  private static func session(
    _ status: Int, _ vault: String, _ key: String, _ state: inout State
  ) -> HTTPAnswer {
    let session = "session-\(state.count)"
    state.sessions[session] = (vault, key)
    return answer(status, "{\"session\": \"\(session)\", \"seconds\": 600}")
  }

  private static func list(
    _ vault: Vault, after cursor: String?, limit: Int, _ generation: Int
  ) -> HTTPAnswer {
    let parts = cursor?.split(separator: "-") ?? []
    let known = parts.count == 2 && parts[0] == "\(generation)" ? Int(parts[1]) : nil
    let rest = vault.objects.filter { $0.number > (known ?? 0) }
    let entries = rest.prefix(limit)
    let end = entries.count < rest.count ? entries.last?.number ?? 0 : vault.number
    let names = entries.map { "[\"\($0.name)\", \($0.bytes.count)]" }.joined(separator: ", ")
    return answer(
      200,
      "{\"objects\": [\(names)], \"cursor\": \"\(generation)-\(end)\", \"startsOver\": \(cursor != nil && known == nil), \"hasMore\": \(entries.count < rest.count)}",
      headers: ["x-count": cursor != nil && known == nil ? "over" : "\(entries.count)"])
  }
}
