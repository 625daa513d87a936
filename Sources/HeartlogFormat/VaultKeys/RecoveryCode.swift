/// The secret that a person keeps on paper: the seed of a member that is no device.
package struct RecoveryCode: Sendable {
  /// The key that signs for the code.
  package let key: SigningKey

  private static let checksumByteCount = 3
  private static let characterCount = 56
  private static let groupCharacterCount = 4
  private static let textBytesMax = 1_024

  /// Makes a new code.
  package init(using generator: inout some RandomNumberGenerator) { key = SigningKey(using: &generator) }

  /// Creates the code of 32 secret bytes; nil for any other count.
  package init?(secret: [UInt8]) {
    guard let key = SigningKey(seed: secret) else { return nil }
    self.key = key
  }

  /// The key to which epochs are wrapped.
  package var agreementKey: AgreementKey { AgreementKey(of: key) }

  /// The code as a member of a vault.
  package func member(of vault: VaultID) -> Member {
    do {
      return try Member(key, agreementKey: agreementKey, vault: vault)
    } catch {
      preconditionFailure("a key in memory signs any message")
    }
  }

  /// The code as it is written down: 14 groups of 4 characters.
  package var text: String {
    let characters = Base32.text(key.seed + Self.checksum(key.seed))
    return stride(from: 0, to: Self.characterCount, by: Self.groupCharacterCount)
      .map { String(decoding: characters[$0..<$0 + Self.groupCharacterCount], as: UTF8.self) }
      .joined(separator: "-")
  }

  /// Reads what a person typed. Spaces, hyphens and lower case do not matter.
  ///
  /// - Throws: `MalformedError`, which says where the mistake is as far as that can be told.
  package init(text: some StringProtocol) throws(MalformedError) {
    guard text.utf8.count <= Self.textBytesMax else {
      throw MalformedError("a recovery code has \(Self.characterCount) letters and digits")
    }
    var values: [UInt8] = []
    for character in text.unicodeScalars where !Self.isIgnored(character) {
      guard let value = Base32.value(of: character) else {
        throw MalformedError(
          "\"\(Self.shown(character))\" in group \(Self.group(of: values.count)) is no character of a recovery code"
        )
      }
      values.append(value)
    }
    guard values.count == Self.characterCount else {
      throw MalformedError(
        "a recovery code has \(Self.characterCount) letters and digits, this one has \(values.count)")
    }
    guard let secret = Self.secret(of: values), let code = RecoveryCode(secret: secret) else {
      throw MalformedError(Self.explanation(of: values))
    }
    self = code
  }

  /// The secret, if the checksum fits.
  private static func secret(of values: [UInt8]) -> [UInt8]? {
    let bytes = Base32.bytes(of: values)
    let secret = Array(bytes.dropLast(checksumByteCount))
    return checksum(secret) == Array(bytes.suffix(checksumByteCount)) ? secret : nil
  }

  private static func checksum(_ secret: [UInt8]) -> [UInt8] {
    Array(SHA256Hasher.digest(of: KeyLabel.recovery.followed(by: secret)).bytes.prefix(checksumByteCount))
  }

  /// Looks for the one character, or the two neighbors in the wrong order, that would explain a wrong checksum. Of 2^24 checksums, some
  /// 1,800 are those of such mistakes, so a wrong explanation is rare.
  private static func explanation(of values: [UInt8]) -> String {
    var places: Set<Int> = []
    for place in values.indices {
      var other = values
      for value in 0..<UInt8(32) where value != values[place] {
        other[place] = value
        if secret(of: other) != nil { places.insert(group(of: place)) }
      }
      other[place] = values[place]
      guard place + 1 < values.count, values[place] != values[place + 1] else { continue }
      other.swapAt(place, place + 1)
      if secret(of: other) != nil { places.insert(group(of: place)) }
    }
    guard places.count == 1, let group = places.first else {
      return "the recovery code has more than one wrong character, or is not one"
    }
    return "the recovery code has a mistake in group \(group)"
  }

  /// The number of the group that a character is in, from 1 on.
  private static func group(of place: Int) -> Int {
    min(place, characterCount - 1) / groupCharacterCount + 1
  }

  private static func isIgnored(_ character: Unicode.Scalar) -> Bool {
    [" ", "\t", "\n", "\r", "-"].contains(character)
  }

  /// A character that a message can contain.
  private static func shown(_ character: Unicode.Scalar) -> String {
    character.properties.generalCategory == .control ? character.escaped(asASCII: true) : String(character)
  }
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
  /// Not the code: secrets do not get into messages.
  package var description: String { "recovery code of \(key.publicKey)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Crockford's base32 of whole groups of five bytes.
private enum Base32 {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  static func text(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count % 5 == 0)
    return Base64.regroup(bytes, of: 8, into: 5).map { alphabet[Int($0)] }
  }

  static func bytes(of values: [UInt8]) -> [UInt8] { Base64.regroup(values, of: 5, into: 8) }

  /// The five bits of a character, of either case; `O`, `I` and `L` are the digits that they look like.
  static func value(of character: Unicode.Scalar) -> UInt8? {
    guard character.isASCII else { return nil }
    var byte = UInt8(ascii: character)
    if (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) { byte -= 32 }
    switch byte {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: byte).map { UInt8($0) }
    }
  }
}
