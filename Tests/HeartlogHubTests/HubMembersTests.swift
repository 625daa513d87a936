import HeartlogSimulator
import Heartlog
import HeartlogFormat
import HeartlogSync
import Synchronization
import Testing

@testable import HeartlogSync

@Suite("A hub admits the members of an encrypted vault")
final class HubMembersTests {
  private let place: FakeHubPlace
  private let devices: Devices
  private let vault: VaultID
  private let carriers: [HubCarrier]
  /// The recovery code that was shown last.
  private let paper = Mutex("")

  /// A vault that the first of some devices made and encrypted at a hub. The others do not know it yet.
  init() throws {
    place = try FakeHubPlace()
    devices = try Devices(4)
    try devices.toggle("first", on: 0)
    let first = try place.carrier()
    var options = SyncOptions()
    options.encrypts = true
    let report = try first.sync(devices[0], options: options)
    let code = try #require(report.recoveryCode)
    paper.withLock { $0 = code }
    vault = try #require(devices[0].vaultID)
    carriers = try [first] + (1..<4).map { [vault, place] _ in try place.carrier(vault: vault) }
  }

  private var code: String { paper.withLock { $0 } }

  private func join(_ index: Int, _ code: String) throws {
    var keys = try VaultKeys(of: devices[index])
    try keys.join(code)
  }

  private func rotate(_ index: Int, without other: Int? = nil) throws {
    var keys = try VaultKeys(of: devices[index])
    try keys.rotate(code: code, without: other.map { devices[$0].replica }) { code in
      paper.withLock { $0 = code }
    }
  }

  private func sync(_ indices: Int...) throws {
    for index in indices { _ = try carriers[index].sync(devices[index], options: SyncOptions()) }
  }

  private func refusal(_ body: () throws -> Void) -> HeartlogError.Code? {
    do { try body() } catch { return (error as? HeartlogError)?.code }
    return nil
  }

  private func key(_ index: Int) throws -> PublicKey { try #require(try devices[index].deviceKey).publicKey }

  private var admitted: Set<PublicKey> {
    get throws { Set(try carriers[0].admittedKeys(for: devices[0])) }
  }

  @Test("the recovery code alone lets a device in")
  func codeAdmits() throws {
    #expect(refusal { try sync(1) } == .notAdmitted)
    try join(1, code)
    try sync(1, 0)
    #expect(devices[0].digest == devices[1].digest)
    // Both devices, and the code.
    #expect(try admitted.count == 3)
    #expect(try admitted.isSuperset(of: [key(0), key(1)]))
    let before = place.hub.requests.count
    try sync(1, 0)
    #expect(!place.hub.requests.dropFirst(before).contains { $0.hasSuffix("/keys") })
  }

  @Test("a device that knows that it was revoked begins no vault at a hub that lost all")
  func revokedBeginsNothing() throws {
    try join(1, code)
    try sync(1, 0, 1)
    try rotate(0, without: 1)
    // It learns of that elsewhere.
    let elsewhere = MemoryPlace()
    _ = try PlaceCarrier(elsewhere).sync(devices[0], options: SyncOptions())
    #expect(
      refusal { _ = try PlaceCarrier(elsewhere).sync(devices[1], options: SyncOptions()) } == .noKey)
    place.hub.restart(losingAll: true)
    #expect(refusal { try sync(1) } == .notAdmitted)
    #expect(place.hub.state.withLock { $0.vaults.isEmpty })
    try sync(0)
    #expect(try !admitted.contains(key(1)))
  }

  @Test("a code of another vault lets nobody in")
  func otherCode() throws {
    let other = try FavoritesStore.inMemory(clock: devices.clock, seed: 55)
    var keys = try VaultKeys(of: other)
    var code = ""
    try keys.make { code = $0 }
    try join(1, code)
    #expect(refusal { try sync(1) } == .notAdmitted)
    #expect(try admitted.count == 2)
  }

