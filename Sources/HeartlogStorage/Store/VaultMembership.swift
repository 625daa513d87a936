import HeartlogFormat

/// The vault that a store belongs to, as its file `store` says. Source: docs/format.md, "Vaults".
package struct VaultMembership: Hashable, Sendable {
  /// The vault.
  package var id: VaultID
  /// Whether the store has synced with another store of the vault. Until then it may join any other vault.
  package var isEstablished: Bool
  /// The vaults that it, or a store that it met, belonged to before, the last one first.
  package var former: [VaultID]

  package init(_ id: VaultID, isEstablished: Bool = false, former: [VaultID] = []) {
    self.id = id
    self.isEstablished = isEstablished
    self.former = former
  }

  /// The most former vaults that are remembered.
  package static let formerMax = 16

  /// The store's membership after it agreed on a vault with another store. Both remember the other's vaults: devices that are still in one
  /// of them follow either of the two.
  package func joined(
    _ vault: VaultID, with other: VaultMembership? = nil, isEstablished: Bool
  ) -> VaultMembership {
    var former: [VaultID] = []
    for id in [id] + self.former + (other.map { [$0.id] + $0.former } ?? [])
    where id != vault && !former.contains(id) {
      former.append(id)
    }
    return VaultMembership(
      vault, isEstablished: isEstablished || (vault == id && self.isEstablished),
      former: Array(former.prefix(Self.formerMax)))
  }

  var lines: [String] {
    ["vault \(id) \(isEstablished ? "established" : "provisional")"] + former.map { "former \($0)" }
  }

  /// Takes the lines of a vault from the front of others; nil if there are none.
  ///
  /// - Throws: `MalformedError` for lines that break a rule.
  init?(_ lines: inout ArraySlice<ArraySlice<UInt8>>) throws(MalformedError) {
    guard let value = lines.first.flatMap({ ChecksummedText.value(of: "vault", in: $0) }) else { return nil }
    let words = value.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let id = VaultID(words[0]), ["established", "provisional"].contains(words[1])
    else {
      throw MalformedError("a vault that is not an id and its state")
    }
    self.init(id, isEstablished: words[1] == "established")
    lines.removeFirst()
    while let former = lines.first.flatMap({ ChecksummedText.value(of: "former", in: $0) }) {
      guard let id = VaultID(former), self.former.count < Self.formerMax else {
        throw MalformedError("a former vault that is not an id")
      }
      self.former.append(id)
      lines.removeFirst()
    }
  }
}
