import Foundation
import TestSupport
@testable import HeartlogFormat
import Testing

/// The vectors are made from their inputs, and compared with the files.
@Suite("EncryptionVectors")
struct EncryptionVectorsTests {
  private struct CodeVector: Codable, Equatable {
    let secret: Hex; let text: String; let publicKey, agreementKey: Hex
  }
  private struct Refused: Codable, Equatable { let text, reason: String }
  private struct Codes: Codable, Equatable { let codes: [CodeVector]; let refused: [Refused] }

  @Test("recovery codes")
  func codes() throws {
    var random = SeededGenerator(seed: 20)
    let secrets = [
      [UInt8](repeating: 0, count: 32), Array(0..<32), [UInt8](repeating: 255, count: 32),
      random.next32Bytes(),
    ]
    let codes = try secrets.map { secret in
      let code = try #require(RecoveryCode(secret: secret))
      return CodeVector(
        secret: Hex(secret), text: code.text, publicKey: Hex(code.key.publicKey.bytes),
        agreementKey: Hex(code.agreementKey.publicKey))
    }
    let text = codes[1].text
    let wrong = [
      "", String(text.dropLast()), text + "0", text.replacing("1", with: "U"), String(text.dropLast()) + "0",
      String(text.reversed()),
    ]
    let refused = wrong.map { text in
      Refused(text: text, reason: refusal { try RecoveryCode(text: text) }?.description ?? "")
    }
    try Vectors.check(Codes(codes: codes, refused: refused), against: "recovery-codes.json")
  }

  private struct DerivationVector: Codable, Equatable {
    let what: String
    let material, salt, info, output: Hex
  }

  @Test("derived keys")
  func derivations() throws {
    var random = SeededGenerator(seed: 21)
    let vault = VaultID.random(using: &random).bytes
    func vector(_ label: KeyLabel, salt: [UInt8], _ rest: [UInt8], count: Int = 32) -> DerivationVector {
      let material = random.next32Bytes()
      return DerivationVector(
        what: label.rawValue, material: Hex(material), salt: Hex(salt), info: Hex(label.followed(by: rest)),
        output: Hex(label.derive(count, from: material, salt: salt, rest)))
    }
    let name = Array(ObjectTests.name.utf8)
    let vectors = [
      vector(.agreement, salt: [], []),
      vector(.commitment, salt: [], vault),
      vector(
        .wrap, salt: random.next32Bytes() + random.next32Bytes(),
        vault + random.next32Bytes() + random.next32Bytes()),
      vector(.previous, salt: Array(random.next32Bytes().prefix(16)), vault),
      vector(.salt, salt: random.next32Bytes(), vault + name, count: 16),
      vector(.object, salt: Array(random.next32Bytes().prefix(16)), vault + name),
    ]
    try Vectors.check(vectors, against: "derivations.json")
  }

  private struct EpochVector: Codable, Equatable { let id: String; let key, object: Hex }
  private struct DeviceVector: Codable, Equatable {
    let seed, publicKey, agreementKey: Hex; let replica: String
  }
  private struct Epochs: Codable, Equatable {
    let vault: String
    let recoveryCode, voidRecoveryCode: String
    let devices: [DeviceVector]
    let epochs: [EpochVector]
    /// Of the third device to the first epoch, signed by the code, and to the second one, signed by the second device, which introduces nobody.
    let admissions: [Hex]
  }

  /// Three epochs: of two devices; of a third one, too; without the second one, and with a new recovery code.
  private func epochs() throws -> (sample: SampleVault, code: RecoveryCode, epochs: [SampleVault.Epoch]) {
    var sample = try SampleVault(seed: 22)
    let first = try sample.first()
    try sample.addDevice()
    let second = try sample.next(after: [first])
    let code = sample.newCode()
    let third = try sample.next(
      after: [second], devices: [sample.devices[0], sample.devices[2]],
      without: [sample.removal(of: sample.devices[1])], newCode: code)
    return (sample, code, [first, second, third])
  }

  @Test("key epochs")
  func keyEpochs() throws {
    var (sample, code, epochs) = try epochs()
    let admissions = [
      try sample.admission(of: sample.devices[2], to: epochs[0], by: sample.code.key),
      try sample.admission(
        of: sample.devices[2], to: epochs[1], as: .gives, by: sample.devices[1].key),
    ]
    let vectors = Epochs(
      vault: sample.vault.description, recoveryCode: code.text, voidRecoveryCode: sample.code.text,
      devices: sample.devices.map {
        DeviceVector(
          seed: Hex($0.key.seed), publicKey: Hex($0.key.publicKey.bytes),
          agreementKey: Hex($0.agreementKey.publicKey), replica: "\($0.member.replica)")
      },
      epochs: epochs.map {
        EpochVector(id: "\($0.epoch.id)", key: Hex($0.key.bytes), object: Hex($0.epoch.bytes))
      },
      admissions: admissions.map { Hex($0.bytes) })
    try Vectors.check(vectors, against: "epochs.json")
  }

