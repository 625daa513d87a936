import Foundation
import HeartlogFormat
import Testing

@testable import HeartlogHubServer

/// What the file promises.
@Suite struct SQLiteDatabaseTests {
  private let folder = TestFolder()
  private let member = VaultMember(vault: .new(), key: .new())

  /// Opens an engine that has the vault, and closes it.
  private func withEngine(_ body: (HubEngine) throws -> Void) throws {
    let engine = try HubEngine(SQLiteDatabase(at: folder.file))
    defer { engine.close() }
    _ = try engine.createVault(member.vault, keys: AdmittedKeys([member.key]), invitation: nil)
    try body(engine)
  }

  @Test("all of it is there after a restart, which no cursor survives")
  func restart() throws {
    let token = SHA256Hasher.digest(of: [1])
    var cursor: ChangeCursor?
    try withEngine { engine throws in
      #expect(try engine.write("a", [1, 2, 3], as: member) == .stored)
      #expect(try engine.write("b", [], as: member) == .stored)
      try engine.delete("b", as: member)
      #expect(try engine.openSession(token, for: member, with: #require(HubNonce(RandomBytes.next(32)))))
      cursor = try engine.list(after: nil, limit: 10, as: member).cursor
    }
    try withEngine { engine throws in
      #expect(try engine.get("a", as: member) == [1, 2, 3])
      #expect(try engine.session(token)?.member == member)
      // The file may be a copy from before.
      let again = try engine.list(after: cursor, limit: 10, as: member)
      #expect(again.startsOver && again.entries.map(\.name) == ["a"])
      // The number of what was deleted is not given again.
      let last = try #require(cursor?.number)
      #expect(again.cursor.number == last)
      #expect(try engine.write("c", [3], as: member) == .stored)
      let list = try engine.list(after: again.cursor, limit: 10, as: member)
      #expect(list.entries.map(\.name) == ["c"] && !list.startsOver)
      #expect(list.cursor.number == last + 1)
    }
  }

  @Test("one hub at a time has a file, which is nobody else's")
  func oneHub() throws {
    try withEngine { _ in
      let error = #expect(throws: HeartlogError.self) { try SQLiteDatabase(at: folder.file) }
      #expect(error?.code == .locked && error?.description.contains(folder.file) == true)
      for ending in ["", "-wal", "-shm", ".lock"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file + ending)
        #expect(attributes[.posixPermissions] as? Int == 0o600, "\(ending)")
      }
    }
    try withEngine { engine throws in #expect(try engine.vaultCount() == 1) }
  }

