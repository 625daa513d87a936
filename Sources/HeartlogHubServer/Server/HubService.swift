import HeartlogFormat
import HeartlogHTTPServer

/// Answers requests, whatever carries them. Keeps nothing: what lasts is behind the engine.
struct HubService: Sendable {
  let engine: HubEngine
  /// Words that each allow one vault; `nil` if anybody may create one.
  let invitations: Set<String>?

  // MARK: Who asks

  /// Whether a host is one of these names, which have a port or are for any.
  static func isName(_ host: String, of names: Set<String>) -> Bool {
    let host = host.lowercased()
    let colon = host.lastIndex(of: ":").flatMap { host[$0...].dropFirst().allSatisfy(\.isNumber) ? $0 : nil }
    return names.contains(host) || colon.map { names.contains(String(host[..<$0])) } ?? false
  }

  /// The session that a request has for a vault.
  func session(authorization: String?, vault: VaultID) throws -> HubSession {
    guard let authorization, authorization.hasPrefix("Bearer ") else {
      throw HTTPResponse.refusal(401, "There is no session")
    }
    let token = SHA256Hasher.digest(of: Array(authorization.dropFirst(7).utf8))
    guard let session = try engine.session(token) else { throw HTTPResponse.sessionOver }
    guard session.member.vault == vault else {
      throw HTTPResponse.refusal(403, "The session is for another vault")
    }
    return session
  }

  /// Refuses what the key of an invitation may not do.
  static func checkInvited(_ route: HubRoute) throws {
    switch route.action {
    case .list, .get, .keys, .changeKeys: return
    case .put where route.vault?.isEncrypted == true && route.name.hasPrefix("keys/"): return
    default: throw HTTPResponse.invited
    }
  }

  /// Whether the session of a token is not over. A key that another hub has just removed ends it too.
  func isOpen(_ token: Digest) throws -> Bool {
    guard let member = try engine.session(token)?.member else { return false }
    return try engine.isAdmitted(member)
  }

  // MARK: Requests that are answered at once

  func keys(as member: VaultMember) throws -> HTTPResponse {
    guard let keys = try engine.keys(of: member.vault), keys.admits(member.key) else {
      throw HTTPResponse.sessionOver
    }
    return .keys(keys)
  }

  /// The key that a client proves, and with which nonce: "Sessions" in docs/hub.md.
  private func proof(
    in object: JSONValue, of vault: VaultID, host: String
  ) throws -> (member: VaultMember, nonce: HubNonce) {
    guard let key = PublicKey(bytes: try object.hexadecimal("key", 32)),
      let nonce = HubNonce(try object.hexadecimal("nonce", 32)),
      let signature = Signature(bytes: try object.hexadecimal("signature", 64))
    else { preconditionFailure("the counts were checked") }
    let (made, now) = (nonce.seconds, WallClock.seconds)
    guard max(made, now) - min(made, now) <= UInt64(HubLimits.nonceSeconds) else {
      throw HTTPResponse.refusal(401, "The nonce is of another time", time: now)
    }
    guard key.verifies(signature, of: nonce.message(vault: vault, host: host)) else {
      throw HTTPResponse.refusal(403, "The signature is wrong")
    }
    return (VaultMember(vault: vault, key: key), nonce)
  }

  func openSession(_ request: HubRequest) throws -> HTTPResponse {
    let object = try request.object()
    guard let vault = VaultID(bytes: try object.hexadecimal("vault", 16)) else {
      preconditionFailure("the count was checked")
    }
    let (member, nonce) = try proof(in: object, of: vault, host: request.host)
    guard try engine.isAdmitted(member) else {
      throw HTTPResponse.refusal(403, "This key is not admitted to this vault")
    }
    return try open(200, member, nonce)
  }

  private func open(_ status: UInt32, _ member: VaultMember, _ nonce: HubNonce) throws -> HTTPResponse {
    let session = Base64.urlText(RandomBytes.next(16))
    let token = SHA256Hasher.digest(of: Array(session.utf8))
    guard try engine.openSession(token, for: member, with: nonce) else {
      throw HTTPResponse.refusal(401, "The nonce opened a session already", time: WallClock.seconds)
    }
    return .json(status) { writer in
      writer.member("session", session)
      writer.member("seconds", HubLimits.sessionSeconds)
    }
  }

  func create(_ request: HubRequest) throws -> HTTPResponse {
    guard let vault = request.route.vault else { preconditionFailure("the path names the vault") }
    let object = try request.object()
    let (member, nonce) = try proof(in: object, of: vault, host: request.host)
    let invitation = object["invitation"]?.string
    if try engine.isAdmitted(member) { return try open(200, member, nonce) }
    // Does not reveal whether the vault exists.
    let refusal = HTTPResponse.refusal(
      403,
      invitations == nil
        ? "This key is not admitted to this vault"
        : "This key is not admitted to this vault, and a new one needs an invitation that was not used")
    if let invitations {
      guard let invitation, invitations.contains(invitation) else { throw refusal }
    }
    var keys = AdmittedKeys([member.key])
    var objects: [KeyObject] = []
    if vault.isEncrypted {
      objects = try object.hexadecimals("objects")
        .compactMap { try? KeyObject($0, verifiesAnnouncements: false) }.filter { $0.vault == vault }
      guard let founding = AdmittedKeys(of: vault, objects: objects), founding.keys.contains(member.key)
      else {
        throw refusal
      }
      keys = founding
    }
    let word = invitations == nil ? nil : invitation
    guard try engine.createVault(vault, keys: keys, invitation: word) else { throw refusal }
    if let root = keys.root {
      // A client puts again what is missing.
      let root = VaultMember(vault: vault, key: root.key)
      for object in objects { try engine.write(object.name, object.bytes, as: root) }
    }
    return try open(201, member, nonce)
  }

