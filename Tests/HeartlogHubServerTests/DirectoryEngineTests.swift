import HeartlogCrashModel
import Heartlog
import HeartlogHub
import HeartlogFiles
import HeartlogFormat
import Testing

@testable import HeartlogHubServer

@Suite struct DirectoryEngineTests {
  private static let vault = VaultID(String(repeating: "0", count: 31) + "1")!
  private static let otherVault = VaultID(String(repeating: "0", count: 31) + "2")!

  private static func key(_ number: UInt16) -> PublicKey {
    PublicKey(bytes: SHA256Hasher.digest(of: [UInt8(number >> 8), UInt8(number & 255)]).bytes)!
  }

  private static let member = VaultMember(vault: vault, key: key(1))

  private static func name(_ number: Int) -> String { "a/b/\(number).run" }

  private func engine(
    _ files: MemoryFileSystem, _ limits: DirectoryEngine.Limits = .init()
  ) throws -> DirectoryEngine {
    try DirectoryEngine(at: "/hub", limits: limits, files: files)
  }

  /// Opens an engine that has the vault, and closes it.
  private func withEngine(
    _ files: MemoryFileSystem = MemoryFileSystem(), _ limits: DirectoryEngine.Limits = .init(),
    _ body: (DirectoryEngine) throws -> Void
  ) throws {
    let engine = try engine(files, limits)
    _ = try engine.createVault(Self.vault, keys: AdmittedKeys([Self.key(1)]), invitation: nil)
    do { try body(engine) } catch {
      try engine.close()
      throw error
    }
    try engine.close()
  }

  private func bytes(_ name: String, _ engine: DirectoryEngine) throws -> [UInt8]? {
    guard case .bytes(let bytes) = try engine.get(name, as: Self.member, admits: { _ in true }) else {
      return nil
    }
    return bytes
  }

  @Test func putsAreListedAndKeptOverARestart() throws {
    let files = MemoryFileSystem()
    var cursor = ""
    try withEngine(files) { engine throws in
      #expect(try engine.put(Self.name(1), [1, 2, 3], as: Self.member) == .stored)
      #expect(try engine.put(Self.name(1), [1, 2, 3], as: Self.member) == .same)
      #expect(try engine.put(Self.name(1), [1, 2, 4], as: Self.member) == .different)
      #expect(try engine.put(Self.name(1), [1, 2], as: Self.member) == .different)
      #expect(try engine.put(Self.name(2), [], as: Self.member) == .stored)
      let list = try engine.list(after: nil, limit: 1, as: Self.member)
      #expect(list.entries == [HubList.Entry(name: Self.name(1), byteCount: 3)])
      #expect(list.hasMore && !list.startsOver)
      let rest = try engine.list(after: list.cursor, limit: 1, as: Self.member)
      #expect(rest.entries == [HubList.Entry(name: Self.name(2), byteCount: 0)] && !rest.hasMore)
      #expect(rest.cursor == list.head)
      try engine.delete(Self.name(2), as: Self.member)
      try engine.delete(Self.name(2), as: Self.member)
      cursor = rest.cursor
    }
    try withEngine(files) { engine throws in
      #expect(try bytes(Self.name(1), engine) == [1, 2, 3])
      #expect(try bytes(Self.name(2), engine) == nil)
      // The directory may be a copy from before.
      let anew = try engine.list(after: cursor, limit: 10, as: Self.member)
      #expect(anew.startsOver && anew.entries.map(\.name) == [Self.name(1)])
      // The number of what was deleted is not given again.
      let last = try #require(ChangeCursor(cursor)?.number)
      #expect(ChangeCursor(anew.cursor)?.number == last)
      #expect(try engine.put(Self.name(3), [3], as: Self.member) == .stored)
      let list = try engine.list(after: anew.cursor, limit: 10, as: Self.member)
      #expect(list.entries.map(\.name) == [Self.name(3)] && !list.startsOver)
      #expect(ChangeCursor(list.cursor)?.number == last + 1)
    }
  }

  @Test func anUnknownCursorStartsOver() throws {
    try withEngine { engine throws in
      _ = try engine.put(Self.name(1), [1], as: Self.member)
      let cursor = try #require(ChangeCursor(try engine.list(after: nil, limit: 1, as: Self.member).cursor))
      for cursor in [
        ChangeCursor(generation: cursor.generation &+ 1, number: 1),
        ChangeCursor(generation: cursor.generation, number: 2),
      ] {
        let list = try engine.list(after: cursor.description, limit: 1, as: Self.member)
        #expect(list.startsOver && list.entries.count == 1)
      }
      #expect(throws: HeartlogError.self) { try engine.list(after: "1", limit: 1, as: Self.member) }
    }
  }

