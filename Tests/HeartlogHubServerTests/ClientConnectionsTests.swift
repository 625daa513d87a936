import HeartlogFormat
import HeartlogHTTPServer
import Synchronization
import Testing

@testable import HeartlogHubServer

/// "Limits" in docs/hub.md says what each address, vault and session may have.
@Suite struct ClientConnectionsTests {
  /// A table of connections whose clock stands still, and the descriptors that it shut down.
  private final class Table: Sendable {
    let seconds = Mutex<UInt64>(0)
    let closed = Mutex<[Int32]>([])
    let ended = Mutex<[Int]>([])

    func connections(_ limits: ClientConnections.Limits) -> ClientConnections {
      ClientConnections(
        limits, now: { [self] in seconds.withLock { $0 * 1_000_000_000 } },
        shutDown: { [self] descriptor in closed.withLock { $0.append(descriptor) } })
    }

    func wait(_ seconds: UInt64) { self.seconds.withLock { $0 += seconds } }

    var closedDescriptors: [Int32] { closed.withLock { $0 } }
  }

  private let table = Table()

  private static func vault(_ number: Int) -> VaultID { VaultID(String(repeating: "\(number)", count: 32))! }
  private static func session(_ number: Int, of vault: Int) -> HubSession {
    let member = VaultMember(vault: Self.vault(vault), key: .new())
    return HubSession(
      token: SHA256Hasher.digest(of: [UInt8(number)]), member: member, isInvited: false, end: .max)
  }

  private func connections(_ connections: Int = 100, bodyBytes: Int = 100) -> ClientConnections {
    table.connections(ClientConnections.Limits(connections: connections, bodyBytes: bodyBytes))
  }

  /// A connection on which a body is received.
  private func receiver(
    _ connections: ClientConnections, _ descriptor: Int32, _ address: String, vault: Int, session: Int,
    announced: Int = 100
  ) -> Int {
    let id = connections.add(descriptor, of: address)
    #expect(connections.begin(id))
    _ = connections.receive(id, announced, Self.session(session, of: vault))
    return id
  }

  // MARK: Deadlines

  @Test func aHeaderThatIsNotWholeInTimeEndsItsConnection() {
    let connections = connections()
    _ = connections.add(1, of: "a")
    let second = connections.add(2, of: "a")
    table.wait(29)
    #expect(connections.begin(second))
    table.wait(1)
    connections.closeLate()
    #expect(table.closedDescriptors == [1])
    // The next header of a connection has as long again.
    connections.end(second)
    table.wait(29)
    connections.closeLate()
    #expect(table.closedDescriptors == [1])
    table.wait(1)
    connections.closeLate()
    #expect(table.closedDescriptors == [1, 2])
  }

  @Test func aBodyHasTimeForTheBytesThatCame() {
    let connections = connections(bodyBytes: 1 << 20)
    let slow = receiver(connections, 1, "a", vault: 1, session: 1)
    let fast = receiver(connections, 2, "a", vault: 1, session: 1)
    #expect(connections.take(slow, 1))
    #expect(connections.take(fast, 10 * HubLimits.bytesPerSecond))
    table.wait(31)
    connections.closeLate()
    #expect(table.closedDescriptors == [1])
    table.wait(9)
    connections.closeLate()
    #expect(table.closedDescriptors == [1, 2])
  }

  @Test func anAnswerHasTimeForItsBytesAndAnEngineAsLongAsItTakes() {
    let connections = connections()
    let working = receiver(connections, 1, "a", vault: 1, session: 1)
    connections.work(working)
    let sending = receiver(connections, 2, "a", vault: 1, session: 1)
    connections.send(sending, byteCount: 10 * HubLimits.bytesPerSecond)
    table.wait(39)
    connections.closeLate()
    #expect(table.closedDescriptors == [])
    table.wait(1)
    connections.closeLate()
    #expect(table.closedDescriptors == [2])
  }

  // MARK: Connections

  @Test func anAddressThatHasItsShareLosesItsOldestIdleConnection() {
    let connections = connections(32)
    for descriptor in 1...8 as ClosedRange<Int32> { _ = connections.add(descriptor, of: "a") }
    #expect(table.closedDescriptors == [])
    let ninth = connections.add(9, of: "a")
    #expect(table.closedDescriptors == [1])
    #expect(connections.begin(ninth))
    #expect(connections.begin(connections.add(10, of: "b")))
    #expect(table.closedDescriptors == [1])
  }

  @Test func anAddressWhoseConnectionsAreBusyGetsSpareOnes() {
    let connections = connections(32)
    for descriptor in 1...8 as ClosedRange<Int32> {
      #expect(connections.begin(connections.add(descriptor, of: "a")))
    }
    let spare = connections.add(9, of: "a")
    #expect(!connections.begin(spare))
    #expect(table.closedDescriptors == [])
    // A spare one that sends nothing is closed for the next one, and soon by itself.
    _ = connections.add(10, of: "a")
    _ = connections.add(11, of: "a")
    #expect(table.closedDescriptors == [10])
    table.wait(5)
    connections.closeLate()
    #expect(table.closedDescriptors == [10, 11])
  }

