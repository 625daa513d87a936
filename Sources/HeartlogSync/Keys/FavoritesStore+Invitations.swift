import Heartlog
import HeartlogFormat

/// A carrier through a place to which a device can be invited.
package protocol InvitingCarrier: Carrier {
  /// The place as another device names it, and where a bucket is.
  func address(of vault: VaultID) -> (place: String, endpoint: String?)
}

extension FolderCarrier: InvitingCarrier {
  package func address(of vault: VaultID) -> (place: String, endpoint: String?) { (description, nil) }
}

/// Letting a device in with one line: "Invitations" in docs/encryption.md.
extension FavoritesStore {
  /// Invites a device: syncs, and returns a line with which ``join(_:through:options:)`` lets it in, once.
  ///
  /// - Parameters:
  ///   - carrier: Through a folder, a hub, a share or a bucket, by which the other device will sync.
  ///   - seconds: How long the line is good, a day unless something else is said. Without encryption, a line for a folder or storage has no secret and no end.
  ///   - options: For the syncs that this takes.
  /// - Throws: `invalid` if the carrier leads to another device, `noKey` if this device is no member of the vault, and what a sync throws.
  public func invitation(
    to carrier: any Carrier, goodForSeconds seconds: Int = 86_400,
    options: SyncOptions = SyncOptions()
  ) throws(HeartlogError) -> String {
    guard let place = carrier as? any InvitingCarrier else {
      throw HeartlogError(
        .invalid,
        "a device is invited to a folder, a hub, a share or a bucket; another device lets it in by a pairing")
    }
    guard 1...HubLimits.invitationSecondsMax ~= seconds else {
      throw HeartlogError(
        .invalid, "an invitation is good for 1 to \(HubLimits.invitationSecondsMax) seconds")
    }
    // Only now the vault is the one that all know.
    _ = try carrier.sync(self, options: options)
    guard let vault = vaultID else { throw HeartlogError(.invalid, "this store has no vault yet") }
    var key: SigningKey?
    if vault.isEncrypted {
      var keys = try VaultKeys(of: self)
      key = try keys.invite(until: options.clock() + Milliseconds(seconds) * 1_000)
      _ = try carrier.sync(self, options: options)
    } else if let hub = carrier as? HubCarrier {
      var generator = generator
      let made = SigningKey(using: &generator)
      try hub.invite(made.publicKey, seconds: seconds, for: self)
      key = made
    }
    let (address, endpoint) = place.address(of: vault)
    return Invitation(to: vault, key: key, place: address, endpoint: endpoint).text
  }

  /// Joins the vault of an invitation, and syncs with it. After their next sync, this device is among the `devices` of the others.
  ///
  /// - Parameters:
  ///   - line: What ``invitation(to:goodForSeconds:options:)`` returned.
  ///   - carrier: Through the place that the line names, or the same folder under another name.
  ///   - options: For the sync.
  /// - Throws: `invalid` if it is no line of an invitation, `otherVault` if this store belongs to another vault with other devices and the
  ///   options do not say to join, `noKey` or `notAdmitted` if it is not good any more, and what a sync throws.
  @discardableResult
  public func join(
    _ line: String, through carrier: any Carrier, options: SyncOptions = SyncOptions()
  ) throws(HeartlogError) -> SyncReport {
    let invitation: Invitation
    do throws(MalformedError) { invitation = try Invitation(text: line) } catch {
      throw HeartlogError(.invalid, error.description)
    }
    return try join(invitation, through: carrier, options: options)
  }

  package func join(
    _ invitation: Invitation, through carrier: any Carrier, options: SyncOptions
  ) throws(HeartlogError) -> SyncReport {
    // A line that somebody sent must not take a store out of its vault.
    if let mine = vault, mine.isEstablished, mine.id != invitation.vault, !options.joinsVault {
      throw .otherVault(mine: mine.id, theirs: invitation.vault)
    }
    do throws(HeartlogError) {
      // The device must have a key that can be admitted.
      try prepareToShip()
      try announceDevice()
      if let key = invitation.key {
        if invitation.vault.isEncrypted {
          try VaultKeys.join(invitation.vault, with: key, self)
        } else if let hub = carrier as? HubCarrier {
          try hub.accept(key, for: self)
        }
      }
      return try carrier.sync(self, options: options)
    } catch {
      // What was put admits this device without it; otherwise the person joins again.
      try VaultKeys.forgetInvitation(in: self)
      guard error.code == .notAdmitted, invitation.key != nil else { throw error }
      throw HeartlogError(
        .notAdmitted,
        "the invitation is not good any more: it was used or withdrawn, or its time is over. Ask for another one"
      )
    }
  }

  /// Withdraws the invitations to this store's vault that nobody has used: those of an encrypted one, and those at a hub.
  ///
  /// - Parameters:
  ///   - carrier: Through the place that the lines name.
  ///   - options: For the syncs that this takes.
  /// - Returns: How many there were.
  /// - Throws: `noKey` if this device is no member of the vault, and what a sync throws.
  @discardableResult
  public func withdrawInvitations(
    at carrier: any Carrier, options: SyncOptions = SyncOptions()
  ) throws(HeartlogError) -> Int {
    _ = try carrier.sync(self, options: options)
    guard vaultID?.isEncrypted == true else {
      return try (carrier as? HubCarrier)?.withdrawInvitations(for: self) ?? 0
    }
    var keys = try VaultKeys(of: self)
    let count = try keys.withdrawInvitations()
    if count > 0 { _ = try carrier.sync(self, options: options) }
    return count
  }
}
