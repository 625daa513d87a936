import Heartlog
import HeartlogFormat
import HeartlogSync
import HeartlogTesting
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("Devices that sync through a hub")
struct HubSyncTests {
  /// A hub, and devices of which the first one made the vault and admitted the others.
  private func admitted(
    _ count: Int, seed: UInt64 = 1
  ) throws -> (place: FakeHubPlace, devices: Devices, carriers: [HubCarrier]) {
    let place = try FakeHubPlace()
    let devices = try Devices(count, seed: seed)
    try devices.toggle("first", on: 0)
    let first = try place.carrier()
    _ = try first.sync(devices[0], options: SyncOptions())
    var carriers = [first]
    for index in 1..<count {
      try first.admit(try #require(try devices[index].deviceKey).publicKey, for: devices[0])
      carriers.append(try place.carrier(vault: devices[0].vaultID))
    }
    return (place, devices, carriers)
  }

  private func code(_ body: () throws -> Void) -> HeartlogError.Code? {
    do { try body() } catch { return (error as? HeartlogError)?.code }
    return nil
  }

  @MainActor @Test("what another device puts arrives by itself, and not while that is paused")
  func automatic() async throws {
    let (place, devices, carriers) = try admitted(2)
    func until(_ isSo: () throws -> Bool) async throws {
      for _ in 0..<30_000 where try !isSo() { try await Task.sleep(for: .milliseconds(2)) }
      #expect(try isSo())
    }
    let sync = AutomaticSync(
      devices[1], carriers[1], every: .seconds(3_600), afterTap: .zero, SyncOptions())
    func has(_ id: String) throws -> Bool { try devices[1].library("papers").contains(id) }
    for id in ["a", "b"] {
      try devices.toggle(id, on: 0)
      _ = try carriers[0].sync(devices[0], options: SyncOptions())
      try await until { try has(id) && !sync.isSyncing }
      // It waits for the hub, and asks no more.
      try await Task.sleep(for: .milliseconds(300))
      let requests = place.hub.requests.count
      try await Task.sleep(for: .milliseconds(300))
      #expect(place.hub.requests.count == requests)
    }
    #expect(place.hub.requests.count { $0.contains("/changes") } == 1)
    sync.isPaused = true
    try devices.toggle("c", on: 0)
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    try await Task.sleep(for: .milliseconds(300))
    #expect(try !has("c"))
    sync.isPaused = false
    try await until { try has("c") }
    await sync.stop()
  }

  @Test("have the same favorites afterwards, and one vault", arguments: 2...3, 1...3 as ClosedRange<UInt64>)
  func converge(count: Int, seed: UInt64) throws {
    let (_, devices, carriers) = try admitted(count, seed: seed)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      let index = Int.random(in: 0..<count, using: &random)
      if Bool.random(using: &random) {
        try devices.toggle("\(Int.random(in: 0..<9, using: &random))", on: index)
      } else {
        _ = try carriers[index].sync(devices[index], options: SyncOptions())
      }
    }
    for _ in 0..<2 {
      for index in 0..<count { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    }
    for index in 0..<count {
      #expect(devices[index].digest == devices[0].digest, "seed \(seed)")
      #expect(devices[index].vaultID == devices[0].vaultID)
      let quiet = try carriers[index].sync(devices[index], options: SyncOptions())
      #expect(quiet.isComplete && quiet.received.commits == 0 && quiet.folder?.written == 0)
    }
  }

  @Test("a device that is not admitted is told its key, and leaves nothing")
  func notAdmitted() throws {
    let place = try FakeHubPlace()
    let devices = try Devices(2)
    try devices.toggle("a", on: 0)
    try devices.toggle("b", on: 1)
    let first = try place.carrier()
    _ = try first.sync(devices[0], options: SyncOptions())
    let vault = try #require(devices[0].vaultID as VaultID?)
    let second = try place.carrier(vault: vault)
    let (own, before) = (devices[1].vaultID, place.hub.objects)
    let key = try #require(try devices[1].deviceKey).publicKey
    let error = #expect(throws: HeartlogError.self) { try second.sync(devices[1], options: SyncOptions()) }
    #expect(error?.code == .notAdmitted)
    #expect(error?.message.contains("heartlog hub \(FakeHub.base) admit \(key)") == true)
    #expect(devices[1].vaultID == own && place.hub.objects == before)
    #expect(try first.admit(key, for: devices[0]).contains(key))
    _ = try second.sync(devices[1], options: SyncOptions())
    _ = try first.sync(devices[0], options: SyncOptions())
    #expect(devices[0].digest == devices[1].digest && devices[1].vaultID == vault)
  }

  @Test("a device whose key was removed gets and puts nothing more")
  func removed() throws {
    let (place, devices, carriers) = try admitted(2)
    _ = try carriers[1].sync(devices[1], options: SyncOptions())
    let key = try #require(try devices[1].deviceKey).publicKey
    #expect(try carriers[0].admittedKeys(for: devices[0]).count == 2)
    #expect(try carriers[0].remove(key, for: devices[0]).count == 1)
    try devices.toggle("late", on: 0)
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    try devices.toggle("lost", on: 1)
    let before = place.hub.objects
    #expect(code { _ = try carriers[1].sync(devices[1], options: SyncOptions()) } == .notAdmitted)
    #expect(code { try carriers[1].admit(key, for: devices[1]) } == .notAdmitted)
    #expect(place.hub.objects == before && devices[0].digest != devices[1].digest)
  }

  @Test("continue after the hub was another process", arguments: [false, true])
  func restarted(losingAll: Bool) throws {
    let (place, devices, carriers) = try admitted(2)
    for index in [1, 0] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    place.hub.restart(losingAll: losingAll)
    try devices.toggle("x", on: 0)
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    if losingAll {
      // The one that came first made the vault again. It knows which keys it admitted, and a person does it again.
      #expect(code { _ = try carriers[1].sync(devices[1], options: SyncOptions()) } == .notAdmitted)
      try carriers[0].admit(try #require(try devices[1].deviceKey).publicKey, for: devices[0])
    }
    try devices.toggle("y", on: 1)
    for index in [1, 0] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    #expect(devices[0].digest == devices[1].digest)
    // All that there is is at the hub again.
    let late = try FavoritesStore.inMemory(clock: devices.clock, seed: 77)
    try carriers[0].admit(try #require(try late.deviceKey).publicKey, for: devices[0])
    _ = try place.carrier(vault: devices[0].vaultID).sync(late, options: SyncOptions())
    #expect(late.digest == devices[0].digest)
  }

  @Test("stores of two vaults are not mixed, and nothing of one gets into the other")
  func otherVault() throws {
    let (place, devices, carriers) = try admitted(2)
    // The second device has a vault of its own, with a third one.
    let third = try FavoritesStore.inMemory(clock: devices.clock, seed: 33)
    try devices.toggle("own", on: 1)
    _ = try StoreCarrier(third).sync(devices[1], options: SyncOptions())
    let (own, before) = (devices[1].vaultID, place.hub.objects)
    #expect(code { _ = try carriers[1].sync(devices[1], options: SyncOptions()) } == .otherVault)
    #expect(devices[1].vaultID == own && place.hub.objects == before)
    var options = SyncOptions()
    options.joinsVault = true
    _ = try carriers[1].sync(devices[1], options: options)
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    #expect(devices[0].digest == devices[1].digest && devices[0].vaultID == devices[1].vaultID)
  }

  @Test("a vault that exists, and has no objects, is not filled by a member of another one")
  func emptyVault() throws {
    let (place, devices, carriers) = try admitted(2)
    let third = try FavoritesStore.inMemory(clock: devices.clock, seed: 33)
    try devices.toggle("own", on: 1)
    _ = try StoreCarrier(third).sync(devices[1], options: SyncOptions())
    for name in place.hub.objects.keys { place.hub.replace(name, with: nil) }
    #expect(code { _ = try carriers[1].sync(devices[1], options: SyncOptions()) } == .otherVault)
    #expect(place.hub.objects.isEmpty)
  }

  @Test("a dry run creates, joins and puts nothing")
  func dryRun() throws {
    let place = try FakeHubPlace()
    let devices = try Devices(1)
    try devices.toggle("a", on: 0)
    var options = SyncOptions()
    options.isDryRun = true
    let carrier = try place.carrier()
    #expect(code { _ = try carrier.sync(devices[0], options: options) } == .notAdmitted)
    #expect(place.hub.state.withLock { $0.vaults.isEmpty })
    _ = try carrier.sync(devices[0], options: SyncOptions())
    try devices.toggle("b", on: 0)
    let before = place.hub.objects
    let report = try carrier.sync(devices[0], options: options)
    #expect(report.isDryRun && place.hub.objects == before)
  }

  @Test("a hub that wants an invitation makes a vault with it only")
  func invitation() throws {
    let place = try FakeHubPlace()
    place.hub.state.withLock { $0.invitation = "welcome" }
    let devices = try Devices(1)
    try devices.toggle("a", on: 0)
    for word in [nil, "other"] {
      let carrier = try place.carrier(invitation: word)
      #expect(code { _ = try carrier.sync(devices[0], options: SyncOptions()) } == .notAdmitted)
    }
    _ = try place.carrier(invitation: "welcome").sync(devices[0], options: SyncOptions())
    #expect(!place.hub.objects.isEmpty)
  }

  @Test("a sync that is over says that it is not finished, wherever it ends")
  func over() throws {
    let (place, devices, carriers) = try admitted(2)
    try devices.toggle("b", on: 0)
    for count in 0..<30 {
      let before = place.hub.requests.count
      var options = SyncOptions()
      options.isCancelled = { place.hub.requests.count >= before + count }
      let report = try carriers[1].sync(devices[1], options: options)
      if report.unfinished == nil { break }
    }
    for index in [0, 1] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    #expect(devices[0].digest == devices[1].digest)
  }

  @Test("a watch ends with what another device puts, and with a cancellation")
  func watch() async throws {
    let (_, devices, carriers) = try admitted(2)
    #expect(try carriers[1].watch(devices[1], milliseconds: 0))
    for index in [1, 0, 1] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    // What it put itself it is told, too.
    _ = try carriers[1].sync(devices[1], options: SyncOptions())
    #expect(try !carriers[1].watch(devices[1], milliseconds: 0))
    #expect(try !carriers[1].watch(devices[1], milliseconds: 600_000, isCancelled: { true }))
    let (store, carrier) = (devices[1], carriers[1])
    let watching = Task.detached { try carrier.watch(store, milliseconds: 600_000) }
    try devices.toggle("new", on: 0)
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    #expect(try await watching.value)
    _ = try carrier.sync(store, options: SyncOptions())
    // The hub may tell the first of several objects alone.
    while devices[0].digest != devices[1].digest {
      try #require(try carrier.watch(store, milliseconds: 600_000))
      _ = try carrier.sync(store, options: SyncOptions())
    }
  }

  // MARK: - A hub that lies

  @Test(
    "bytes that a hub changed, cut or swapped never get into a store", arguments: 1...3 as ClosedRange<UInt64>
  )
  func changedBytes(seed: UInt64) throws {
    let (place, devices, carriers) = try admitted(3, seed: seed)
    for number in 0..<20 {
      try devices.toggle("\(number % 7)", on: number % 2)
      if number % 5 == 4 {
        for index in [0, 1, 0] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
      }
    }
    let truth = place.hub.objects
    #expect(devices[0].digest == devices[1].digest && truth.count > 4)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let name = try #require(truth.keys.sorted().randomElement(using: &random) as String?)
      var bytes = try #require(truth[name])
      switch UInt8.random(in: 0..<4, using: &random) {
      case 0:
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)))
      case 2: bytes = truth.sorted { $0.key < $1.key }.randomElement(using: &random)?.value ?? []
      default: bytes.append(7)
      }
      place.hub.replace(name, with: bytes)
      let store = try FavoritesStore.inMemory(clock: devices.clock, seed: seed * 1_000 + 1)
      try carriers[0].admit(try #require(try store.deviceKey).publicKey, for: devices[0])
      var options = SyncOptions()
      options.isPull = true
      let carrier = try place.carrier(vault: devices[0].vaultID)
      // Whatever it says of the sync: what it has is a part of the truth.
      _ = try? carrier.sync(store, options: options)
      for head in try store.streamHeads() where head.replica != store.replica && head.commit.rawValue > 0 {
        #expect(
          try devices[0].streamRoot(of: head.replica, at: head.commit) == head.root, "seed \(seed)")
      }
      place.hub.replace(name, with: truth[name])
      _ = try carrier.sync(store, options: options)
      #expect(store.digest == devices[0].digest, "seed \(seed)")
    }
  }

  @Test("old lists and wrong sizes delay, and nothing more")
  func oldLists() throws {
    let (place, devices, carriers) = try admitted(2)
    _ = try carriers[1].sync(devices[1], options: SyncOptions())
    let old = place.hub.state.withLock { $0 }
    for number in 0..<5 { try devices.toggle("\(number)", on: 0) }
    _ = try carriers[0].sync(devices[0], options: SyncOptions())
    let new = place.hub.state.withLock { $0 }
    place.hub.state.withLock { state in
      state.vaults = old.vaults
      state.sessions = new.sessions
    }
    _ = try carriers[1].sync(devices[1], options: SyncOptions())
    place.hub.answer { request in
      guard request.url.contains("objects?") else { return nil }
      return .success(
        FakeHub.answer(
          200,
          "{\"objects\": [[\"../../etc/passwd\", 3], [\"a/b/c\", 9223372036854775807]], \"cursor\": \"7-7\", \"startsOver\": true, \"hasMore\": false}"
        ))
    }
    _ = try carriers[1].sync(devices[1], options: SyncOptions())
    place.hub.answer(instead: nil)
    place.hub.state.withLock { $0.vaults = new.vaults }
    for index in [0, 1, 0] { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
    #expect(devices[0].digest == devices[1].digest)
  }
}
