import HeartlogFormat

@testable import HeartlogHubServer

/// An encrypted vault as a hub sees it: keys, and the objects that they sign.
struct TestVault {
  typealias Epoch = (epoch: KeyEpoch, key: EpochKey)

  let roots: [SigningKey]
  let devices: [SigningKey]
  let id: VaultID
  /// The epoch that the first root made.
  let first: Epoch

  init(deviceCount: Int) throws {
    roots = (0..<4).map { _ in Self.newKey() }
    devices = (0..<deviceCount).map { _ in Self.newKey() }
    id = VaultID(root: roots[0].publicKey)
    first = try Self.epoch(id, root: roots[0], devices: devices, without: [], by: roots[0])
  }

  /// The keys when the vault is created by a device of its first epoch.
  var keys: AdmittedKeys { AdmittedKeys(of: id, objects: [.epoch(first.epoch)])! }

  func member(_ index: Int) -> VaultMember { VaultMember(vault: id, key: devices[index].publicKey) }

  func root(_ generation: Int) -> VaultMember { VaultMember(vault: id, key: roots[generation].publicKey) }

  /// The epoch with which a root makes the next one: the vault's own roots and devices unless said otherwise.
  func rotation(
    after before: Epoch? = nil, root: SigningKey? = nil, devices: [SigningKey]? = nil,
    without removals: [Removal] = [], by maker: SigningKey? = nil
  ) throws -> Epoch {
    let before = before ?? first
    let generation = Int(before.epoch.generation) + 1
    return try Self.epoch(
      id, after: before, root: root ?? roots[generation],
      devices: devices
        ?? self.devices.filter { key in
          !removals.contains { $0.replica == key.publicKey.replica }
        }, without: removals,
      by: maker ?? roots[generation - 1])
  }

  /// A removal of a device after a commit.
  func removal(_ index: Int, after size: UInt64 = 0) -> Removal {
    Removal(
      replica: member(index).owner, size: size, root: size > 0 ? SHA256Hasher.digest(of: id.bytes) : nil)
  }

  /// An admission to an epoch, the first one unless said otherwise.
  func admission(
    of key: SigningKey, by signer: SigningKey, to epoch: Epoch? = nil, as kind: Admission.Kind = .introduces
  ) throws -> Admission {
    let (epoch, secret) = epoch ?? first
    var generator = SystemRandomNumberGenerator()
    return try Admission(
      of: Self.member(key, of: epoch.vault), to: epoch, key: secret, as: kind, by: signer, using: &generator)
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

  private static func epoch(
    _ vault: VaultID, after before: Epoch? = nil, root: SigningKey, devices: [SigningKey],
    without removals: [Removal], by maker: SigningKey
  ) throws -> Epoch {
    var generator = SystemRandomNumberGenerator()
    return try KeyEpoch.make(
      in: vault, generation: before.map { $0.epoch.generation + 1 } ?? 0,
      following: before.map { [$0] } ?? [],
      root: member(root, of: vault), devices: devices.map { try member($0, of: vault) },
      removals: removals, by: maker, on: (maker.publicKey.replica, 1), using: &generator)
  }

  private static func member(_ key: SigningKey, of vault: VaultID) throws -> Member {
    try Member(key, agreementKey: AgreementKey(of: key), vault: vault)
  }

  static func newKey() -> SigningKey {
    var generator = SystemRandomNumberGenerator()
    return SigningKey(using: &generator)
  }
}