  @Test("a rotation removes a lost device, whom that one admitted, and the old code")
  func rotation() throws {
    let old = code
    for index in 1...2 { try join(index, old) }
    try sync(1, 2, 0)
    // The lost device lets another key in.
    try carriers[2].admit(try key(3), for: devices[2])
    try rotate(0, without: 2)
    try devices.toggle("secret", on: 0)
    try sync(0)
    #expect(try admitted.count == 3)
    #expect(try admitted.isDisjoint(with: [key(2), key(3)]))
    let before = place.hub.objects
    try devices.toggle("late", on: 2)
    // With all that it has, the old code included, it gets no answer.
    #expect(refusal { try sync(2) } == .notAdmitted)
    #expect(refusal { _ = try carriers[2].admittedKeys(for: devices[2]) } == .notAdmitted)
    try join(3, old)
    #expect(refusal { try sync(3) } == .notAdmitted)
    #expect(place.hub.objects == before)
    // A device that was merely offline goes on.
    try sync(1)
    #expect(devices[1].digest == devices[0].digest)
    // The new code lets a device in.
    try join(3, code)
    try sync(3, 0, 1)
    #expect(Set([0, 1, 3].map { devices[$0].digest }).count == 1)
  }

  @Test("after a hub lost all, the device that comes first lets the others in")
  func lostHub() throws {
    try join(1, code)
    try sync(1, 0)
    place.hub.restart(losingAll: true)
    try devices.toggle("more", on: 1)
    try sync(0, 1, 0)
    #expect(devices[0].digest == devices[1].digest)
    #expect(try admitted.count == 3)
  }

  @Test("two rotations at once leave both devices in, and one code")
  func twoRotations() throws {
    try join(1, code)
    try sync(1, 0)
    let old = code
    try rotate(0)
    paper.withLock { $0 = old }
    try rotate(1)
    try sync(0, 1, 0, 1)
    #expect(devices[0].digest == devices[1].digest)
    #expect(try admitted.count == 3)
  }

  @Test("a member removes nobody at the hub, and an emptied hub takes the vault from its members only")
  func takingOver() throws {
    try join(1, code)
    try sync(1, 0)
    // Its session so far was that of the code.
    place.hub.restart()
    #expect(throws: HeartlogError.self) { try carriers[1].remove(try key(0), for: devices[1]) }
    #expect(try admitted.contains(key(0)))
    place.hub.restart(losingAll: true)
    // It knows the id of the vault, and no keys of it.
    #expect(refusal { try sync(2) } == .notAdmitted)
    #expect(place.hub.state.withLock { $0.vaults.isEmpty })
    try sync(1, 0)
    #expect(try admitted.count == 3)
  }

  @Test("an invitation lets one device in, before and after a member has seen it")
  func invitation() throws {
    let line = try devices[0].invitation(to: carriers[0])
    #expect(refusal { try sync(1) } == .notAdmitted)
    try devices[1].join(line, through: carriers[1])
    #expect(try devices[1].library("papers").contains("first"))
    try devices.toggle("second", on: 1)
    try sync(1)
    // It is used up, whether a member has confirmed it or not.
    #expect(refusal { try devices[2].join(line, through: carriers[2]) } == .notAdmitted)
    try sync(0, 1, 1, 0)
    #expect(devices[0].digest == devices[1].digest)
    #expect(refusal { try devices[2].join(line, through: carriers[2]) } == .notAdmitted)
    #expect(try admitted.count == 3)
    // Without the device that invited, the other one goes on.
    try devices[2].join(try devices[1].invitation(to: carriers[1]), through: carriers[2])
    try sync(1, 2)
    #expect(devices[1].digest == devices[2].digest)
  }

  @Test("an invitation that was withdrawn, or that a rotation voided, lets nobody in")
  func withdrawnInvitation() throws {
    var line = try devices[0].invitation(to: carriers[0])
    #expect(try devices[0].withdrawInvitations(at: carriers[0]) == 1)
    #expect(refusal { try devices[1].join(line, through: carriers[1]) } == .notAdmitted)
    line = try devices[0].invitation(to: carriers[0])
    try rotate(0)
    try sync(0)
    #expect(refusal { try devices[1].join(line, through: carriers[1]) } == .notAdmitted)
    try devices[1].join(try devices[0].invitation(to: carriers[0]), through: carriers[1])
    try sync(0, 1)
    #expect(devices[0].digest == devices[1].digest)
  }

