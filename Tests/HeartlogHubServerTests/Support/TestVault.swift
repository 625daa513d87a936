import Heartlog
import HeartlogFormat

@testable import HeartlogHubServer

/// An encrypted vault as a hub sees it: keys, and the objects that they sign. What only devices read in them is zeros.
struct TestVault {
  let roots: [SigningKey]
  let devices: [SigningKey]
  let id: VaultID
  /// The epoch that the first root made.
  let first: [UInt8]

  init(deviceCount: Int) {
    roots = (0..<4).map { _ in Self.newKey() }
    devices = (0..<deviceCount).map { _ in Self.newKey() }
    id = VaultID.begun(by: roots[0].publicKey)!
    first = Self.epoch(
      id, generation: 0, root: roots[0], devices: devices.map(\.publicKey), maker: roots[0])
  }

  /// The keys when the vault is created by a device of its first epoch.
  var keys: AdmittedKeys {
    AdmittedKeys(of: id, objects: Self.objects([first], of: id))!
  }

  func member(_ index: Int) -> VaultMember { VaultMember(vault: id, key: devices[index].publicKey) }

  func root(_ generation: Int) -> VaultMember { VaultMember(vault: id, key: roots[generation].publicKey) }

  /// The epoch with which a root makes the next one.
  func rotation(
    to generation: Int, root: SigningKey? = nil, without removals: [ReplicaID: UInt64] = [:]
  ) -> [UInt8] {
    Self.epoch(
      id, generation: generation, root: root ?? roots[generation],
      devices: devices.map(\.publicKey).filter { removals[$0.replica] == nil }, removals: removals,
      maker: roots[generation - 1])
  }

  /// What is no object of the vault is left out.
  static func objects(_ objects: [[UInt8]], of vault: VaultID) -> [VaultObject] {
    objects.compactMap { try? VaultObject($0, of: vault) }
  }

  /// An admission to an epoch, the first one unless said otherwise.
  func admission(of key: PublicKey, by signer: SigningKey, to epoch: [UInt8]? = nil) -> [UInt8] {
    Self.signed(
      "LADM", "heartlog admission 1",
      id.bytes + SignedEpoch.id(of: epoch ?? first) + Self.zeros(32 + 32) + Self.recipient(key), signer)
  }

  /// The name of a run file of a device, in its own stream unless said otherwise.
  func run(_ index: Int, _ commits: ClosedRange<Int>, stream: String? = nil) -> String {
    let writer = devices[index].publicKey.replica.description
    func digits(_ number: Int) -> String {
      String(repeating: "0", count: 16 - String(number).count) + String(number)
    }
    let (root, content) = (String(repeating: "0", count: 16), String(repeating: "f", count: 16))
    return
      "\(writer)/\(stream ?? writer)/\(digits(commits.lowerBound))-\(digits(commits.upperBound))-\(root)-\(content).run"
  }

  static func name(of epoch: [UInt8]) -> String { "keys/" + Hexadecimal.text(SignedEpoch.id(of: epoch)) }

  static func epoch(
    _ vault: VaultID, generation: Int, root: SigningKey, devices: [PublicKey],
    removals: [ReplicaID: UInt64] = [:], maker: SigningKey
  ) -> [UInt8] {
    var bytes = vault.bytes + [UInt8(generation), UInt8(generation + 1)] + zeros(64)
    bytes += generation == 0 ? [0] : [1] + zeros(16 + 48)
    bytes += recipient(root.publicKey)
    bytes +=
      devices.count < 128
      ? [UInt8(devices.count)] : [UInt8(devices.count & 127) | 128, UInt8(devices.count >> 7)]
    for device in devices { bytes += recipient(device) }
    bytes.append(UInt8(removals.count))
    for (replica, size) in removals.sorted(by: { $0.key < $1.key }) {
      bytes += replica.bytes + [UInt8(size)] + (size > 0 ? zeros(32) : [])
    }
    return signed("LKEY", "heartlog epoch 1", bytes + zeros(16) + [1], maker)
  }

  private static func signed(_ magic: String, _ label: String, _ body: [UInt8], _ key: SigningKey) -> [UInt8]
  {
    let bytes = [0x89, 0x48] + Array(magic.utf8) + [0x0D, 0x0A, 1] + body + key.publicKey.bytes
    // A key in memory always signs.
    return bytes + ((try? key.signature(of: Array(label.utf8) + [0] + bytes))?.bytes ?? [])
  }

  private static func recipient(_ key: PublicKey) -> [UInt8] { key.bytes + zeros(32 + 64 + 48) }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static func newKey() -> SigningKey {
    var generator = SystemRandomNumberGenerator()
    return SigningKey(using: &generator)
  }
}
