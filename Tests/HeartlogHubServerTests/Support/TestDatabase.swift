import Foundation
import HeartlogFormat
import Testing

@testable import HeartlogHubServer

/// What the tests of the engine run with: a file of their own, or a vault of their own in one PostgreSQL server.
enum TestDatabase: CaseIterable {
  case sqlite
  case postgres

  static var present: [TestDatabase] { PostgresServer.isInstalled ? allCases : [.sqlite] }
}

/// An engine with a vault that has one member.
final class TestHub {
  let engine: HubEngine
  let vault = VaultID.new()
  let key = PublicKey.new()
  let folder = TestFolder()

  var member: VaultMember { VaultMember(vault: vault, key: key) }

  init(_ database: TestDatabase, quota: Int = 1_000) throws {
    engine =
      switch database {
      case .sqlite: try HubEngine(SQLiteDatabase(at: folder.file), quota: quota)
      case .postgres: try HubEngine(PostgresDatabase(PostgresServer.shared.get().address), quota: quota)
      }
    guard try engine.createVault(vault, keys: AdmittedKeys([key]), invitation: nil) else {
      preconditionFailure("ids are random")
    }
  }

  /// Called at the end: until then the engine is not closed.
  func close() { engine.close() }
}

/// A temporary folder.
final class TestFolder {
  let path = FileManager.default.temporaryDirectory.appending(path: "heartlog-hub-\(UUID())").path

  /// The path of a database in a folder that is not there yet.
  var file: String { path + "/data/hub.db" }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension VaultID {
  static func new() -> VaultID {
    var generator = SystemRandomNumberGenerator()
    return VaultID.random(using: &generator)
  }
}

extension PublicKey {
  static func new() -> PublicKey { TestVault.newKey().publicKey }
}

extension HubEngine {
  /// Deletes an object together with what others do, and waits for the end.
  func delete(_ name: String, as member: VaultMember) throws {
    let results = Results<PutOutcome>()
    write(name, nil, as: member) { results.add($0) }
    #expect(try results.wait(for: 1)[0].get() == .stored)
  }

  /// The names of all objects, page by page.
  func names(as member: VaultMember, limit: Int = 1_000) throws -> [String] {
    var names: [String] = []
    var cursor: ChangeCursor?
    while true {
      let page = try list(after: cursor, limit: limit, as: member)
      names += page.entries.map(\.name)
      cursor = page.cursor
      if !page.hasMore { return names }
    }
  }

  /// Removes keys, then admits others.
  ///
  /// - Returns: The keys afterwards; `nil` if the change was refused.
  func changeKeys(
    removing: [PublicKey], admitting: [PublicKey], inviting: [PublicKey: Int] = [:], as member: VaultMember
  ) throws -> Set<PublicKey>? {
    do {
      return try changeKeys(as: member) { keys in
        try keys.changing(admitting: admitting, removing: removing, inviting: inviting, as: member)
      }.keys
    } catch is KeyRefusal { return nil }
  }
}

/// Results of calls, in the order in which they come. Unchecked: guarded by `condition`.
final class Results<Value: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var results: [Result<Value, any Error>] = []

  func add(_ result: Result<Value, any Error>) {
    condition.withLock {
      results.append(result)
      condition.broadcast()
    }
  }

  /// Waits until there are so many.
  func wait(for count: Int) -> [Result<Value, any Error>] {
    condition.withLock {
      while results.count < count { condition.wait() }
      return results
    }
  }
}
