import Heartlog
import HeartlogHub
import HeartlogProofs

/// Answers requests, whatever carries them. Keeps nothing: what lasts is behind the engine.
struct HubService: Sendable {
  let engine: any HubEngine
  /// The hosts that clients may sign for, in lower case; any if there is none.
  let names: Set<String>
  /// Words that each allow one vault; `nil` if anybody may create one.
  let invitations: Set<String>?

  // MARK: Who asks

  /// Refuses a host that is none of this hub.
  func check(host: String?) throws(HubRefusal) -> String {
    guard let host, !host.isEmpty else { throw HubRefusal(400, "There is no Host header") }
    guard !names.isEmpty else { return host }
    let lowered = host.lowercased()
    var name = lowered[...]
    if let colon = lowered.lastIndex(of: ":"), lowered[colon...].dropFirst().allSatisfy(\.isNumber) {
      name = lowered[..<colon]
    }
    guard names.contains(lowered) || names.contains(String(name)) else {
      throw HubRefusal(403, "This hub has another name")
    }
    return host
  }

  /// The session that a request has for a vault.
  func session(authorization: String?, vault: VaultID) throws(HubRefusal) -> (
    token: Digest, session: HubSession
  ) {
    guard let authorization, authorization.hasPrefix("Bearer ") else {
      throw HubRefusal(401, "There is no session")
    }
    let token = SHA256Hasher.digest(of: Array(authorization.dropFirst(7).utf8))
    let found = try refusals { () throws(HeartlogError) in try engine.sessions.session(token) }
    guard let session = found else { throw HubRefusal.sessionOver }
    guard session.member.vault == vault else { throw HubRefusal(403, "The session is for another vault") }
    return (token, session)
  }

  /// Whether the session of a token is not over. A key that another hub has just removed ends it too.
  func isOpen(_ token: Digest) throws(HubRefusal) -> Bool {
    try refusals { () throws(HeartlogError) in
      guard let member = try engine.sessions.session(token)?.member else { return false }
      return try engine.isAdmitted(member.key, to: member.vault)
    }
  }

  // MARK: Requests that are answered at once

  /// Answers a request that needs no session.
  func answer(_ request: HubRequest) throws(HubRefusal) -> HubAnswer {
    switch request.route {
    case .health:
      try refusals { () throws(HeartlogError) in try engine.check() }
      return .text("ok")
    case .challenge: return try challenge(request)
    case .openSession: return try openSession(request)
    case .createVault(let vault): return try create(vault, request)
    default: preconditionFailure("answered by the server, or for a member")
    }
  }

  /// Answers a request of whoever has a session.
  func answer(_ request: HubRequest, as member: VaultMember) throws(HubRefusal) -> HubAnswer {
    switch request.route {
    case .list(_, let cursor, let limit):
      return .list(
        try refusals { () throws(HeartlogError) in
          try engine.list(after: cursor, limit: limit, as: member)
        })
    case .changeKeys: return try changeKeys(request, as: member)
    case .keys:
      let keys = try refusals { () throws(HeartlogError) in try engine.keys(of: member.vault) }
      guard let keys, keys.contains(member.key) else { throw HubRefusal.sessionOver }
      return .keys(keys)
    default: preconditionFailure("answered by the server, or without a session")
    }
  }

  private func challenge(_ request: HubRequest) throws(HubRefusal) -> HubAnswer {
    _ = try request.object()
    guard let challenge = HubChallenge(Self.randomBytes(HubChallenge.byteCount)) else {
      preconditionFailure("a challenge has 32 bytes")
    }
    guard try refusals({ () throws(HeartlogError) in try engine.sessions.add(challenge) }) else {
      throw HubRefusal(429, "Too many challenges are open", retryAfter: HubLimits.challengeSeconds)
    }
    return .json(200) { writer in
      writer.name("challenge")
      writer.value(Hexadecimal.text(challenge.bytes))
    }
  }

