import Heartlog
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// A device's requests to one vault of a hub, within sessions that it opens with its key: "Sessions" in docs/hub.md.
///
/// All requests may be repeated, so a request that fails in a way that may pass is tried again a few times.
final class HubConnection: Sendable {
  let address: HubAddress
  let vault: VaultID
  let key: any DeviceKey
  private let invitation: String?
  /// The store whose vault it is, with the keys of an encrypted one; `nil` for a vault without a store.
  private let store: FavoritesStore?
  let client: HTTPClient
  private struct State {
    /// What the hub gave this client for a while.
    var session: String?
    /// Whether the vault is created if the hub does not have it.
    var creates = false
    /// When the sync that runs must be over; `nil` if none runs.
    var syncEnd: UInt64?
  }

  private let state = Mutex(State())

  init(
    _ address: HubAddress, vault: VaultID, key: any DeviceKey, invitation: String?,
    over transport: any HTTPTransport, time: RetryTiming, of store: FavoritesStore? = nil
  ) {
    self.address = address
    self.vault = vault
    self.key = key
    self.invitation = invitation
    self.store = store
    client = HTTPClient(transport, time: time, host: "the hub \(address.host)")
  }

  /// The path of what belongs to the vault.
  func path(_ rest: String) -> String { "/v1/vaults/\(vault)/\(rest)" }

  /// Opens a session, unless there is one.
  ///
  /// - Parameter creates: Whether the vault is created if the hub does not have it.
  func open(creates: Bool, isOver: () -> Bool) throws(HeartlogError) {
    let session = state.withLock { state in
      state.creates = creates
      return state.session
    }
    if session == nil { _ = try openSession(isOver) }
  }

  /// Begins a sync, which fails when it takes too long for the bytes that are sent and received.
  func beginSync() {
    let end = client.time.now() + UInt64(HubLimits.syncSeconds) * 1_000_000_000
    state.withLock { $0.syncEnd = end }
  }

  func endSync() { state.withLock { $0.syncEnd = nil } }

  /// - Throws: `timedOut` if the sync has taken too long.
  private func checkTime() throws(HeartlogError) {
    guard let end = state.withLock({ $0.syncEnd }), client.time.now() >= end else { return }
    throw HeartlogError(
      .timedOut,
      "the hub \(address.host) is too slow: this sync has taken more than \(HubLimits.syncSeconds / 60) minutes. What came is kept: sync again"
    )
  }

  /// Gives the sync time for bytes that were sent or received.
  private func count(_ byteCount: Int) {
    let nanoseconds = UInt64(byteCount) * 1_000_000_000 / UInt64(HubLimits.bytesPerSecond)
    state.withLock { state in state.syncEnd = state.syncEnd.map { $0 + nanoseconds } }
  }

  /// Sends a request in a session, and in another one if the first is over.
  ///
  /// - Parameter accepted: Statuses that are no errors. With 413, an answer that is larger than `bytesMax` is one with this status.
  /// - Returns: The answer: a success, or one of `accepted`.
  func send(
    _ method: String, _ path: String, type: HubBody = .none, bytesMax: Int, accepting accepted: Set<Int> = [],
    isOver: () -> Bool
  ) throws(HeartlogError) -> HTTPAnswer {
    try checkTime()
    return try inSession(isOver) { (session) throws(HeartlogError) in
      try client.trying(isOver) { () throws(HTTPFailure) in
        let request = request(method, path, type, bytesMax, session)
        let answer = try client.attempt(request, mayExceed: accepted.contains(HTTPAnswer.tooLarge), isOver)
        count((request.body?.count ?? 0) + answer.body.count)
        return answer
      }
    }.checked(accepting: accepted, for: "\(method) \(path)", at: self)
  }

  /// Receives a stream in a session, until `receive` returns false or the hub ends it.
  ///
  /// - Parameters:
  ///   - path: Called for each connection.
  ///   - end: Called whenever a connection ends: before the call returns, and before it tries again.
  func stream(
    _ path: () -> String, isOver: () -> Bool, receive: ([UInt8]) -> Bool, end: () -> Void
  ) throws(HeartlogError) {
    _ = try inSession(isOver) { (session) throws(HeartlogError) in
      try client.trying(isOver) { () throws(HTTPFailure) in
        defer { end() }
        var request = request("GET", path(), .none, HubLimits.jsonBytesMax, session)
        request.headers.append(("Accept", "text/event-stream"))
        // A comment comes every 30 seconds.
        request.silenceSecondsMax = 75
        return try client.transport.stream(request, isOver: isOver, receive: receive)
      }
    }.checked(for: "GET changes", at: self)
  }

