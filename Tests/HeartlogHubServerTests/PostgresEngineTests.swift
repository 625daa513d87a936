import Foundation
import Heartlog
import HeartlogHub
import HeartlogFormat
import Synchronization
import Testing

@testable import HeartlogHubServer

@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresEngineTests {
  private let engine: PostgresEngine
  private let vault = Self.newVault()
  private let key = Self.newKey()
  private var member: VaultMember { VaultMember(vault: vault, key: key) }

  init() throws {
    engine = try PostgresEngine(try PostgresServer.shared.get().address, quotaBytes: 1_000)
    #expect(try engine.createVault(vault, keys: AdmittedKeys([key]), invitation: nil) == .created)
  }

  @Test("objects are listed by the numbers of their changes, from a cursor on")
  func listing() throws {
    #expect(try engine.put("a", [1, 2], as: member) == .stored)
    #expect(try engine.put("b", [3], as: member) == .stored)
    let all = try engine.list(after: nil, limit: 10, as: member)
    #expect(all.entries.map(\.name) == ["a", "b"])
    #expect(all.entries.map(\.byteCount) == [2, 1])
    #expect(!all.startsOver && !all.hasMore)
    #expect(try engine.put("c", [], as: member) == .stored)
    let rest = try engine.list(after: all.cursor, limit: 10, as: member)
    #expect(rest.entries.map(\.name) == ["c"])
    #expect(!rest.startsOver)
    let page = try engine.list(after: nil, limit: 2, as: member)
    #expect(page.hasMore && page.cursor == all.cursor)
    let end = try engine.list(after: rest.cursor, limit: 2, as: member)
    #expect(end.entries.isEmpty && end.cursor == rest.cursor && !end.hasMore)
  }

  @Test("a list starts over at a cursor of another generation, or of a change that there was not")
  func startingOver() throws {
    #expect(try engine.put("a", [1], as: member) == .stored)
    let cursor = try engine.list(after: nil, limit: 10, as: member).cursor
    let generation = cursor.prefix(16)
    for other in ["\(generation)-2", "0000000000000000-1"] {
      let list = try engine.list(after: other, limit: 10, as: member)
      #expect(list.startsOver && list.entries.map(\.name) == ["a"], "\(other)")
    }
    for other in ["x", "\(generation)-", "", "\(generation)-01"] {
      #expect(throws: HeartlogError.self) { try engine.list(after: other, limit: 10, as: member) }
    }
  }

  @Test("an object is stored once: the same bytes are accepted, others are not")
  func putting() throws {
    #expect(try engine.put("a", [1], as: member) == .stored)
    #expect(try engine.put("a", [1], as: member) == .same)
    #expect(try engine.put("a", [2], as: member) == .different)
    #expect(try engine.get("a", as: member) { $0 == 1 } == .bytes([1]))
    #expect(try engine.get("a", as: member) { _ in false } == .refused)
    #expect(try engine.get("b", as: member) { _ in true } == .missing)
    #expect(try engine.list(after: nil, limit: 10, as: member).entries.count == 1)
  }

  @Test("many callers put at once, equal names among them: each is stored once, in rising numbers")
  func batches() throws {
    let other = Self.newVault()
    #expect(try engine.createVault(other, keys: AdmittedKeys([key]), invitation: nil) == .created)
    let outcomes = Mutex<[PutOutcome]>([])
    let group = DispatchGroup()
    let second = VaultMember(vault: other, key: key)
    for number in 0..<300 {
      group.enter()
      engine.put("n\(number % 100)", [UInt8(number % 100)], as: number % 2 == 0 ? member : second) { result in
        if case .success(let outcome) = result { outcomes.withLock { $0.append(outcome) } }
        group.leave()
      }
    }
    group.wait()
    let all = outcomes.withLock { $0 }
    #expect(all.filter { $0 == .stored }.count == 100)
    #expect(all.filter { $0 == .same }.count == 200)
    for (remainder, member) in [member, second].enumerated() {
      // Page by page, each is listed once.
      var names: [String] = []
      var cursor: String?
      while true {
        let page = try engine.list(after: cursor, limit: 7, as: member)
        names += page.entries.map(\.name)
        cursor = page.cursor
        if !page.hasMore { break }
      }
      #expect(names.sorted() == (0..<100).filter { $0 % 2 == remainder }.map { "n\($0)" }.sorted())
    }
  }

  @Test("two hubs put to one vault at once, and miss nothing of each other")
  func twoHubs() throws {
    let second = try PostgresEngine(try PostgresServer.shared.get().address, quotaBytes: 1_000)
    defer { second.close() }
    let told = DispatchSemaphore(value: 0)
    let (vault, member) = (vault, member)
    second.observe { if $0 == vault { told.signal() } }
    // Until it listens, notices pass it by.
    var isTold = false
    for number in 0..<100 where !isTold {
      #expect(try engine.put("w\(number)", [], as: member) == .stored)
      isTold = told.wait(timeout: .now() + 0.2) == .success
    }
    #expect(isTold)
    let group = DispatchGroup()
    let failures = Mutex<[String]>([])
    for number in 0..<200 {
      for (hub, engine) in [engine, second].enumerated() {
        group.enter()
        engine.put("\(number)", [UInt8(hub)], as: member) { result in
          if case .failure(let error) = result { failures.withLock { $0.append(error.description) } }
          group.leave()
        }
      }
    }
    group.wait()
    #expect(failures.withLock { $0 } == [])
    let names = try second.list(after: nil, limit: 1_000, as: member).entries.map(\.name)
    #expect(names.filter { !$0.hasPrefix("w") }.sorted() == (0..<200).map(String.init).sorted())
  }

  @Test("the quota counts what is stored, and deletions give it back")
  func quota() throws {
    #expect(try engine.put("a", [UInt8](repeating: 1, count: 600), as: member) == .stored)
    #expect(try engine.put("b", [UInt8](repeating: 1, count: 401), as: member) == .full)
    #expect(try engine.put("b", [UInt8](repeating: 1, count: 400), as: member) == .stored)
    try engine.delete("a", as: member)
    try engine.delete("a", as: member)
    #expect(try engine.get("a", as: member) { _ in true } == .missing)
    #expect(try engine.put("c", [UInt8](repeating: 1, count: 600), as: member) == .stored)
    #expect(try engine.list(after: nil, limit: 9, as: member).entries.map(\.name) == ["b", "c"])
  }

  @Test("keys are changed in one transaction: removed, then admitted, and one stays")
  func keys() throws {
    let other = Self.newKey()
    #expect(try engine.keys(of: Self.newVault()) == nil)
    #expect(try engine.keys(of: vault)?.keys == [key])
    #expect(try engine.changeKeys(removing: [key], admitting: [], as: member) == nil)
    #expect(try engine.keys(of: vault)?.keys == [key])
    #expect(
      Set(try engine.changeKeys(removing: [], admitting: [other, key], as: member) ?? []) == [key, other])
    #expect(try engine.changeKeys(removing: [key], admitting: [], as: member) == [other])
    // From then on nothing is done for the key that was removed.
    let out = #expect(throws: HeartlogError.self) {
      try engine.changeKeys(removing: [], admitting: [key], as: member)
    }
    #expect(out?.code == .notAdmitted)
    #expect(try engine.keys(of: vault)?.keys == [other])
    try expectNothing(for: member)
  }

  /// Nothing is done for whoever is no member.
  private func expectNothing(for member: VaultMember) throws {
    let calls: [() throws -> Void] = [
      { _ = try engine.put("x", [1], as: member) },
      { _ = try engine.get("x", as: member) { _ in true } },
      { try engine.delete("x", as: member) },
      { _ = try engine.list(after: nil, limit: 1, as: member) },
    ]
    for (number, call) in calls.enumerated() {
      let error = #expect(throws: HeartlogError.self) { try call() }
      #expect(error?.code == .notAdmitted, "call \(number)")
    }
  }

  @Test("one batch has calls of members and of others: only those of members are done")
  func mixedBatch() throws {
    let outcomes = Mutex<[String: Result<PutOutcome, HeartlogError>]>([:])
    let stranger = VaultMember(vault: vault, key: Self.newKey())
    let group = DispatchGroup()
    for number in 0..<40 {
      group.enter()
      engine.put("m\(number)", [1], as: number % 2 == 0 ? member : stranger) { result in
        outcomes.withLock { $0["m\(number)"] = result }
        group.leave()
      }
    }
    group.wait()
    for (name, outcome) in outcomes.withLock({ $0 }) {
      let isMember = Int(name.dropFirst()).map { $0 % 2 == 0 } ?? false
      #expect((try? outcome.get()) == (isMember ? .stored : nil), "\(name)")
    }
    #expect(try engine.list(after: nil, limit: 100, as: member).entries.count == 20)
    // A stranger's deletion beside a member's.
    engine.delete("m0", as: stranger) { _ in }
    try engine.delete("m2", as: member)
    #expect(try engine.list(after: nil, limit: 100, as: member).entries.count == 19)
  }

  @Test("a challenge opens one session, which ends with its key")
  func sessions() throws {
    let challenge = try #require(HubChallenge(RandomBytes.next(32)))
    let store = engine.sessions
    let token = SHA256Hasher.digest(of: Array("\(vault)".utf8))
    #expect(try store.session(token) == nil)
    _ = try store.open(token, for: VaultMember(vault: vault, key: Self.newKey()), with: challenge)
    #expect(try store.session(token) == nil, "the key is not admitted")
    #expect(try store.open(token, for: member, with: challenge))
    #expect(try !store.open(SHA256Hasher.digest(of: [1]), for: member, with: challenge))
    let session = try #require(try store.session(token))
    #expect(session.member == member)
    #expect(try engine.isAdmitted(key, to: vault))
    #expect(try engine.changeKeys(removing: [key], admitting: [Self.newKey()], as: member)?.count == 1)
    #expect(try store.session(token) == nil)
    #expect(try !engine.isAdmitted(key, to: vault))
  }

  @Test("all hubs of a database make the same challenges")
  func challenges() throws {
    let second = try PostgresEngine(try PostgresServer.shared.get().address, quotaBytes: 1_000)
    defer { second.close() }
    let challenge = try engine.sessions.challengeKey().challenge(for: "hub", at: 1_000)
    #expect(try second.sessions.challengeKey().admits(challenge, for: "hub", at: 1_000))
  }

  @Test("a key has so many sessions, and the oldest ends")
  func manySessions() throws {
    func token(_ number: Int) -> Digest { SHA256Hasher.digest(of: Array("\(vault) \(number)".utf8)) }
    for number in 0...HubLimits.sessionsMax {
      let challenge = try #require(HubChallenge(RandomBytes.next(32)))
      #expect(try engine.sessions.open(token(number), for: member, with: challenge))
    }
    #expect(try engine.sessions.session(token(0)) == nil)
    #expect(try engine.sessions.session(token(1)) != nil)
    #expect(try engine.sessions.session(token(HubLimits.sessionsMax)) != nil)
  }

  @Test("a vault is created once, and an invitation makes one")
  func creating() throws {
    #expect(try engine.createVault(vault, keys: AdmittedKeys([Self.newKey()]), invitation: nil) == .exists)
    #expect(try engine.keys(of: vault)?.keys == [key])
    let word = "welcome \(UInt64.random(in: 0 ... .max))"
    #expect(try engine.createVault(Self.newVault(), keys: AdmittedKeys([key]), invitation: word) == .created)
    #expect(
      try engine.createVault(Self.newVault(), keys: AdmittedKeys([key]), invitation: word) == .invitationUsed)
  }

  @Test("a vault that does not exist takes nothing")
  func noVault() throws {
    try expectNothing(for: VaultMember(vault: Self.newVault(), key: key))
  }

  // MARK: - Parts

  private static func newVault() -> VaultID {
    var generator = SystemRandomNumberGenerator()
    return VaultID.random(using: &generator)
  }

  private static func newKey() -> PublicKey {
    var generator = SystemRandomNumberGenerator()
    return SigningKey(using: &generator).publicKey
  }
}

