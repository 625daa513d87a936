import Foundation
import Heartlog
import HeartlogHub
import HeartlogProofs
import Synchronization
import Testing

@testable import HeartlogHubServer

@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresEngineTests {
  /// One server for all tests: each has vaults of its own.
  private static let server = Result { try PostgresServer() }

  private let engine: PostgresEngine
  private let vault = Self.newVault()
  private let key = Self.newKey()

  init() throws {
    engine = try PostgresEngine(try Self.server.get().address, quotaBytes: 1_000)
    #expect(try engine.createVault(vault, key: key, invitation: nil) == .created)
  }

  @Test("objects are listed by the numbers of their changes, from a cursor on")
  func listing() throws {
    #expect(try engine.put("a", [1, 2], to: vault) == .stored)
    #expect(try engine.put("b", [3], to: vault) == .stored)
    let all = try engine.list(vault, after: nil, limit: 10)
    #expect(all.entries.map(\.name) == ["a", "b"])
    #expect(all.entries.map(\.byteCount) == [2, 1])
    #expect(!all.startsOver && !all.hasMore)
    #expect(try engine.put("c", [], to: vault) == .stored)
    let rest = try engine.list(vault, after: all.cursor, limit: 10)
    #expect(rest.entries.map(\.name) == ["c"])
    #expect(!rest.startsOver)
    let page = try engine.list(vault, after: nil, limit: 2)
    #expect(page.hasMore && page.cursor == all.cursor)
    let end = try engine.list(vault, after: rest.cursor, limit: 2)
    #expect(end.entries.isEmpty && end.cursor == rest.cursor && !end.hasMore)
  }

  @Test("a list starts over at a cursor of another generation, or of a change that there was not")
  func startingOver() throws {
    #expect(try engine.put("a", [1], to: vault) == .stored)
    let cursor = try engine.list(vault, after: nil, limit: 10).cursor
    let generation = cursor.prefix(16)
    for other in ["\(generation)-2", "0000000000000000-1"] {
      let list = try engine.list(vault, after: other, limit: 10)
      #expect(list.startsOver && list.entries.map(\.name) == ["a"], "\(other)")
    }
    for other in ["x", "\(generation)-", "", "\(generation)-01"] {
      #expect(throws: HeartlogError.self) { try engine.list(vault, after: other, limit: 10) }
    }
  }

  @Test("an object is stored once: the same bytes are accepted, others are not")
  func putting() throws {
    #expect(try engine.put("a", [1], to: vault) == .stored)
    #expect(try engine.put("a", [1], to: vault) == .same)
    #expect(try engine.put("a", [2], to: vault) == .different)
    #expect(try engine.get("a", of: vault) { $0 == 1 } == .bytes([1]))
    #expect(try engine.get("a", of: vault) { _ in false } == .refused)
    #expect(try engine.get("b", of: vault) { _ in true } == .missing)
    #expect(try engine.list(vault, after: nil, limit: 10).entries.count == 1)
  }

  @Test("many callers put at once, equal names among them: each is stored once, in rising numbers")
  func batches() throws {
    let other = Self.newVault()
    #expect(try engine.createVault(other, key: key, invitation: nil) == .created)
    let outcomes = Mutex<[PutOutcome]>([])
    let group = DispatchGroup()
    for number in 0..<300 {
      group.enter()
      engine.put("n\(number % 100)", [UInt8(number % 100)], to: number % 2 == 0 ? vault : other) { result in
        if case .success(let outcome) = result { outcomes.withLock { $0.append(outcome) } }
        group.leave()
      }
    }
    group.wait()
    let all = outcomes.withLock { $0 }
    #expect(all.filter { $0 == .stored }.count == 100)
    #expect(all.filter { $0 == .same }.count == 200)
    let lists = try [vault, other].map { try engine.list($0, after: nil, limit: 1_000) }
    #expect(lists.map(\.entries.count) == [50, 50])
    #expect(lists.allSatisfy { $0.cursor.hasSuffix("-50") })
  }

  @Test("two hubs put to one vault at once, and miss nothing of each other")
  func twoHubs() throws {
    let second = try PostgresEngine(try Self.server.get().address, quotaBytes: 1_000)
    defer { second.close() }
    let told = DispatchSemaphore(value: 0)
    let vault = vault
    second.observe { if $0 == vault { told.signal() } }
    // Until it listens, notices pass it by.
    var isTold = false
    for number in 0..<100 where !isTold {
      #expect(try engine.put("w\(number)", [], to: vault) == .stored)
      isTold = told.wait(timeout: .now() + 0.2) == .success
    }
    #expect(isTold)
    let group = DispatchGroup()
    let failures = Mutex<[String]>([])
    for number in 0..<200 {
      for (hub, engine) in [engine, second].enumerated() {
        group.enter()
        engine.put("\(number)", [UInt8(hub)], to: vault) { result in
          if case .failure(let error) = result { failures.withLock { $0.append(error.description) } }
          group.leave()
        }
      }
    }
    group.wait()
    #expect(failures.withLock { $0 } == [])
    let names = try second.list(vault, after: nil, limit: 1_000).entries.map(\.name)
    #expect(names.filter { !$0.hasPrefix("w") }.sorted() == (0..<200).map(String.init).sorted())
  }

  @Test("the quota counts what is stored, and deletions give it back")
  func quota() throws {
    #expect(try engine.put("a", [UInt8](repeating: 1, count: 600), to: vault) == .stored)
    #expect(try engine.put("b", [UInt8](repeating: 1, count: 401), to: vault) == .full)
    #expect(try engine.put("b", [UInt8](repeating: 1, count: 400), to: vault) == .stored)
    try engine.delete("a", of: vault)
    try engine.delete("a", of: vault)
    #expect(try engine.get("a", of: vault) { _ in true } == .missing)
    #expect(try engine.put("c", [UInt8](repeating: 1, count: 600), to: vault) == .stored)
    #expect(try engine.list(vault, after: nil, limit: 9).entries.map(\.name) == ["b", "c"])
  }

  @Test("keys are changed in one transaction: removed, then admitted, and one stays")
  func keys() throws {
    let other = Self.newKey()
    #expect(try engine.keys(of: Self.newVault()) == nil)
    #expect(try engine.keys(of: vault) == [key])
    #expect(try engine.changeKeys(of: vault, removing: [key], admitting: []) == nil)
    #expect(try engine.keys(of: vault) == [key])
    #expect(
      Set(try engine.changeKeys(of: vault, removing: [], admitting: [other, key]) ?? []) == [key, other])
    #expect(try engine.changeKeys(of: vault, removing: [key], admitting: []) == [other])
    #expect(try engine.changeKeys(of: Self.newVault(), removing: [], admitting: [key]) == nil)
  }

  @Test("a challenge is good once, and a session ends with its key")
  func sessions() throws {
    let challenge = try #require(HubChallenge(Array(repeating: 7, count: 32)))
    let store = engine.sessions
    #expect(try store.add(challenge))
    #expect(try store.take(challenge))
    #expect(try !store.take(challenge))
    let token = SHA256Hasher.digest(of: Array("\(vault)".utf8))
    #expect(try store.session(token) == nil)
    try store.open(token, vault: vault, key: Self.newKey())
    #expect(try store.session(token) == nil, "the key is not admitted")
    try store.open(token, vault: vault, key: key)
    let session = try #require(try store.session(token))
    #expect(session.vault == vault && session.key == key)
    #expect(try engine.isAdmitted(key, to: vault))
    #expect(try engine.changeKeys(of: vault, removing: [key], admitting: [Self.newKey()])?.count == 1)
    #expect(try store.session(token) == nil)
    #expect(try !engine.isAdmitted(key, to: vault))
  }

  @Test("a vault is created once, and an invitation makes one")
  func creating() throws {
    #expect(try engine.createVault(vault, key: Self.newKey(), invitation: nil) == .exists)
    #expect(try engine.keys(of: vault) == [key])
    let word = "welcome \(UInt64.random(in: 0 ... .max))"
    #expect(try engine.createVault(Self.newVault(), key: key, invitation: word) == .created)
    #expect(try engine.createVault(Self.newVault(), key: key, invitation: word) == .invitationUsed)
  }

  @Test("a vault that does not exist takes nothing")
  func noVault() throws {
    let other = Self.newVault()
    #expect(throws: HeartlogError.self) { try engine.put("a", [1], to: other) }
    #expect(throws: HeartlogError.self) { try engine.list(other, after: nil, limit: 1) }
    #expect(try engine.get("a", of: other) { _ in true } == .missing)
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
    #expect(try engine.createVault(vault, key: key, invitation: nil) == .created)
    let acknowledged = Mutex<Set<String>>([])
    let group = DispatchGroup()
    for number in 0..<2_000 {
      group.enter()
      engine.put("\(number)", [1, 2, 3], to: vault) { result in
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
      let list = try engine.list(vault, after: cursor, limit: 1_000)
      names.formUnion(list.entries.map(\.name))
      cursor = list.cursor
      if !list.hasMore { break }
    }
    #expect(acknowledged.withLock { $0 }.isSubset(of: names))
    #expect(try engine.put("after", [1], to: vault) == .stored)
  }
}
