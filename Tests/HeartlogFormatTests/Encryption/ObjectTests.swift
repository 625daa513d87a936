@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("Encrypted objects")
struct ObjectTests {
  static let place = "00112233445566778899aabbccddeeff/ffeeddccbbaa99887766554433221100/"
  static let stem = "0000000000000001-0000000000000002-ffe619817ca717e9-"
  static let name = "\(place)\(stem)0000000000000000.run"

  private let vault: VaultID
  private let otherVault: VaultID
  private let key: EpochKey
  private let otherKey: EpochKey
  private let name: ObjectName

  init() throws {
    var random = SeededGenerator(seed: 5)
    vault = VaultID.random(using: &random)
    otherVault = VaultID.random(using: &random)
    key = EpochKey(epoch: EpochID(of: [1]), bytes: random.next32Bytes())
    otherKey = EpochKey(epoch: EpochID(of: [2]), bytes: random.next32Bytes())
    name = try ObjectName(Self.name)
  }

  private func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return (0..<(count + 7) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }.dropLast(
      (8 - count % 8) % 8)
  }

  private func seal(_ content: [UInt8]) throws -> (name: ObjectName, bytes: [UInt8]) {
    try SealedObject.seal(content, name: name, vault: vault, key: key)
  }

  private func open(
    _ bytes: [UInt8], _ name: ObjectName, vault: VaultID? = nil, keys: [EpochKey]? = nil
  ) throws -> [UInt8] {
    try SealedObject.open(
      bytes, name: name, vault: vault ?? self.vault,
      keys: Dictionary(uniqueKeysWithValues: (keys ?? [key]).map { ($0.epoch, $0) }))
  }

  @Test("content of every size comes back, in an object of its size class")
  func sizes() throws {
    let classes = [
      (0, 512), (1, 512), (508, 512), (509, 1_024), (1_020, 1_024), (1_021, 2_048), (2_044, 2_048),
      (4_092, 4_096), (4_093, 8_192),
      (32_764, 32_768), (32_765, 65_536), (65_532, 65_536), (65_533, 131_072), (131_068, 131_072),
      (131_069, 196_608), (200_000, 262_144),
    ]
    for (count, padded) in classes {
      let content = content(count)
      let made = try seal(content)
      let chunks = (padded + 65_535) / 65_536
      #expect(made.bytes.count == 41 + padded + 16 * chunks, "\(count)")
      #expect(made.bytes.count == ObjectLayout.objectByteCount(count))
      #expect(try open(made.bytes, made.name) == content)
    }
    #expect(ObjectLayout.chunkCountMax == 2_049)
  }

  @Test("the same content makes the same object, and another content shares neither name nor key")
  func deterministic() throws {
    let content = content(150_000)
    let made = try seal(content)
    #expect(try seal(content) == made)
    #expect(try SealedObject.seal(content, name: made.name, vault: vault, key: key) == made)
    var other = content
    other[149_999] ^= 1
    let changed = try seal(other)
    #expect(changed.name != made.name)
    #expect(Array(changed.bytes[41..<141]) != Array(made.bytes[41..<141]))
    #expect(changed.name.text.dropLast(20) == made.name.text.dropLast(20))
    #expect(try ObjectHeader(made.bytes).salt.starts(with: made.name.content))
  }

  @Test("no plaintext, and nothing else of a content, is in an object or its name")
  func leaksNothing() throws {
    let text = Array("papers 2101.09077v1 a title".utf8)
    let made = try seal((0..<40).flatMap { _ in text })
    #expect(!made.bytes.contains(text) && !made.bytes.contains(Array("papers".utf8)))
    // Contents of one size class differ in no byte that does not look random: length and padding are encrypted.
    let (one, two) = (try seal(content(1)), try seal(content(508)))
    #expect(one.bytes.count == two.bytes.count)
    #expect(one.bytes.prefix(25) == two.bytes.prefix(25))
  }

  @Test("no byte of an object can be another, be missing or be added")
  func everyByte() throws {
    let made = try seal(content(900))
    for place in made.bytes.indices {
      var changed = made.bytes
      changed[place] ^= 1 << UInt8(place % 8)
      #expect(refusal { try open(changed, made.name) } != nil, "byte \(place)")
      #expect(refusal { try open(Array(made.bytes.prefix(place)), made.name) } != nil, "\(place) bytes")
    }
    for more in [1, 15, 16, 17, 1_040, 70_000] {
      let longer = made.bytes + [UInt8](repeating: 0, count: more)
      #expect(refusal { try open(longer, made.name) } == .doesNotDecrypt(chunk: 0))
    }
    var later = made.bytes
    later[8] = 2
    #expect(refusal { try open(later, made.name) } == .laterVersion(2))
    // Not even a salt that the name allows.
    var salted = made.bytes
    salted[40] ^= 1
    #expect(refusal { try open(salted, made.name) } == .doesNotDecrypt(chunk: 0))
  }

  @Test("chunks that are swapped, repeated, left out, cut off or of another object are refused")
  func chunks() throws {
    let made = try seal(content(200_000))
    let header = Array(made.bytes.prefix(41))
    let chunks = stride(from: 41, to: made.bytes.count, by: 65_552).map {
      Array(made.bytes[$0..<min($0 + 65_552, made.bytes.count)])
    }
    #expect(chunks.count == 4 && header + chunks.joined() == made.bytes)
    let other = try seal(content(200_000, seed: 2))
    let foreign = Array(other.bytes[41..<41 + 65_552])
    let arrangements: [([[UInt8]], UInt64)] = [
      ([chunks[1], chunks[0], chunks[2], chunks[3]], 0), ([chunks[0], chunks[2], chunks[1], chunks[3]], 1),
      ([chunks[0], chunks[0], chunks[1], chunks[2], chunks[3]], 1), ([chunks[0], chunks[2], chunks[3]], 1),
      ([chunks[0], chunks[1], chunks[3]], 2), ([chunks[0], chunks[1], chunks[2]], 2), ([chunks[0]], 0),
      ([chunks[3]], 0), ([], 0), (chunks + [chunks[3]], 3), (chunks + [[]] + [[0]], 3),
      ([foreign, chunks[1], chunks[2], chunks[3]], 0), ([chunks[0], foreign, chunks[2], chunks[3]], 1),
    ]
    for (number, (arrangement, chunk)) in arrangements.enumerated() {
      #expect(
        refusal { try open(header + arrangement.joined(), made.name) } == .doesNotDecrypt(chunk: chunk),
        "\(number)")
    }
  }

  @Test("an object is of one name, one vault and one epoch")
  func elsewhere() throws {
    let made = try seal(content(100))
    for changed in [
      made.name.text.replacing("0000000000000002-", with: "0000000000000003-"),
      made.name.text.replacing("00112233", with: "00112234"),
      made.name.text.replacing(".run", with: ".checkpoint"), "x/" + made.name.text,
    ] {
      #expect(refusal { try open(made.bytes, ObjectName(changed)) } == .doesNotDecrypt(chunk: 0))
    }
    #expect(
      refusal { try open(made.bytes, name) } == .malformed("an object whose salt is not the one in its name"))
    #expect(refusal { try open(made.bytes, made.name, vault: otherVault) } == .doesNotDecrypt(chunk: 0))
    #expect(
      refusal { try open(made.bytes, made.name, keys: [otherKey]) }
        == .malformed("no key of epoch \(key.epoch) is known"))
    let mistaken = EpochKey(epoch: key.epoch, bytes: otherKey.bytes)
    #expect(refusal { try open(made.bytes, made.name, keys: [mistaken]) } == .doesNotDecrypt(chunk: 0))
    // The header is authenticated, even where the key would be the same.
    let renamed = EpochKey(epoch: otherKey.epoch, bytes: key.bytes)
    var moved = made.bytes
    moved.replaceSubrange(9..<25, with: otherKey.epoch.bytes)
    #expect(refusal { try open(moved, made.name, keys: [renamed]) } == .doesNotDecrypt(chunk: 0))
  }

  /// An object whose chunks contain just this, in pieces of these sizes, with a salt of one's own.
  private func forge(_ text: [UInt8], salt: [UInt8]) throws -> (name: ObjectName, bytes: [UInt8]) {
    let header = ObjectHeader(epoch: key.epoch, salt: salt)
    let name = name.replacingContent(by: Array(salt.prefix(8)))
    let objectKey = ObjectKey(key, header: header, vault: vault, name: name)
    var bytes = header.bytes
    let starts = Array(stride(from: 0, to: max(text.count, 1), by: 65_536))
    for (number, start) in starts.enumerated() {
      bytes += objectKey.seal(
        Array(text[start..<min(start + 65_536, text.count)]), chunk: UInt64(number),
        isLast: number == starts.count - 1)
    }
    return (name, bytes)
  }

  @Test("a member that breaks a rule of the layout is refused")
  func layout() throws {
    let content = content(100)
    let salt = ObjectKey.salt(key, content: SHA256Hasher.digest(of: content), vault: vault, name: name)
    func padded(_ length: UInt32, _ content: [UInt8], _ count: Int) -> [UInt8] {
      let text = withUnsafeBytes(of: length.littleEndian) { Array($0) } + content
      return text + [UInt8](repeating: 0, count: max(0, count - text.count))
    }
    func refused(_ text: [UInt8], salt: [UInt8]) throws -> String? {
      let object = try forge(text, salt: salt)
      return refusal { try open(object.bytes, object.name) }?.description
    }
    let right = try forge(padded(100, content, 512), salt: salt)
    #expect(try open(right.bytes, right.name) == content)
    let classes = "an object that is not padded to the size class of its content"
    #expect(try refused(padded(100, content, 2_048), salt: salt) == classes)
    #expect(try refused(padded(100, content, 1_025), salt: salt) == classes)
    #expect(try refused(padded(100, content, 65_536), salt: salt) == classes)
    #expect(try refused(padded(100, content, 131_072), salt: salt) == classes)
    for short in [0, 1, 3, 4, 104, 511] {
      #expect(
        try refused(Array(padded(100, content, 512).prefix(short)), salt: salt)
          == "an object that is not padded to a size class")
    }
    #expect(try refused(padded(509, content, 512), salt: salt) == classes)
    #expect(
      try refused(padded(134_217_729, content, 512), salt: salt)
        == "a content of 134217729 bytes, the most is 134217728")
    #expect(try refused(padded(.max, content, 512), salt: salt) != nil)
    for place in [104, 300, 511] {
      var text = padded(100, content, 512)
      text[place] = 1
      #expect(try refused(text, salt: salt) == "an object whose padding is not zeros")
    }
    #expect(
      try refused(padded(100, content, 512), salt: Array(salt.reversed()))
        == "an object whose salt is not that of its content")
  }

  @Test("an object of more chunks than the largest content has is refused")
  func tooManyChunks() throws {
    let header = ObjectHeader(epoch: key.epoch, salt: [UInt8](repeating: 0, count: 16))
    let chunks = [UInt8](repeating: 0, count: 2_049 * 65_552)
    #expect(refusal { try open(header.bytes + chunks, name) } == .doesNotDecrypt(chunk: 0))
    #expect(
      refusal { try open(header.bytes + chunks + [0], name) }
        == .malformed("an object of more than 2049 chunks"))
  }

  @Test("a content that is larger than the largest makes no object")
  func tooLarge() throws {
    #expect(
      refusal { try seal([UInt8](repeating: 0, count: 134_217_729)) }
        == .malformed("a content of 134217729 bytes, the most is 134217728"))
  }

  @Test("a name has its content before the ending, and nothing but plain characters")
  func names() throws {
    #expect(try ObjectName(Self.name).content == [UInt8](repeating: 0, count: 8))
    #expect(try ObjectName("0123456789abcdef.x").content == [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF])
    #expect(try ObjectName(String(repeating: "n", count: 237) + "0123456789abcdef.x").text.utf8.count == 255)
    for text in [
      "", ".run", "0123456789abcdef", "0123456789abcdef.", "0123456789abcde.run", "0123456789ABCDEF.run",
      "0123456789abcdefg.run", " 0123456789abcdef.run", "é0123456789abcdef.run", "\u{7F}0123456789abcdef.run",
      "0123456789abcdef.run\n", "0123456789abcdef.tar.gz",
      String(repeating: "n", count: 238) + "0123456789abcdef.x",
    ] {
      #expect(refusal { try ObjectName(text) } != nil, "\(text)")
    }
  }
}
