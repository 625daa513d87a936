@testable import HeartlogEncryption
import HeartlogEvents
import HeartlogProofs
import Testing

/// A vault with some devices, all of it derived from a seed.
struct SampleVault {
  struct Device {
    let key: SigningKey
    let agreementKey: AgreementKey
    let member: Member
  }

  typealias Epoch = (epoch: KeyEpoch, key: EpochKey)

  var random: SeededGenerator
  let vault: VaultID
  let code: RecoveryCode
  private(set) var devices: [Device] = []

  init(seed: UInt64 = 1, devices count: Int = 2) throws {
    random = SeededGenerator(seed: seed)
    vault = VaultID.random(using: &random)
    code = RecoveryCode(using: &random)
    for _ in 0..<count { try addDevice() }
  }

  @discardableResult
  mutating func addDevice() throws -> Device {
    let key = SigningKey(using: &random)
    let agreementKey = AgreementKey(of: key)
    let device = Device(
      key: key, agreementKey: agreementKey,
      member: try Member(key, agreementKey: agreementKey, vault: vault))
    devices.append(device)
    return device
  }

  /// The first epoch: the first device makes it, for all of them.
  mutating func first() throws -> Epoch {
    try KeyEpoch.make(
      in: vault, following: [], recovery: code.member(of: vault), devices: devices.map(\.member),
      revocations: [], by: devices[0].key, signedBy: code, using: &random)
  }

  /// An epoch after others, with the same recovery code unless there is a new one.
  mutating func next(
    after previous: [Epoch], devices: [Device]? = nil, without revocations: [Revocation] = [],
    by maker: Device? = nil, newCode: RecoveryCode? = nil
  ) throws -> Epoch {
    try KeyEpoch.make(
      in: vault, following: previous.map { (epoch: $0.epoch, key: $0.key) },
      recovery: newCode?.member(of: vault) ?? previous[0].epoch.recovery,
      devices: (devices ?? self.devices).map(\.member), revocations: revocations,
      by: (maker ?? self.devices[0]).key, signedBy: newCode, using: &random)
  }

  mutating func newCode() -> RecoveryCode { RecoveryCode(using: &random) }

  func revocation(of device: Device, size: UInt64 = 7) -> Revocation {
    Revocation(
      replica: device.member.replica, size: size,
      root: size > 0 ? SHA256Hasher.digest(of: device.member.publicKey.bytes) : nil)
  }
}

/// The error of what must fail.
func refusal<R: ~Copyable>(_ body: () throws -> R) -> EncryptionError? {
  do {
    _ = try body()
    return nil
  } catch { return error as? EncryptionError }
}
