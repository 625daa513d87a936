import Heartlog
import HeartlogFormat

/// The vault that two stores agree on when they meet. The rule is specified in "Vaults" in docs/shipping.md.
package enum VaultAgreement: Hashable {
  /// Neither store has a vault.
  case none
  /// Both belong to this vault from now on.
  case vault(VaultID)
  /// They belong to different vaults, which this person would have to join on purpose.
  case refused(mine: VaultID, theirs: VaultID)

  /// What one end says of its vault.
  package struct Side: Hashable {
    var membership: VaultMembership
    /// Whether its store has no commits.
    var isEmpty = false
    /// Whether a person asked to join the other end's vault.
    var joins = false

    /// Whether it may join any vault.
    fileprivate var isFree: Bool {
      joins || !membership.id.isEncrypted && (isEmpty || !membership.isEstablished)
    }
  }

  /// Both ends come to the same result.
  package init(_ mine: Side?, _ theirs: Side?) {
    guard let mine, let theirs else {
      self = (mine ?? theirs).map { .vault($0.membership.id) } ?? .none
      return
    }
    let (one, other) = (mine.membership, theirs.membership)
    // Whoever left a vault for another is followed by the devices of the one it left. Nobody follows out of an encrypted one without a person.
    let iFollow = other.former.contains(one.id) && !one.id.isEncrypted
    let theyFollow = one.former.contains(other.id) && !other.id.isEncrypted
    if iFollow && theyFollow {
      self = .vault(min(one.id, other.id))
    } else if iFollow || one.id == other.id {
      self = .vault(other.id)
    } else if theyFollow {
      self = .vault(one.id)
    } else if mine.isFree, theirs.isFree {
      self = .vault(Self.preferred(mine, theirs))
    } else if mine.isFree {
      self = .vault(other.id)
    } else if theirs.isFree {
      self = .vault(one.id)
    } else {
      self = .refused(mine: one.id, theirs: other.id)
    }
  }

  /// The vault to which both belong from now on; `nil` if neither has one.
  ///
  /// - Throws: `otherVault` if they do not agree.
  package var vault: VaultID? {
    get throws(HeartlogError) {
      switch self {
      case .none: nil
      case .vault(let vault): vault
      case .refused(let mine, let theirs): throw .otherVault(mine: mine, theirs: theirs)
      }
    }
  }

  /// Of two stores that may both join the other's vault: an established vault first, then one with commits, then the smaller id.
  private static func preferred(_ a: Side, _ b: Side) -> VaultID {
    func rank(_ side: Side) -> Int {
      (side.joins ? 4 : 0) + (side.membership.isEstablished ? 0 : 2) + (side.isEmpty ? 1 : 0)
    }
    if rank(a) != rank(b) { return rank(a) < rank(b) ? a.membership.id : b.membership.id }
    return min(a.membership.id, b.membership.id)
  }
}

extension FavoritesStore {
  /// Makes the store a member of the vault that it agreed on with another store, unless it is one and knows the other's.
  func join(_ vault: VaultID, with other: VaultMembership) throws(HeartlogError) {
    let joined = self.vault?.joined(vault, with: other, isEstablished: true)
    if joined != self.vault || joined == nil { try join(vault, with: other, isEstablished: true) }
  }
}

extension HeartlogError {
  /// The error for stores of different vaults.
  package static func otherVault(mine: VaultID, theirs: VaultID) -> HeartlogError {
    HeartlogError(
      .otherVault,
      "the stores belong to different vaults, \(mine) here and \(theirs) there")
  }
}