  /// Uses up the challenge, and checks the signature.
  private func verify(_ proof: KeyProof, vault: VaultID, host: String) throws(HubRefusal) {
    guard try refusals({ () throws(HeartlogError) in try engine.sessions.take(proof.challenge) }) else {
      throw HubRefusal(401, "The challenge is unknown, used or old")
    }
    guard proof.key.verifies(proof.signature, of: proof.challenge.message(vault: vault, host: host)) else {
      throw HubRefusal(403, "The signature is wrong")
    }
  }

  private func openSession(_ request: HubRequest) throws(HubRefusal) -> HubAnswer {
    let object = try request.object()
    guard let vault = VaultID(bytes: try object.hexadecimal("vault", 16)) else {
      preconditionFailure("the count was checked")
    }
    let proof = try KeyProof(object)
    try verify(proof, vault: vault, host: request.host)
    return try open(200, vault, proof.key)
  }

  private func open(_ status: UInt32, _ vault: VaultID, _ key: PublicKey) throws(HubRefusal) -> HubAnswer {
    guard try refusals({ () throws(HeartlogError) in try engine.isAdmitted(key, to: vault) }) else {
      throw HubRefusal(403, "This key is not admitted to this vault")
    }
    // The alphabet of base64url.
    let session = String(
      Base64.text(Self.randomBytes(16)).prefix(22).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    try refusals { () throws(HeartlogError) in
      try engine.sessions.open(SHA256Hasher.digest(of: Array(session.utf8)), vault: vault, key: key)
    }
    return .json(status) { writer in
      writer.name("session")
      writer.value(session)
      writer.name("seconds")
      writer.value(HubLimits.sessionSeconds)
    }
  }

  private func create(_ vault: VaultID, _ request: HubRequest) throws(HubRefusal) -> HubAnswer {
    let object = try request.object()
    let proof = try KeyProof(object)
    let invitation = object["invitation"]?.string
    try verify(proof, vault: vault, host: request.host)
    let isThere = try refusals { () throws(HeartlogError) in try engine.keys(of: vault) != nil }
    if !isThere, let invitations {
      guard let invitation, invitations.contains(invitation) else {
        throw HubRefusal(403, "This hub wants an invitation, and this is none")
      }
    }
    let creation = try refusals { () throws(HeartlogError) in
      isThere
        ? .exists
        : try engine.createVault(vault, key: proof.key, invitation: invitations == nil ? nil : invitation)
    }
    switch creation {
    case .created: return try open(201, vault, proof.key)
    case .exists: return try open(200, vault, proof.key)
    case .invitationUsed: throw HubRefusal(403, "The invitation was used")
    }
  }

  private func changeKeys(_ request: HubRequest, as member: VaultMember) throws(HubRefusal) -> HubAnswer {
    let object = try request.object()
    let (removed, admitted) = (try object.keys("remove"), try object.keys("admit"))
    let keys = try refusals { () throws(HeartlogError) in
      try engine.changeKeys(removing: removed, admitting: admitted, as: member)
    }
    guard let keys else { throw HubRefusal(400, "At least one key stays, and \(HubLimits.keysMax) at most") }
    return .keys(keys)
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }
}

extension HubAnswer {
  fileprivate static func keys(_ keys: [PublicKey]) -> HubAnswer {
    .json(200) { writer in
      writer.name("keys")
      writer.beginArray()
      for key in keys { writer.value(key.description) }
      writer.endArray()
    }
  }

  fileprivate static func list(_ list: HubList) -> HubAnswer {
    .json(200) { list.append(to: &$0) }
  }
}

extension HubList {
  /// Writes the members of a list.
  func append(to writer: inout JSONWriter) {
    writer.name("objects")
    writer.beginArray()
    for entry in entries {
      writer.beginArray()
      writer.value(entry.name)
      writer.value(entry.byteCount)
      writer.endArray()
    }
    writer.endArray()
    writer.name("cursor")
    writer.value(cursor)
    writer.name("startsOver")
    writer.value(startsOver)
    writer.name("hasMore")
    writer.value(hasMore)
  }
}