  @Test func whenAllAreTakenTheAddressWithMostGivesWay() {
    let connections = connections(12)
    for descriptor in 1...8 as ClosedRange<Int32> {
      let id = connections.add(descriptor, of: "a")
      #expect(connections.begin(id))
      connections.stream(id) { [table] in table.ended.withLock { $0.append(Int(descriptor)) } }
    }
    for descriptor in 9...12 as ClosedRange<Int32> {
      #expect(connections.begin(connections.add(descriptor, of: "b")))
    }
    #expect(connections.begin(connections.add(13, of: "c")))
    #expect(table.closedDescriptors == [1])
    #expect(table.ended.withLock { $0 } == [1])
    // Whoever has as many as anybody gets none of others.
    for descriptor in 14...17 as ClosedRange<Int32> { _ = connections.add(descriptor, of: "b") }
    #expect(table.closedDescriptors == [1, 2, 14, 15, 16])
  }

  // MARK: Bodies

  @Test func theAddressThatHoldsMostGivesWay() {
    let connections = connections()
    let large = receiver(connections, 1, "a", vault: 1, session: 1)
    #expect(connections.take(large, 60))
    let small = receiver(connections, 2, "b", vault: 2, session: 2)
    #expect(connections.take(small, 40))
    let other = receiver(connections, 3, "c", vault: 3, session: 3)
    #expect(connections.receive(other, 50, Self.session(3, of: 3)))
    #expect(connections.take(other, 50))
    #expect(table.closedDescriptors == [1])
    #expect(!connections.take(large, 1))
    // 40 and 50 are held. Nobody holds more than 61.
    let fourth = receiver(connections, 4, "d", vault: 4, session: 4)
    #expect(!connections.receive(fourth, 61, Self.session(4, of: 4)))
    #expect(!connections.take(fourth, 61))
    #expect(connections.take(fourth, 10))
    #expect(table.closedDescriptors == [1])
  }

  @Test func oneAddressSharesAmongVaultsAndAVaultAmongSessions() {
    let connections = connections()
    let first = receiver(connections, 1, "a", vault: 1, session: 1)
    let second = receiver(connections, 2, "a", vault: 1, session: 2)
    #expect(connections.take(first, 60) && connections.take(second, 40))
    let otherVault = receiver(connections, 3, "a", vault: 2, session: 3)
    #expect(connections.take(otherVault, 20))
    #expect(table.closedDescriptors == [1])
    #expect(connections.take(second, 40))
    let third = receiver(connections, 4, "a", vault: 1, session: 4)
    #expect(connections.take(third, 30))
    #expect(table.closedDescriptors == [1, 2])
  }

  @Test func anAnswerThatIsNotReadGivesWayAndAnEngineDoesNot() {
    let connections = connections()
    let reader = receiver(connections, 1, "a", vault: 1, session: 1, announced: 0)
    #expect(connections.take(reader, 100))
    let other = receiver(connections, 2, "b", vault: 2, session: 2)
    #expect(!connections.take(other, 10))
    connections.send(reader, byteCount: 100)
    #expect(connections.take(other, 10))
    #expect(table.closedDescriptors == [1])
  }

  @Test func whatIsHeldIsFreeAgainAtTheEndOfARequestOrAConnection() {
    let connections = connections()
    let first = receiver(connections, 1, "a", vault: 1, session: 1)
    #expect(connections.take(first, 100))
    #expect(!connections.take(first, 1))
    connections.end(first)
    let second = receiver(connections, 2, "a", vault: 1, session: 1)
    #expect(connections.take(second, 100))
    connections.remove(second)
    #expect(connections.take(receiver(connections, 3, "a", vault: 1, session: 1), 100))
    #expect(table.closedDescriptors == [])
  }

  @Test func aBodyThatIsAnnouncedAndDoesNotComeTakesNoRoom() {
    let connections = connections()
    for number in 1...9 {
      let id = receiver(connections, Int32(number), "a", vault: 1, session: 1)
      #expect(connections.receive(id, 100, Self.session(1, of: 1)))
    }
  }

  // MARK: Names

  @Test(arguments: ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])
  func aHubOfThisMachineHasItsAddressAsItsName(address: String) throws {
    let address = try SocketAddress(address)
    #expect(address.isLoopback)
    let names = address.loopbackNames(port: 8_080)
    for host in ["127.0.0.1:8080", "LocalHost:8080", "[::1]:8080"] {
      #expect(HubService.isName(host, of: names), "\(host)")
    }
    for host in ["127.0.0.1", "127.0.0.1:8081", "hub.example", "hub.example:8080", "[::1]", ""] {
      #expect(!HubService.isName(host, of: names), "\(host)")
    }
  }

  @Test func aNameWithoutAPortIsForAnyPort() throws {
    #expect(HubService.isName("Hub.example:1", of: ["hub.example"]))
    #expect(HubService.isName("[::1]:1", of: ["[::1]"]) && HubService.isName("[::1]", of: ["[::1]"]))
    #expect(!HubService.isName("hub.example.org", of: ["hub.example"]))
    for address in ["0.0.0.0:1", "[::]:1"] { #expect(try !SocketAddress(address).isLoopback, "\(address)") }
  }
}