  func changeKeys(_ request: HubRequest, as member: VaultMember) throws -> HTTPResponse {
    let object = try request.object()
    let (removed, admitted) = (try object.keys("remove"), try object.keys("admit"))
    let seconds = object["seconds"]?.int64 ?? 86_400
    guard 1...Int64(HubLimits.invitationSecondsMax) ~= seconds else {
      throw HTTPResponse.refusal(
        400, "An invitation is good for 1 to \(HubLimits.invitationSecondsMax) seconds")
    }
    let end = WallClock.nanoseconds + Int(seconds) * 1_000_000_000
    let invited = Dictionary(try object.keys("invite").map { ($0, end) }) { first, _ in first }
    return .keys(
      try engine.changeKeys(as: member) { keys in
        try keys.changing(admitting: admitted, removing: removed, inviting: invited, as: member)
      })
  }

  // MARK: Objects of encrypted vaults

  /// Checks whether a member may put an object, and takes the keys from an epoch of the root or an admission.
  ///
  /// - Returns: Who puts it.
  func putting(
    _ name: String, _ bytes: [UInt8], as member: VaultMember, isInvited: Bool
  ) throws -> VaultMember {
    guard member.vault.isEncrypted else { return member }
    guard name.hasPrefix("keys/") else {
      if name.hasPrefix("\(member.owner)/") { return member }
      // A device that joins with the code has no session of its own yet.
      guard try engine.keys(of: member.vault)?.root?.key == member.key else {
        throw HTTPResponse.refusal(403, "A device puts objects under its own name")
      }
      return member
    }
    guard let object = try? KeyObject(bytes, verifiesAnnouncements: false), object.vault == member.vault,
      object.name == name
    else {
      throw HTTPResponse.refusal(403, "This is no epoch and no admission of this vault under its name")
    }
    if isInvited {
      guard case .admission(let admission) = object, admission.kind == .accepts,
        admission.admitter == member.key
      else { throw HTTPResponse.invited }
      try engine.changeKeys(as: member) { keys in
        guard let change = keys.following(object) else { throw KeyRefusal.notInvited }
        return change
      }
      return VaultMember(vault: member.vault, key: admission.member.publicKey)
    }
    let keys = try engine.changeKeys(as: member) { $0.following(object) }
    if case .admission(let admission) = object {
      let isSigned =
        keys.keys.contains(admission.admitter) && !keys.unconfirmed.contains(admission.admitter)
      if case .invites = admission.kind, isSigned, keys.invited[admission.member.publicKey] == nil {
        throw HTTPResponse.refusal(
          403,
          "The invitation is over, or the vault has \(HubLimits.invitationsMax) that are open: withdraw them")
      }
      if admission.kind == .withdraws, isSigned { try delete(admission, as: member) }
    }
    // What the root made is the root's, whoever carries it.
    guard let root = keys.root, object.signer == root.key || object.signer == root.previous else {
      return member
    }
    return VaultMember(vault: member.vault, key: root.key)
  }

  /// Deletes an invitation that was withdrawn: with it goes the key that is wrapped in it.
  private func delete(_ withdrawal: Admission, as member: VaultMember) throws {
    let name = Admission.objectName(of: withdrawal.member.replica, to: withdrawal.epoch)
    guard let bytes = try engine.get(name, as: member), case .invites? = (try? Admission(bytes))?.kind
    else { return }
    try engine.write(name, nil, as: member)
  }

  /// Checks whether a member may delete an object.
  func checkDeleting(_ name: String, as member: VaultMember) throws {
    guard member.vault.isEncrypted else { return }
    guard let keys = try engine.keys(of: member.vault) else { throw HTTPResponse.sessionOver }
    guard keys.allowsDeleting(name, as: member) else {
      throw HTTPResponse.refusal(
        403, "Only the vault's root may delete what others have put: it takes the recovery code")
    }
  }
}

extension HTTPResponse {
  fileprivate static let invited = HTTPResponse.refusal(
    403, "An invitation admits one device, and does nothing else")
}

extension HTTPResponse {
  fileprivate static func keys(_ keys: AdmittedKeys) -> HTTPResponse {
    .json(200) { writer in
      writer.member("keys", keys.devices.map(\.description).sorted())
      if let root = keys.root { writer.member("root", root.key.description) }
      if !keys.invited.isEmpty { writer.member("invited", keys.invited.keys.map(\.description).sorted()) }
    }
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
    writer.member("cursor", cursor.description)
    writer.member("startsOver", startsOver)
    writer.member("hasMore", hasMore)
  }
}
