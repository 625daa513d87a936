@testable import HeartlogFormat
import TestSupport
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
    code = RecoveryCode(using: &random)
    vault = VaultID(root: code.key.publicKey)
    for _ in 0..<count { try addDevice() }
  }

  @discardableResult
  mutating func addDevice() throws -> Device {
    let device = try newMember()
    devices.append(device)
    return device
  }

  /// A member that is none of the devices, as the key of an invitation is.
  mutating func newMember() throws -> Device {
    let key = SigningKey(using: &random)
    let agreementKey = AgreementKey(of: key)
    return Device(
      key: key, agreementKey: agreementKey,
      member: try Member(key, agreementKey: agreementKey, vault: vault))
  }

  /// The first epoch, for all devices.
  mutating func first() throws -> Epoch {
    try KeyEpoch.make(
      in: vault, generation: 0, following: [], root: code.member(of: vault), devices: devices.map(\.member),
      by: code.key, on: origin, using: &random)
  }

  /// An epoch after others: a member makes it, or the root does, if there is a new one.
  mutating func next(
    after previous: [Epoch], devices: [Device]? = nil, without removals: [Removal] = [],
    by maker: Device? = nil, newCode: RecoveryCode? = nil, with code: RecoveryCode? = nil
  ) throws -> Epoch {
    let before = previous[0].epoch
    return try KeyEpoch.make(
      in: vault, generation: before.generation + (newCode == nil ? 0 : 1),
      following: previous.map { (epoch: $0.epoch, key: $0.key) },
      root: newCode?.member(of: vault) ?? before.root, devices: (devices ?? self.devices).map(\.member),
      removals: removals, by: newCode == nil ? (maker ?? self.devices[0]).key : (code ?? self.code).key,
      on: origin, using: &random)
  }

  mutating func admission(
    of device: Device, to epoch: Epoch, as kind: Admission.Kind = .introduces, by admitter: SigningKey
  ) throws -> Admission {
    try Admission(
      of: device.member, to: epoch.epoch, key: epoch.key, as: kind, by: admitter, using: &random)
  }

  private var origin: (replica: ReplicaID, time: UInt64) { (devices[0].member.replica, 1_700_000_000_000) }

  mutating func newCode() -> RecoveryCode { RecoveryCode(using: &random) }

  func removal(of device: Device, size: UInt64 = 7) -> Removal {
    Removal(
      replica: device.member.replica, size: size,
      root: size > 0 ? SHA256Hasher.digest(of: device.member.publicKey.bytes) : nil)
  }
}

/// The error of what must fail.
func refusal<R: ~Copyable>(_ body: () throws -> R) -> MalformedError? {
  do {
    _ = try body()
    return nil
  } catch { return error as? MalformedError }
}

extension MalformedError {
  static func malformed(_ reason: String) -> MalformedError { MalformedError(reason) }

  static func doesNotDecrypt(chunk: UInt64) -> MalformedError {
    MalformedError("chunk \(chunk) does not decrypt: it was changed, or it is of another object")
  }
}
