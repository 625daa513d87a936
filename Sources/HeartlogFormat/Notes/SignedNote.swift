/// A text with signatures. Source: C2SP signed-note.
package struct SignedNote: Hashable, Sendable {
  /// The text that is signed: lines that each end with a line feed.
  package let text: String
  /// The lines below the text, in their order. A note has at least one.
  package private(set) var signatures: [NoteSignature]

  /// The most bytes of a note that is read.
  package static let bytesMax = 65_536
  /// The most signatures of a note that is read.
  package static let signaturesMax = 100

  /// Creates a note.
  ///
  /// - Throws: `MalformedError` if the text does not end with a line feed or has control characters.
  package init(text: String, signatures: [NoteSignature]) throws(MalformedError) {
    guard text.hasSuffix("\n"), Self.isPlain(text) else {
      throw MalformedError("a note whose text is not lines of plain text")
    }
    self.text = text
    self.signatures = signatures
  }

  /// Parses a note.
  ///
  /// - Throws: `MalformedError`.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard bytes.count <= Self.bytesMax, let whole = String(validating: bytes, as: UTF8.self),
      Self.isPlain(whole)
    else { throw MalformedError("a note that is not plain text of at most \(Self.bytesMax) bytes") }
    let lines = whole.split(separator: "\n", omittingEmptySubsequences: false)
    // The text ends at the last empty line but one; the very last follows the final line feed.
    guard lines.count >= 3, lines.last?.isEmpty == true,
      let end = lines.dropLast().lastIndex(where: \.isEmpty), end > 0
    else { throw MalformedError("a note without an empty line between text and signatures") }
    let below = lines[(end + 1)...].dropLast()
    guard (1...Self.signaturesMax).contains(below.count) else {
      throw MalformedError("a note of \(below.count) signatures")
    }
    text = lines[..<end].map { $0 + "\n" }.joined()
    signatures = []
    for line in below { signatures.append(try NoteSignature(line)) }
  }

  /// The note as it is stored and sent.
  package var bytes: [UInt8] {
    Array((text + "\n" + signatures.map { $0.line + "\n" }.joined()).utf8)
  }

  /// Adds a signature behind the first one, which is the owner's, unless it is there. The others are sorted by name, so that the same
  /// signatures make the same note.
  package mutating func add(_ signature: NoteSignature) {
    guard !signatures.contains(signature) else { return }
    let index = signatures.dropFirst().firstIndex { signature.name < $0.name } ?? signatures.endIndex
    signatures.insert(signature, at: index)
  }

  mutating func removeSignatures(where isRemoved: (NoteSignature) -> Bool) {
    signatures.removeAll(where: isRemoved)
  }

  /// Returns whether the note has a valid Ed25519 signature of a key with this name.
  package func isSigned(by key: PublicKey, named name: String) -> Bool {
    signature(of: key, named: name) != nil
  }

  /// The first valid Ed25519 signature of a key with this name.
  func signature(of key: PublicKey, named name: String) -> Signature? {
    let message = Array(text.utf8)
    for line in signatures where line.isOf(key, named: name, .ed25519) {
      if let signature = Signature(bytes: line.signature), key.verifies(signature, of: message) {
        return signature
      }
    }
    return nil
  }

  /// No control characters but line feeds.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 || $0 == UInt8(ascii: "\n") }
  }
}

/// A line of signature below a note: `— NAME BASE64`.
package struct NoteSignature: Hashable, Sendable {
  /// The name of the key.
  package let name: String
  /// The key's id: the first four bytes of a hash of name, algorithm and key. Ids may collide; only a signature that verifies counts.
  package let keyID: [UInt8]
  /// What the algorithm signs with: for Ed25519 the signature, for a cosignature its time before it.
  package let signature: [UInt8]

  /// How a key signs. The number is part of the key's id.
  package enum Algorithm: UInt8, Sendable {
    /// Ed25519 over the note's text.
    case ed25519 = 1
    /// A cosignature: Ed25519 over a time and the note's text. Source: C2SP tlog-cosignature.
    case cosignature = 4
  }

  init(of key: PublicKey, named name: String, _ algorithm: Algorithm, _ signature: [UInt8]) {
    self.name = name
    keyID = Self.keyID(of: key, named: name, algorithm)
    self.signature = signature
  }

  init(_ line: some StringProtocol) throws(MalformedError) {
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "\u{2014}", Self.isName(parts[1]), let bytes = Base64.bytes(parts[2]),
      bytes.count > Self.keyIDByteCount
    else { throw MalformedError("a line of a note that is not a signature") }
    name = String(parts[1])
    keyID = Array(bytes.prefix(Self.keyIDByteCount))
    signature = Array(bytes.dropFirst(Self.keyIDByteCount))
  }

  static let keyIDByteCount = 4

  var line: String { "\u{2014} \(name) \(Base64.text(keyID + signature))" }

  /// Whether a key may have this name: not empty, without spaces and plus signs.
  static func isName(_ name: some StringProtocol) -> Bool {
    !name.isEmpty && !name.unicodeScalars.contains { $0 == "+" || $0.properties.isWhitespace }
  }

  /// The id of a key: the first four bytes of SHA-256(name ‖ 0A ‖ algorithm ‖ public key).
  static func keyID(of key: PublicKey, named name: String, _ algorithm: Algorithm) -> [UInt8] {
    Array(
      SHA256Hasher.digest(of: Array(name.utf8) + [0x0A, algorithm.rawValue] + key.bytes).bytes
        .prefix(keyIDByteCount))
  }

  /// Returns whether the line names this key.
  func isOf(_ key: PublicKey, named name: String, _ algorithm: Algorithm) -> Bool {
    self.name == name && keyID == Self.keyID(of: key, named: name, algorithm)
  }
}