  // MARK: - Sessions

  private func inSession(
    _ isOver: () -> Bool, _ body: (String) throws(HeartlogError) -> HTTPAnswer
  ) throws(HeartlogError) -> HTTPAnswer {
    let first: String
    if let known = state.withLock({ $0.session }) { first = known } else { first = try openSession(isOver) }
    let answer = try body(first)
    guard answer.status == 401 else { return answer }
    state.withLock { if $0.session == first { $0.session = nil } }
    return try body(try openSession(isOver))
  }

  private func openSession(_ isOver: () -> Bool) throws(HeartlogError) -> String {
    var answer = try requestSession(key, isOver)
    // Whether there is no such vault, or the key is not one of its, the hub does not say.
    // Whoever was removed must not begin the vault at a hub as its only device.
    if answer.status == 403, state.withLock({ $0.creates }), try store.map(VaultKeys.isNotAMember) != true {
      // What leads from the id of an encrypted vault to this device: "Keys at a hub" in docs/hub.md.
      let objects = try vault.isEncrypted ? store.map(VaultKeys.objects) ?? [] : []
      answer = try signed("PUT", "/v1/vaults/\(vault)", key, isOver) { json in
        if let invitation { json.member("invitation", invitation) }
        if vault.isEncrypted { json.member("objects", objects.map { Hexadecimal.text($0) }) }
      }
    }
    // The code lets this device in, which then puts its own admission.
    if answer.status == 403, let joining = try store.flatMap(VaultKeys.joining) {
      answer = try requestSession(joining.key, isOver)
    }
    if answer.status == 403 { throw .notAdmitted(answer, at: self) }
    let json = try answer.checked(for: "a session", at: self).json(at: self)
    guard let session = json["session"]?.string, Self.isToken(session) else {
      throw .noHub("an answer without a session", at: self)
    }
    state.withLock { $0.session = session }
    return session
  }

  private func requestSession(
    _ key: any DeviceKey, _ isOver: () -> Bool
  ) throws(HeartlogError) -> HTTPAnswer {
    try signed("POST", "/v1/sessions", key, isOver) { json in json.member("vault", vault.description) }
  }

  /// Sends a request that a key signs, at the hub's time if this device's is another one.
  private func signed(
    _ method: String, _ path: String, _ key: any DeviceKey, _ isOver: () -> Bool,
    _ members: (inout JSONWriter) -> Void
  ) throws(HeartlogError) -> HTTPAnswer {
    var seconds = UInt64(clamping: StoreOptions.systemTime() / 1_000)
    var noncesLeft = HTTPClient.attempts
    while true {
      noncesLeft -= 1
      var generator = SystemRandomNumberGenerator()
      let nonce = HubNonce(at: seconds, using: &generator)
      var body = JSONWriter()
      body.beginObject()
      members(&body)
      body.member("key", key.publicKey.description)
      body.member("nonce", Hexadecimal.text(nonce.bytes))
      body.member("signature", Hexadecimal.text(try signature(of: nonce, with: key)))
      body.endObject()
      let answer = try client.trying(isOver) { () throws(HTTPFailure) in
        try client.transport.send(
          request(method, path, .json(body.bytes), HubLimits.jsonBytesMax, nil), isOver: isOver)
      }
      // A nonce of another time, or one that opened a session of which the answer was lost. That may happen to the next one, too.
      guard answer.status == 401, noncesLeft > 0 else { return answer }
      seconds = (try? JSONValue.parse(answer.body))?["time"]?.int64.map { UInt64(clamping: $0) } ?? seconds
    }
  }

  private func signature(of nonce: HubNonce, with key: any DeviceKey) throws(HeartlogError) -> [UInt8] {
    do { return try key.signature(of: nonce.message(vault: vault, host: address.host)).bytes } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
  }