  @Test("a damaged file is named", arguments: [0, 4_096])
  func damage(offset: Int) throws {
    try withEngine { engine throws in
      for number in 1...100 {
        #expect(try engine.write("\(number)", [UInt8](repeating: 1, count: 900), as: member) == .stored)
      }
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.file))
    let size = Int(try file.seekToEnd())
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(repeating: 0x5A, count: size - offset))
    try file.close()
    let error = #expect(throws: HeartlogError.self) { try withEngine { _ in } }
    #expect(error?.code == .corrupt && error?.description.contains(folder.file) == true)
  }

  @Test("a copy has what is committed, also beside a writer, and is a hub's file")
  func copy() throws {
    let copy = folder.file + ".copy"
    let database = try SQLiteDatabase(at: folder.file)
    let engine = try HubEngine(database)
    _ = try engine.createVault(member.vault, keys: AdmittedKeys([member.key]), invitation: nil)
    #expect(try engine.write("a", [1], as: member) == .stored)
    try database.write { connection in
      _ = try connection.run("delete from objects")
      try SQLiteDatabase.copy(folder.file, to: copy)
    }
    #expect(try engine.names(as: member) == [])
    let error = #expect(throws: HeartlogError.self) { try SQLiteDatabase.copy(folder.file, to: copy) }
    #expect(error?.code == .exists)
    engine.close()
    let restored = try HubEngine(SQLiteDatabase(at: copy))
    defer { restored.close() }
    #expect(try restored.get("a", as: member) == [1])
  }

  @Test("a file of a newer hub is refused")
  func newer() throws {
    try withEngine { _ in }
    let database = try SQLiteDatabase(at: folder.file)
    try database.write { connection in
      _ = try connection.run("update hub set version = 99")
    }
    let error = #expect(throws: HeartlogError.self) { try HubSchema.migrate(database) }
    #expect(error?.code == .newerFormat)
    database.close()
  }

  @Test("what waits for a transaction is committed together")
  func groupCommit() throws {
    let database = RecordingDatabase(try SQLiteDatabase(at: folder.file))
    let engine = try HubEngine(database)
    defer { engine.close() }
    _ = try engine.createVault(member.vault, keys: AdmittedKeys([member.key]), invitation: nil)
    let before = database.transactions
    let results = Results<PutOutcome>()
    database.gate.withLock { _ in
      for number in 0..<200 { engine.write("\(number)", [1], as: member) { results.add($0) } }
    }
    let outcomes = results.wait(for: 200).map { try? $0.get() }
    #expect(outcomes == [PutOutcome?](repeating: .stored, count: 200))
    // What came first may have begun alone.
    #expect((1...2).contains(database.transactions - before))
  }

  @Test("no statement reads a whole table, but for that which counts the vaults")
  func plans() throws {
    let database = RecordingDatabase(try SQLiteDatabase(at: folder.file))
    let engine = try HubEngine(database)
    defer { engine.close() }
    let vault = try TestVault(deviceCount: 2)
    let (member, nonce) = (vault.member(0), try #require(HubNonce(RandomBytes.next(32))))
    _ = try engine.createVault(vault.id, keys: vault.keys, invitation: "word")
    _ = try engine.openSession(SHA256Hasher.digest(of: []), for: member, with: nonce)
    _ = try engine.session(SHA256Hasher.digest(of: []))
    for number in 1...2 { _ = try engine.write(vault.run(1, number...number), [1], as: vault.member(1)) }
    _ = try engine.write(vault.run(1, 1...1), [1], as: vault.member(1))
    try engine.delete(vault.run(1, 1...1), as: member)
    _ = try engine.list(after: nil, limit: 1, as: member)
    _ = try engine.get(vault.run(1, 2...2), as: member)
    let rotation = try KeyObject.epoch(vault.rotation(without: [vault.removal(1)]).epoch)
    _ = try engine.changeKeys(as: member) { $0.following(rotation) }
    #expect(try engine.names(as: member).isEmpty && engine.vaultCount() == 1 && engine.removeVault(vault.id))
    #expect(database.statements.count > 20)
    for statement in database.statements where !statement.text.contains("count(*) from vaults") {
      let plan = try database.read { connection in
        try connection.run("explain query plan " + statement.expanded)
      }
      for step in plan {
        let text = try step[3].text()
        let words = text.split(separator: " ")
        let isScan =
          words[0] == "SCAN"
          && ["vaults", "members", "objects", "sessions", "v", "m", "o"].contains(words[1])
        #expect(!isScan, "\(text): \(statement.text)")
      }
    }
  }

  @Test("a transaction that fails leaves nothing, and the next one succeeds")
  func failure() throws {
    let database = RecordingDatabase(try SQLiteDatabase(at: folder.file))
    let engine = try HubEngine(database)
    defer { engine.close() }
    _ = try engine.createVault(member.vault, keys: AdmittedKeys([member.key]), invitation: nil)
    database.failNext(HeartlogError(.diskFull, "no room"))
    let error = #expect(throws: HeartlogError.self) { try engine.write("a", [1], as: member) }
    #expect(error?.code == .diskFull)
    #expect(try engine.names(as: member).isEmpty)
    #expect(try engine.write("a", [2], as: member) == .stored)
    #expect(try engine.get("a", as: member) == [2])
  }
}
