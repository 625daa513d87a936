import Foundation
import HeartlogFormat
import Synchronization
import Testing

@testable import HeartlogHubServer

/// What the engine promises, with each database.
@Suite struct HubEngineTests {
  @Test(
    "objects are listed by the numbers of their changes, from a cursor on", arguments: TestDatabase.present)
  func listing(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, member) = (hub.engine, hub.member)
    #expect(try engine.write("a", [1, 2], as: member) == .stored)
    #expect(try engine.write("b", [3], as: member) == .stored)
    let all = try engine.list(after: nil, limit: 10, as: member)
    #expect(all.entries.map(\.name) == ["a", "b"])
    #expect(all.entries.map(\.byteCount) == [2, 1])
    #expect(!all.startsOver && !all.hasMore)
    #expect(try engine.write("c", [], as: member) == .stored)
    let rest = try engine.list(after: all.cursor, limit: 10, as: member)
    #expect(rest.entries.map(\.name) == ["c"])
    #expect(!rest.startsOver)
    let page = try engine.list(after: nil, limit: 2, as: member)
    #expect(page.hasMore && page.cursor == all.cursor)
    let end = try engine.list(after: rest.cursor, limit: 2, as: member)
    #expect(end.entries.isEmpty && end.cursor == rest.cursor && !end.hasMore)
  }

  @Test(
    "a list starts over at a cursor of another generation, or of a change that there was not",
    arguments: TestDatabase.present)
  func startingOver(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, member) = (hub.engine, hub.member)
    #expect(try engine.write("a", [1], as: member) == .stored)
    let cursor = try engine.list(after: nil, limit: 10, as: member).cursor
    for other in [
      ChangeCursor(generation: cursor.generation, number: 2), ChangeCursor(generation: 0, number: 1),
    ] {
      let list = try engine.list(after: other, limit: 10, as: member)
      #expect(list.startsOver && list.entries.map(\.name) == ["a"], "\(other)")
    }
  }

  @Test(
    "an object is stored once: the same bytes are accepted, others are not", arguments: TestDatabase.present)
  func putting(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, member) = (hub.engine, hub.member)
    #expect(try engine.write("a", [1], as: member) == .stored)
    #expect(try engine.write("a", [1], as: member) == .same)
    #expect(try engine.write("a", [2], as: member) == .different)
    let tooMany = HeartlogError(.diskFull, "")
    #expect(try engine.get("a", as: member) { if $0 != 1 { throw tooMany } } == [1])
    #expect(throws: HeartlogError.self) { try engine.get("a", as: member) { _ in throw tooMany } }
    #expect(try engine.get("b", as: member) == nil)
    #expect(try engine.list(after: nil, limit: 10, as: member).entries.count == 1)
  }

  @Test(
    "many callers put at once, equal names among them: each is stored once, in rising numbers",
    arguments: TestDatabase.present)
  func batches(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, key, member) = (hub.engine, hub.key, hub.member)
    let other = VaultID.new()
    #expect(try engine.createVault(other, keys: AdmittedKeys([key]), invitation: nil))
    let outcomes = Mutex<[PutOutcome]>([])
    let group = DispatchGroup()
    let second = VaultMember(vault: other, key: key)
    for number in 0..<300 {
      group.enter()
      engine.write("n\(number % 100)", [UInt8(number % 100)], as: number % 2 == 0 ? member : second) {
        result in
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
      #expect(
        try engine.names(as: member, limit: 7).sorted()
          == (0..<100).filter { $0 % 2 == remainder }.map { "n\($0)" }.sorted())
    }
  }

  @Test("the quota counts what is stored, and deletions give it back", arguments: TestDatabase.present)
  func quota(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, member) = (hub.engine, hub.member)
    #expect(try engine.write("a", [UInt8](repeating: 1, count: 600), as: member) == .stored)
    #expect(try engine.write("b", [UInt8](repeating: 1, count: 401), as: member) == .full)
    #expect(try engine.write("b", [UInt8](repeating: 1, count: 400), as: member) == .stored)
    try engine.delete("a", as: member)
    try engine.delete("a", as: member)
    #expect(try engine.get("a", as: member) == nil)
    #expect(try engine.write("c", [UInt8](repeating: 1, count: 600), as: member) == .stored)
    #expect(try engine.list(after: nil, limit: 9, as: member).entries.map(\.name) == ["b", "c"])
  }

  @Test(
    "keys are changed in one transaction: removed, then admitted, and one stays",
    arguments: TestDatabase.present)
  func keys(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, vault, key, member) = (hub.engine, hub.vault, hub.key, hub.member)
    let other = PublicKey.new()
    #expect(try engine.keys(of: .new()) == nil)
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
    try expectNothing(for: member, engine)
  }

  /// Nothing is done for whoever is no member.
  private func expectNothing(for member: VaultMember, _ engine: HubEngine) throws {
    let calls: [() throws -> Void] = [
      { _ = try engine.write("x", [1], as: member) },
      { _ = try engine.get("x", as: member) },
      { try engine.delete("x", as: member) },
      { _ = try engine.list(after: nil, limit: 1, as: member) },
    ]
    for (number, call) in calls.enumerated() {
      let error = #expect(throws: HeartlogError.self) { try call() }
      #expect(error?.code == .notAdmitted, "call \(number)")
    }
  }

  @Test(
    "one batch has calls of members and of others: only those of members are done",
    arguments: TestDatabase.present)
  func mixedBatch(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, vault, member) = (hub.engine, hub.vault, hub.member)
    let outcomes = Mutex<[String: Result<PutOutcome, any Error>]>([:])
    let stranger = VaultMember(vault: vault, key: .new())
    let group = DispatchGroup()
    for number in 0..<40 {
      group.enter()
      engine.write("m\(number)", [1], as: number % 2 == 0 ? member : stranger) { result in
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
    engine.write("m0", nil, as: stranger) { _ in }
    try engine.delete("m2", as: member)
    #expect(try engine.list(after: nil, limit: 100, as: member).entries.count == 19)
  }

  @Test("a nonce opens one session, which ends with its key", arguments: TestDatabase.present)
  func sessions(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, vault, key, member) = (hub.engine, hub.vault, hub.key, hub.member)
    let nonce = try #require(HubNonce(RandomBytes.next(32)))
    let token = SHA256Hasher.digest(of: Array("\(vault)".utf8))
    #expect(try engine.session(token) == nil)
    let stranger = VaultMember(vault: vault, key: .new())
    let error = #expect(throws: HeartlogError.self) {
      try engine.openSession(token, for: stranger, with: nonce)
    }
    #expect(try error?.code == .notAdmitted && engine.session(token) == nil)
    #expect(try engine.openSession(token, for: member, with: nonce))
    #expect(try !engine.openSession(SHA256Hasher.digest(of: [1]), for: member, with: nonce))
    let session = try #require(try engine.session(token))
    #expect(session.member == member)
    #expect(try engine.isAdmitted(VaultMember(vault: vault, key: key)))
    #expect(try engine.changeKeys(removing: [key], admitting: [.new()], as: member)?.count == 1)
    #expect(try engine.session(token) == nil)
    #expect(try !engine.isAdmitted(VaultMember(vault: vault, key: key)))
  }

  @Test("a key has so many sessions, and the oldest ends", arguments: TestDatabase.present)
  func manySessions(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, vault, member) = (hub.engine, hub.vault, hub.member)
    func token(_ number: Int) -> Digest { SHA256Hasher.digest(of: Array("\(vault) \(number)".utf8)) }
    for number in 0...HubLimits.sessionsMax {
      let nonce = try #require(HubNonce(RandomBytes.next(32)))
      #expect(try engine.openSession(token(number), for: member, with: nonce))
    }
    #expect(try engine.session(token(0)) == nil)
    #expect(try engine.session(token(1)) != nil)
    #expect(try engine.session(token(HubLimits.sessionsMax)) != nil)
  }

  @Test("a vault is created once, and an invitation makes one", arguments: TestDatabase.present)
  func creating(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, vault, key) = (hub.engine, hub.vault, hub.key)
    #expect(try !engine.createVault(vault, keys: AdmittedKeys([.new()]), invitation: nil))
    #expect(try engine.keys(of: vault)?.keys == [key])
    let word = "welcome \(UInt64.random(in: 0 ... .max))"
    #expect(try engine.createVault(.new(), keys: AdmittedKeys([key]), invitation: word))
    #expect(try !engine.createVault(.new(), keys: AdmittedKeys([key]), invitation: word))
  }

  @Test("a vault that does not exist takes nothing", arguments: TestDatabase.present)
  func noVault(database: TestDatabase) throws {
    let hub = try TestHub(database)
    defer { hub.close() }
    let (engine, key) = (hub.engine, hub.key)
    try expectNothing(for: VaultMember(vault: .new(), key: key), engine)
  }
}
