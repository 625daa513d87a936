import Dispatch
import HeartlogFormat
import Synchronization
import Testing

@testable import HeartlogHubServer

/// What several hubs of one database do, and what the server must survive.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresDatabaseTests {
  @Test("two hubs put to one vault at once, and miss nothing of each other")
  func twoHubs() throws {
    let hub = try TestHub(.postgres)
    defer { hub.close() }
    let second = try HubEngine(PostgresDatabase(try PostgresServer.shared.get().address))
    defer { second.close() }
    let told = DispatchSemaphore(value: 0)
    let (engine, vault, member) = (hub.engine, hub.vault, hub.member)
    second.observe { if $0 == vault { told.signal() } }
    // Until it listens, notices pass it by.
    var isTold = false
    for number in 0..<100 where !isTold {
      #expect(try engine.write("w\(number)", [], as: member) == .stored)
      isTold = told.wait(timeout: .now() + 0.2) == .success
    }
    #expect(isTold)
    let group = DispatchGroup()
    let failures = Mutex<[String]>([])
    for number in 0..<200 {
      for (hub, engine) in [engine, second].enumerated() {
        group.enter()
        engine.write("\(number)", [UInt8(hub)], as: member) { result in
          if case .failure(let error) = result { failures.withLock { $0.append("\(error)") } }
          group.leave()
        }
      }
    }
    group.wait()
    #expect(failures.withLock { $0 } == [])
    let names = try second.list(after: nil, limit: 1_000, as: member).entries.map(\.name)
    let numbers: [String] = (0..<200).map { "\($0)" }
    #expect(names.filter { !$0.hasPrefix("w") }.sorted() == numbers.sorted())
  }

  @Test("the database crashes: what was acknowledged is there, and the hub goes on")
  func crash() throws {
    let server = try PostgresServer()
    let engine = try HubEngine(PostgresDatabase(server.address))
    defer { engine.close() }
    let (vault, key) = (VaultID.new(), PublicKey.new())
    #expect(try engine.createVault(vault, keys: AdmittedKeys([key]), invitation: nil))
    let member = VaultMember(vault: vault, key: key)
    let acknowledged = Mutex<Set<String>>([])
    let group = DispatchGroup()
    for number in 0..<2_000 {
      group.enter()
      engine.write("\(number)", [1, 2, 3], as: member) { result in
        if case .success = result { _ = acknowledged.withLock { $0.insert("\(number)") } }
        group.leave()
      }
      if number == 1_000 { server.crash() }
    }
    group.wait()
    #expect(throws: HeartlogError.self) { try engine.check() }
    try server.start()
    try engine.check()
    #expect(acknowledged.withLock { $0 }.isSubset(of: try engine.names(as: member)))
    #expect(try engine.write("after", [1], as: member) == .stored)
  }
}