  private struct LineVector: Codable, Equatable {
    let text, vault, place, endpoint: String
    let seed: Hex?
  }
  private struct InvitationObject: Codable, Equatable { let name: String; let object: Hex }
  private struct Invitations: Codable, Equatable {
    let lines: [LineVector]
    /// An invitation to the first epoch of `epochs.json` by its first device, accepted by the third one and withdrawn by the second one.
    let objects: [InvitationObject]
  }

  @Test("invitations")
  func invitations() throws {
    var (sample, _, epochs) = try epochs()
    let invited = try sample.newMember()
    let end: UInt64 = 1_700_000_000_000
    let invitation = try sample.admission(
      of: invited, to: epochs[0], as: .invites(end: end), by: sample.devices[0].key)
    let objects = [
      invitation,
      try sample.admission(of: sample.devices[2], to: epochs[0], as: .accepts, by: invited.key),
      try Admission(withdrawing: invitation, by: sample.devices[1].key),
    ]
    let lines = [
      ("davs://cloud.example.org/anna", "", invited.key),
      ("s3://favorites", "https://s3.example.org", invited.key),
      ("folder:/media/stick/favorites", "", nil),
    ].map { place, endpoint, key in
      let line = Invitation(
        to: sample.vault, key: key, place: place, endpoint: endpoint.isEmpty ? nil : endpoint)
      return LineVector(
        text: line.text, vault: sample.vault.description, place: place, endpoint: endpoint,
        seed: key.map { Hex($0.seed) })
    }
    let vectors = Invitations(
      lines: lines,
      objects: objects.map { InvitationObject(name: $0.objectName, object: Hex($0.bytes)) })
    try Vectors.check(vectors, against: "invitations.json")
  }

  private struct ObjectVector: Codable, Equatable {
    let name: String
    let epoch: String
    /// The content is these bytes, so many times.
    let content: Hex
    let repeats: Int
    /// All of a short object, or only its hash.
    let object: Hex?
    let objectSHA256: Hex
  }

  @Test("objects")
  func objects() throws {
    let (sample, _, epochs) = try epochs()
    let run = try #require(try runFile())
    let folder = "\(sample.devices[0].member.replica)/\(sample.devices[0].member.replica)/"
    let name = try ObjectName("\(folder)\(ObjectTests.stem)0000000000000000.run")
    let checkpoint = try ObjectName("\(folder)\(ObjectTests.stem)0000000000000000.checkpoint")
    let contents: [(ObjectName, Int, [UInt8], Int)] = [
      (name, 0, run, 1), (name, 1, run, 1), (name, 2, run, 1), (checkpoint, 2, [], 0),
      (name, 2, [0xAB], 1_020),
      (name, 2, [0xAB], 1_021), (name, 2, run, 300), (name, 2, [0xCD], 131_068),
    ]
    let vectors = try contents.map { name, epoch, content, repeats in
      let content = Hex(content)
      let whole = (0..<repeats).flatMap { _ in content.bytes }
      let made = try SealedObject.seal(whole, name: name, vault: sample.vault, key: epochs[epoch].key)
      let keys = [epochs[epoch].epoch.id: epochs[epoch].key]
      #expect(
        try SealedObject.open(made.bytes, name: made.name, vault: sample.vault, keys: keys) == whole)
      return ObjectVector(
        name: made.name.text, epoch: "\(epochs[epoch].epoch.id)", content: content, repeats: repeats,
        object: made.bytes.count < 4_096 ? Hex(made.bytes) : nil,
        objectSHA256: Hex(SHA256Hasher.digest(of: made.bytes).bytes))
    }
    try Vectors.check(vectors, against: "objects.json")
  }

  /// The worked example of docs/shipping.md.
  private func runFile() throws -> [UInt8]? {
    let page = Vectors.folder.appending(path: "../../docs/shipping.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let block = try #require(
      text.components(separatedBy: "```hex run-file\n").last?.components(separatedBy: "```").first)
    let digits = block.split(separator: "\n").map { line in line.prefix { $0 != ";" } }.joined()
    return Hexadecimal.bytes(digits.filter { $0 != " " })
  }
}