/// What the server must survive. It has one of its own.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresCrashTests {
  @Test("the database crashes: what was acknowledged is there, and the hub goes on")
  func crash() throws {
    let server = try PostgresServer()
    let engine = try PostgresEngine(server.address, quotaBytes: 1_000_000)
    defer { engine.close() }
    var generator = SystemRandomNumberGenerator()
    let vault = VaultID.random(using: &generator)
    let key = SigningKey(using: &generator).publicKey
    #expect(try engine.createVault(vault, keys: AdmittedKeys([key]), invitation: nil) == .created)
    let member = VaultMember(vault: vault, key: key)
    let acknowledged = Mutex<Set<String>>([])
    let group = DispatchGroup()
    for number in 0..<2_000 {
      group.enter()
      engine.put("\(number)", [1, 2, 3], as: member) { result in
        if case .success = result { _ = acknowledged.withLock { $0.insert("\(number)") } }
        group.leave()
      }
      if number == 1_000 { server.crash() }
    }
    group.wait()
    #expect(throws: HeartlogError.self) { try engine.check() }
    try server.start()
    try engine.check()
    var names: Set<String> = []
    var cursor: String?
    while true {
      let list = try engine.list(after: cursor, limit: 1_000, as: member)
      names.formUnion(list.entries.map(\.name))
      cursor = list.cursor
      if !list.hasMore { break }
    }
    #expect(acknowledged.withLock { $0 }.isSubset(of: names))
    #expect(try engine.put("after", [1], as: member) == .stored)
  }
}
