import Heartlog
import HeartlogFormat
import HeartlogTesting
import TestSupport

@testable import HeartlogSync

/// A hub to sync through.
struct FakeHubPlace {
  let hub: FakeHub
  let transport: any HTTPTransport
  let address: HubAddress

  init() throws {
    hub = FakeHub()
    transport = hub
    address = try HubAddress(FakeHub.base)
  }

  func carrier(vault: VaultID? = nil, invitation: String? = nil) throws -> HubCarrier {
    HubCarrier(
      try vault.map { try HubAddress(address.address(of: $0)) } ?? address, invitation: invitation,
      over: transport, time: .none)
  }

  /// The objects of a new vault of its own.
  func objects(seed: UInt64 = 1) throws -> HubPlace { try twoClients(seed: seed).0 }

  /// A connection to a new vault.
  func connection(seed: UInt64 = 1, time: RetryTiming = .none) throws -> HubConnection {
    var random = SeededGenerator(seed: seed)
    let key = SigningKey(using: &random)
    let connection = HubConnection(
      address, vault: .random(using: &random), key: key, invitation: nil, over: transport, time: time)
    try connection.open(creates: true, isOver: { false })
    return connection
  }

  /// Two clients of a new vault.
  func twoClients(seed: UInt64 = 1) throws -> (HubPlace, HubPlace) {
    let connection = try connection(seed: seed)
    return (
      HubPlace(connection, changes: HubWatch(connection)),
      HubPlace(connection, changes: HubWatch(connection))
    )
  }
}

/// Devices of one person, with clocks that go on and reproducible ids.
struct Devices {
  let clock = ManualClock()
  private(set) var stores: [FavoritesStore] = []

  init(_ count: Int, seed: UInt64 = 1) throws {
    for number in 0..<count {
      stores.append(try FavoritesStore.inMemory(clock: clock, seed: seed * 100 + UInt64(number)))
    }
  }

  subscript(index: Int) -> FavoritesStore { stores[index] }

  func toggle(_ item: String, on index: Int) throws {
    clock.advance(by: 1)
    _ = try stores[index].library("papers").toggle(item)
  }
}