  @Test func keysComeAndGoInOneChange() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { engine throws in
      #expect(
        try engine.createVault(Self.vault, keys: AdmittedKeys([Self.key(2)]), invitation: nil) == .exists)
      let keys = try engine.changeKeys(
        removing: [Self.key(1)], admitting: [Self.key(2), Self.key(3)], as: Self.member)
      #expect(Set(keys ?? []) == [Self.key(2), Self.key(3)])
      let second = VaultMember(vault: Self.vault, key: Self.key(2))
      #expect(
        try engine.changeKeys(removing: [Self.key(2), Self.key(3)], admitting: [], as: second) == nil)
      let many = (10..<1_034).map { Self.key($0) }
      #expect(try engine.changeKeys(removing: [], admitting: many, as: second) == nil)
    }
    try withEngine(files) { engine throws in
      #expect(
        engine.isAdmitted(Self.key(3), to: Self.vault) && !engine.isAdmitted(Self.key(1), to: Self.vault))
      #expect(engine.keys(of: Self.vault)?.keys.count == 2)
      #expect(engine.keys(of: Self.otherVault) == nil)
    }
  }

  @Test func nothingIsDoneForWhoIsNoMember() throws {
    try withEngine { engine throws in
      _ = try engine.put(Self.name(1), [1], as: Self.member)
      for stranger in [
        VaultMember(vault: Self.vault, key: Self.key(2)),
        VaultMember(vault: Self.otherVault, key: Self.key(1)),
      ] {
        let calls: [() throws -> Void] = [
          { _ = try engine.put(Self.name(1), [1], as: stranger) },
          { _ = try engine.get(Self.name(1), as: stranger) { _ in true } },
          { try engine.delete(Self.name(1), as: stranger) },
          { _ = try engine.list(after: nil, limit: 1, as: stranger) },
          { _ = try engine.changeKeys(removing: [], admitting: [Self.key(2)], as: stranger) },
        ]
        for (number, call) in calls.enumerated() {
          let error = #expect(throws: HeartlogError.self) { try call() }
          #expect(error?.code == .notAdmitted, "call \(number)")
        }
      }
      #expect(try bytes(Self.name(1), engine) == [1])
      #expect(engine.keys(of: Self.vault)?.keys == [Self.key(1)])
    }
  }

  @Test func aRemovedKeyHasNoSessions() throws {
    try withEngine { engine throws in
      _ = try engine.changeKeys(removing: [], admitting: [Self.key(2)], as: Self.member)
      let token = SHA256Hasher.digest(of: [1])
      let challenge = try #require(HubChallenge([UInt8](repeating: 7, count: 32)))
      let second = VaultMember(vault: Self.vault, key: Self.key(2))
      #expect(try engine.sessions.open(token, for: second, with: challenge))
      #expect(try engine.sessions.session(token) != nil)
      _ = try engine.changeKeys(removing: [Self.key(2)], admitting: [Self.key(2)], as: Self.member)
      #expect(try engine.sessions.session(token) == nil)
    }
  }

  @Test func anInvitationIsForOneVault() throws {
    let files = MemoryFileSystem()
    let (second, third) = (Self.otherVault, VaultID(String(repeating: "3", count: 32))!)
    try withEngine(files) { engine throws in
      #expect(
        try engine.createVault(second, keys: AdmittedKeys([Self.key(2)]), invitation: "word") == .created)
      #expect(
        try engine.createVault(third, keys: AdmittedKeys([Self.key(2)]), invitation: "word")
          == .invitationUsed)
    }
    try withEngine(files) { engine throws in
      #expect(
        try engine.createVault(third, keys: AdmittedKeys([Self.key(2)]), invitation: "word")
          == .invitationUsed)
      #expect(engine.vaultCount() == 2)
    }
  }

  @Test func quotasAreOfBytesAndObjects() throws {
    var limits = DirectoryEngine.Limits()
    limits.vaultBytesMax = 10
    limits.objectsMax = 3
    try withEngine(MemoryFileSystem(), limits) { engine throws in
      #expect(try engine.put(Self.name(1), [UInt8](repeating: 1, count: 10), as: Self.member) == .stored)
      #expect(try engine.put(Self.name(2), [1], as: Self.member) == .full)
      #expect(try engine.put(Self.name(2), [], as: Self.member) == .stored)
      #expect(try engine.put(Self.name(3), [], as: Self.member) == .stored)
      #expect(try engine.put(Self.name(4), [], as: Self.member) == .full)
      try engine.delete(Self.name(1), as: Self.member)
      #expect(try engine.put(Self.name(4), [1], as: Self.member) == .stored)
    }
  }

  @Test func aDirectoryHasOneProcess() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { _ in
      let error = #expect(throws: HeartlogError.self) { try engine(files) }
      #expect(error?.code == .locked)
    }
  }

  @Test func aTornTailIsCutAtEveryByte() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { engine throws in _ = try engine.put(Self.name(1), [1, 2, 3], as: Self.member) }
    let path = "/hub/objects-1.log"
    let whole = Int(try files.open(path, .read).size())
    try withEngine(files) { engine throws in _ = try engine.put(Self.name(2), [4, 5, 6], as: Self.member) }
    let all = try files.open(path, .read).bytes(1 << 20, at: 0)
    for count in whole..<all.count {
      let torn = MemoryFileSystem()
      try torn.createDirectory("/hub")
      try torn.open(path, .createNew).write(Array(all[..<count]), at: 0)
      try withEngine(torn) { engine throws in
        #expect(try bytes(Self.name(1), engine) == [1, 2, 3])
        #expect(try bytes(Self.name(2), engine) == nil)
        #expect(try engine.put(Self.name(2), [7], as: Self.member) == .stored)
      }
      try withEngine(torn) { engine throws in #expect(try bytes(Self.name(2), engine) == [7]) }
    }
  }

  @Test func damageIsNamedAndNothingStarts() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { engine throws in
      for number in 1...3 { _ = try engine.put(Self.name(number), [1, 2, 3], as: Self.member) }
    }
    let path = "/hub/objects-1.log"
    let all = try files.open(path, .read).bytes(1 << 20, at: 0)
    let last = LogFrame.headerBytes + 4 + 1 + 16 + 8 + 16 + 1 + Self.name(3).utf8.count + 3
    for place in 0..<all.count - last {
      var bytes = all
      bytes[place] ^= 0x40
      let damaged = MemoryFileSystem()
      try damaged.createDirectory("/hub")
      try damaged.open(path, .createNew).write(bytes, at: 0)
      let error = #expect(throws: HeartlogError.self, "at \(place)") { try engine(damaged) }
      #expect(error?.code == .corrupt && error?.file == path)
    }
  }

  @Test func whatWasAcknowledgedSurvivesEveryCrash() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { _ in }
    files.startJournal()
    var acknowledged: [(crashPoint: Int, name: String)] = []
    try withEngine(files) { engine throws in
      for number in 1...4 {
        #expect(
          try engine.put(Self.name(number), [UInt8](repeating: 7, count: 700), as: Self.member) == .stored)
        acknowledged.append((files.crashPoints, Self.name(number)))
      }
    }
    for point in 0...files.crashPoints {
      for disk in files.crashStates(after: point, sectorBytes: 512, limit: 20, seed: UInt64(point)) {
        try withEngine(disk) { engine throws in
          for (crashPoint, name) in acknowledged where crashPoint <= point {
            #expect(try bytes(name, engine) == [UInt8](repeating: 7, count: 700), "\(name) after \(point)")
          }
        }
      }
    }
  }

  @Test func jobsThatWaitAreWrittenTogether() throws {
    let files = MemoryFileSystem()
    try withEngine(files) { engine throws in
      let outcomes = Outcomes()
      let (entered, gate) = (Waiter<Void>(), Waiter<Void>())
      // The writing thread waits in the first answer until all others are in the queue.
      engine.put(Self.name(0), [1], as: Self.member) { result in
        files.startJournal()
        outcomes.add(result)
        entered.set(.success(()))
        try? gate.wait()
      }
      try entered.wait()
      for number in 1..<499 {
        engine.put(Self.name(number), [1], as: Self.member) { outcomes.add($0) }
      }
      let last = Waiter<Void>()
      engine.put(Self.name(499), [1], as: Self.member) { result in
        outcomes.add(result)
        last.set(.success(()))
      }
      gate.set(.success(()))
      try last.wait()
      #expect(outcomes.stored == 500)
      // One write and one sync.
      #expect(files.crashPoints == 2)
    }
  }

  @Test func ofTwoPutsOfANameOneIsStored() throws {
    try withEngine { engine throws in
      let outcomes = Outcomes()
      for byte in 0..<10 as Range<UInt8> {
        engine.put(Self.name(1), [byte], as: Self.member) { outcomes.add($0) }
      }
      try engine.delete("a/b/none", as: Self.member)
      #expect(outcomes.stored == 1)
      #expect(try bytes(Self.name(1), engine) == [0])
    }
  }

  @Test func closedFilesAreWrittenAnew() throws {
    let files = MemoryFileSystem()
    var limits = DirectoryEngine.Limits()
    limits.fileBytesMax = 4_096
    let body = [UInt8](repeating: 9, count: 900)
    try withEngine(files, limits) { engine throws in
      for number in 1...12 { _ = try engine.put(Self.name(number), body, as: Self.member) }
      let before = try files.open("/hub/objects-1.log", .read).size()
      for number in 1...3 { try engine.delete(Self.name(number), as: Self.member) }
      _ = try engine.put(Self.name(13), body, as: Self.member)
      _ = try engine.put(Self.name(14), body, as: Self.member)
      #expect(try files.open("/hub/objects-1.log", .read).size() < before)
      for number in 4...14 { #expect(try bytes(Self.name(number), engine) == body) }
    }
    try withEngine(files, limits) { engine throws in
      for number in 1...3 { #expect(try bytes(Self.name(number), engine) == nil) }
      for number in 4...14 { #expect(try bytes(Self.name(number), engine) == body) }
      #expect(try engine.list(after: nil, limit: 100, as: Self.member).entries.count == 11)
    }
  }
}

/// Outcomes of puts. Unchecked: guarded by `condition`.
private final class Outcomes: @unchecked Sendable {
  private let condition = Condition()
  private var outcomes: [PutOutcome] = []

  func add(_ result: Result<PutOutcome, HeartlogError>) {
    guard case .success(let outcome) = result else { return }
    condition.withLock { outcomes.append(outcome) }
  }

  var stored: Int { condition.withLock { outcomes.filter { $0 == .stored }.count } }
}