  @Test("a hub admits one device to a vault that is not encrypted, too")
  func plainInvitation() throws {
    let plain = try FakeHubPlace()
    let devices = try Devices(3)
    try devices.toggle("first", on: 0)
    let first = try plain.carrier()
    let line = try devices[0].invitation(to: first)
    let other = try plain.carrier(vault: devices[0].vaultID)
    #expect(refusal { _ = try other.sync(devices[1], options: SyncOptions()) } == .notAdmitted)
    try devices[1].join(line, through: other)
    try devices[0].sync(with: first)
    #expect(devices[0].digest == devices[1].digest)
    // Whoever is in joins again without using anything up.
    let open = try devices[0].invitation(to: first)
    try devices[1].join(open, through: other)
    #expect(refusal { try devices[2].join(line, through: other) } == .notAdmitted)
    #expect(try devices[0].withdrawInvitations(at: first) == 1)
    #expect(refusal { try devices[2].join(open, through: other) } == .notAdmitted)
  }

  @Test("the removal of a device that withdrew an invitation keeps nobody from the hub")
  func removedWithdrew() throws {
    try devices[1].join(try devices[0].invitation(to: carriers[0]), through: carriers[1])
    try sync(0, 1)
    let line = try devices[0].invitation(to: carriers[0])
    #expect(try devices[1].withdrawInvitations(at: carriers[1]) == 1)
    try sync(0)
    try rotate(0, without: 1)
    try sync(0, 0)
    #expect(refusal { try devices[2].join(line, through: carriers[2]) } != nil)
    try devices[2].join(try devices[0].invitation(to: carriers[0]), through: carriers[2])
    try sync(0, 2)
    #expect(devices[0].digest == devices[2].digest)
  }

  @Test(
    "who depends on an invitation invites nobody, withdraws nothing and rotates nothing until a member has seen it"
  )
  func unconfirmed() throws {
    try devices[1].join(try devices[0].invitation(to: carriers[0]), through: carriers[1])
    #expect(refusal { _ = try devices[1].invitation(to: carriers[1]) } == .noKey)
    #expect(refusal { try devices[1].withdrawInvitations(at: carriers[1]) } == .noKey)
    #expect(refusal { try rotate(1) } == .noKey)
    try sync(0, 1)
    try rotate(1)
    try devices[2].join(try devices[1].invitation(to: carriers[1]), through: carriers[2])
    try sync(0, 2)
    #expect(devices[0].digest == devices[2].digest)
  }

  @Test("a line takes no store out of the vault that it shares, and one that is spent leaves nothing")
  func otherVault() throws {
    let plain = try FakeHubPlace()
    let (one, two) = (try plain.carrier(), try plain.carrier(vault: devices[1].vaultID))
    func syncPlain() throws {
      _ = try one.sync(devices[1], options: SyncOptions())
      _ = try two.sync(devices[2], options: SyncOptions())
    }
    _ = try one.sync(devices[1], options: SyncOptions())
    try devices[2].join(
      try devices[1].invitation(to: one), through: try plain.carrier(vault: devices[1].vaultID))
    try devices[2].library("papers").toggle("theirs")
    for _ in 0..<2 { try syncPlain() }
    try devices[1].library("papers").toggle("mine")
    let line = try devices[0].invitation(to: carriers[0])
    #expect(refusal { try devices[1].join(line, through: carriers[1]) } == .otherVault)
    try syncPlain()
    #expect(devices[1].digest == devices[2].digest && devices[1].vaultID?.isEncrypted == false)
    // Nothing was used up.
    try devices[3].join(line, through: carriers[3])
    try sync(0)
    var options = SyncOptions()
    options.joinsVault = true
    #expect(refusal { try devices[1].join(line, through: carriers[1], options: options) } == .notAdmitted)
    try syncPlain()
    try devices[1].join(try devices[0].invitation(to: carriers[0]), through: carriers[1], options: options)
    try sync(0, 1)
    #expect(devices[0].digest == devices[1].digest)
  }
}