  /// Whether a text may stand in a header.
  private static func isToken(_ text: String) -> Bool {
    (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  // MARK: - Requests

  private func request(
    _ method: String, _ path: String, _ body: HubBody, _ bytesMax: Int, _ session: String?
  ) -> HTTPRequest {
    var request = HTTPRequest(method, address.base + path, bytesMax: bytesMax)
    // What is signed names the host as this header does.
    request.headers = [("Host", address.host)]
    if let session { request.headers.append(("Authorization", "Bearer \(session)")) }
    switch body {
    case .none: break
    case .json(let bytes):
      request.headers.append(("Content-Type", "application/json"))
      request.body = bytes
    case .object(let bytes): request.body = bytes
    }
    return request
  }

  /// Waits for the next of the pauses, or until it is over.
  func pause(_ pauses: inout Backoff, _ isOver: () -> Bool) {
    client.time.pause(pauses.next(client.time.random), isOver)
  }

}

/// The body of a request.
enum HubBody {
  case none
  case json([UInt8])
  case object([UInt8])
}

/// The keys that a hub admits to a vault: "Vaults and keys" in docs/hub.md.
extension HubConnection {
  /// The keys that are admitted, or those of open invitations, sorted.
  func keys(named name: String = "keys", isOver: () -> Bool) throws(HeartlogError) -> [PublicKey] {
    try keys("GET", .none, named: name, isOver)
  }

  /// Removes keys and admits others.
  ///
  /// - Returns: The keys that are admitted now, sorted.
  @discardableResult
  func changeKeys(
    admitting: [PublicKey] = [], removing: [PublicKey] = [], inviting: PublicKey? = nil, seconds: Int? = nil,
    isOver: () -> Bool
  ) throws(HeartlogError) -> [PublicKey] {
    try keys(
      "POST", Self.change(admitting: admitting, removing: removing, inviting: inviting, seconds: seconds),
      isOver)
  }

  /// The body of a change of keys.
  static func change(
    admitting: [PublicKey], removing: [PublicKey] = [], inviting: PublicKey? = nil, seconds: Int? = nil
  ) -> HubBody {
    var json = JSONWriter()
    json.beginObject()
    if let inviting { json.member("invite", [inviting.description]) }
    if let seconds { json.member("seconds", seconds) }
    if !admitting.isEmpty { json.member("admit", admitting.map(\.description)) }
    if !removing.isEmpty { json.member("remove", removing.map(\.description)) }
    json.endObject()
    return .json(json.bytes)
  }

  private func keys(
    _ method: String, _ body: HubBody, named name: String = "keys", _ isOver: () -> Bool
  ) throws(HeartlogError) -> [PublicKey] {
    let json = try send(method, path("keys"), type: body, bytesMax: HubLimits.keysBytesMax, isOver: isOver)
      .json(at: self)
    guard json["keys"]?.array != nil else {
      throw .noHub("something that is no list of keys", at: self)
    }
    var keys: [PublicKey] = []
    for text in json[name]?.array ?? [] {
      guard let key = text.string.flatMap({ Hexadecimal.bytes($0) }).flatMap({ PublicKey(bytes: $0) }) else {
        throw .noHub("something that is no list of keys", at: self)
      }
      keys.append(key)
    }
    return keys.sorted { $0.description < $1.description }
  }
}

extension HTTPAnswer {
  /// The answer, if it is a success or one of `accepted`.
  ///
  /// - Throws: The error that its status stands for.
  func checked(
    accepting accepted: Set<Int> = [], for what: String, at connection: HubConnection
  ) throws(HeartlogError) -> HTTPAnswer {
    guard !isSuccess, !accepted.contains(status) else { return self }
    switch status {
    case 401, 403: throw .notAdmitted(self, at: connection)
    case 404, 405: throw .noHub("\(status) for \(what)", at: connection)
    case 507:
      throw HeartlogError(
        .diskFull,
        "\(connection.client.host) has no more room for this vault\(sentence): its operator can raise the quota"
      )
    default: throw connection.client.error(self, to: what, reason: sentence)
    }
  }

  /// The body as JSON.
  func json(at connection: HubConnection) throws(HeartlogError) -> JSONValue {
    do throws(MalformedError) { return try JSONValue.parse(body, depthMax: 8) } catch {
      throw .noHub("an answer that is not JSON", at: connection)
    }
  }

  /// What the hub says is wrong, in parentheses; empty if it says nothing.
  fileprivate var sentence: String {
    guard let json = try? JSONValue.parse(body, depthMax: 8), let text = json["error"]?.string, !text.isEmpty
    else { return "" }
    return " (\(HTTPClient.visible(text)))"
  }
}

extension HeartlogError {
  /// The error for a device whose key is not one of the vault's.
  static func notAdmitted(_ answer: HTTPAnswer, at connection: HubConnection) -> HeartlogError {
    let key = connection.key.publicKey
    return HeartlogError(
      .notAdmitted,
      "the hub \(connection.address.host) does not admit this device to the vault \(connection.vault)\(answer.sentence): on a device "
        + "that is in it, run \"heartlog hub \(connection.address.base) admit \(key)\". To an encrypted vault its recovery code admits, "
        + "with \"heartlog keys join -\" on this device")
  }

  /// The error for a host that speaks HTTP, but not as a hub does.
  static func noHub(_ what: String, at connection: HubConnection) -> HeartlogError {
    HeartlogError(
      .peer, "there seems to be no hub at \(connection.address.base): it sent \(what)")
  }
}
