import Heartlog
import HeartlogFormat
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A carrier through a hub: a server that keeps the objects of a vault for its devices, and tells them at once when there are new ones.
///
/// Its address is `https://host[:port][/prefix][/VAULT]`. Without a vault, it is the one that the store belongs to; the first sync creates
/// it at the hub. With one, the store joins that vault, once an invitation of a device that is in it has let this one in. To an encrypted
/// vault its recovery code admits, too. The protocol is specified in docs/hub.md.
public final class HubCarrier: InvitingCarrier {
  private struct Link: Sendable {
    let connection: HubConnection
    let changes: HubWatch
    let carrier: PlaceCarrier
  }

  private let address: HubAddress
  private let invitation: String?
  private let transport: any HTTPTransport
  private let time: RetryTiming
  /// The last vault and key that something was done with. Both may change while a store is in use.
  private let link = Mutex<Link?>(nil)

  public var description: String { address.description }

  /// Creates a carrier through the hub at an address.
  ///
  /// - Parameters:
  ///   - url: The address of the hub.
  ///   - invitation: The word that the hub's operator gave for a new vault, if the hub wants one.
  /// - Throws: `invalid` if the URL is not the address of a hub, or if there is a user or a password in it.
  public convenience init(_ url: URL, invitation: String? = nil) throws(HeartlogError) {
    try self.init(url.absoluteString, invitation: invitation)
  }

  package convenience init(_ text: String, invitation: String? = nil) throws(HeartlogError) {
    self.init(try HubAddress(text), invitation: invitation, over: systemTransport())
  }

  package init(
    _ address: HubAddress, invitation: String? = nil, over transport: any HTTPTransport,
    time: RetryTiming = .system
  ) {
    self.address = address
    self.invitation = invitation
    self.transport = transport
    self.time = time
  }

  /// Receives what other devices put, and puts what is missing.
  ///
  /// After a watch, it takes what the hub told meanwhile, without asking it again.
  ///
  /// What a hub sends can do no harm: an object that is not whole, or was not signed by the device it is said to be of, is left alone.
  ///
  /// - Throws: `HeartlogError`; `notAdmitted` if another device must admit this one first, `otherVault`, `diskFull` if the vault's quota is
  ///   full, `timedOut` if the hub does not serve now, `inputOutput` if the connection failed, `peer` if the answers are none, and
  ///   what the store throws.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    do throws(HeartlogError) {
      // A vault has its id from the first signature on.
      if !options.isDryRun { try store.prepareToShip() }
      // An encrypted vault has an id of its own, under which the hub knows it.
      if options.encrypts, !options.isDryRun, !options.isPull {
        try VaultKeys.encrypt(store, at: options.clock())
      }
      let link = try link(of: store)
      link.connection.beginSync()
      defer { link.connection.endSync() }
      let isOver: @Sendable () -> Bool = { options.isOver }
      let target = link.connection.vault
      try link.connection.open(creates: !options.isDryRun && store.vaultID == target, isOver: isOver)
      try meet(target, store, options)
      let place = HubPlace(link.connection, changes: link.changes, isOver: isOver) {
        () throws(HeartlogError) in
        // What the devices there say decides which vault the store is in by now.
        guard let vault = store.vault, vault.id == target || vault.former.contains(target) else {
          throw .otherVault(mine: store.vaultID ?? target, theirs: target)
        }
      }
      return try link.carrier.sync(store, through: place, options: options)
    } catch {
      guard error.isEarlyEnd else { throw error }
      return .unfinished(options)
    }
  }

  /// Waits until the hub tells of objects that no sync of this carrier has seen. A connection for this stays open until the carrier goes, or
  /// nobody has waited for five minutes.
  ///
  /// - Parameters:
  ///   - store: The store to sync.
  ///   - milliseconds: How long to wait at most.
  ///   - isCancelled: Called several times a second; once it returns true, the call ends.
  /// - Returns: Whether there is something to sync. True before the first sync.
  /// - Throws: `HeartlogError`, as `sync` does.
  public func watch(
    _ store: FavoritesStore, milliseconds: Int, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(HeartlogError) -> Bool {
    guard !isCancelled() else { return false }
    let link = try link(of: store)
    guard let cursor = link.carrier.cursor else { return true }
    do throws(HeartlogError) {
      return try HubPlace(link.connection, changes: link.changes, isOver: isCancelled)
        .watch(after: cursor, milliseconds: milliseconds)
    } catch {
      guard error.isEarlyEnd else { throw error }
      return false
    }
  }

  /// Ends the connection of the watch, if there is one. A later sync or watch opens another one.
  func disconnect() { link.withLock { $0 }?.changes.close() }

  // MARK: - Keys

  /// The keys of the devices that the hub admits to the store's vault, sorted.
  ///
  /// - Throws: `HeartlogError`, as `sync` does.
  package func admittedKeys(for store: FavoritesStore) throws(HeartlogError) -> [PublicKey] {
    try link(of: store).connection.keys { false }
  }

  /// Admits the device with a key: it may read and write the vault from now on.
  ///
  /// - Returns: The keys that are admitted now, sorted.
  /// - Throws: `HeartlogError`, as `sync` does.
  @discardableResult
  package func admit(_ key: PublicKey, for store: FavoritesStore) throws(HeartlogError) -> [PublicKey] {
    try link(of: store).connection.changeKeys(admitting: [key]) { false }
  }

  /// Removes a key: the device with it may no longer read or write at the hub. What it has, it keeps.
  ///
  /// - Returns: The keys that are admitted now, sorted.
  /// - Throws: `HeartlogError`, as `sync` does. At least one key stays.
  @discardableResult
  public func remove(_ key: PublicKey, for store: FavoritesStore) throws(HeartlogError) -> [PublicKey] {
    try link(of: store).connection.changeKeys(removing: [key]) { false }
  }

  package func address(of vault: VaultID) -> (place: String, endpoint: String?) {
    (address.address(of: vault), nil)
  }

  /// Lets the key of an invitation admit one device within so many seconds.
  func invite(_ key: PublicKey, seconds: Int, for store: FavoritesStore) throws(HeartlogError) {
    try link(of: store).connection.changeKeys(inviting: key, seconds: seconds) { false }
  }

  /// Admits this device with the key of an invitation, unless it is admitted.
  func accept(_ invitation: SigningKey, for store: FavoritesStore) throws(HeartlogError) {
    let own = try link(of: store).connection
    do throws(HeartlogError) { _ = try own.keys { false } } catch {
      guard error.code == .notAdmitted else { throw error }
      let connection = HubConnection(
        address, vault: own.vault, key: invitation, invitation: nil, over: transport, time: time)
      try connection.changeKeys(admitting: [own.key.publicKey]) { false }
    }
  }

  func withdrawInvitations(for store: FavoritesStore) throws(HeartlogError) -> Int {
    let connection = try link(of: store).connection
    let open = try connection.keys(named: "invited") { false }
    if !open.isEmpty { try connection.changeKeys(removing: open) { false } }
    return open.count
  }

  // MARK: - Parts

  /// The connection and what is known of the objects, for the vault and the key of a store.
  private func link(of store: FavoritesStore) throws(HeartlogError) -> Link {
    guard let key = try store.deviceKey, let vault = address.vault ?? store.vaultID else {
      throw HeartlogError(
        .invalid, "this store has no device key, and a hub knows devices by their keys")
    }
    return link.withLock { link in
      if let link, link.connection.vault == vault, link.connection.key.publicKey == key.publicKey {
        return link
      }
      let connection = HubConnection(
        address, vault: vault, key: key, invitation: invitation, over: transport, time: time, of: store)
      let changes = HubWatch(connection)
      let made = Link(
        connection: connection, changes: changes,
        carrier: PlaceCarrier(HubPlace(connection, changes: changes)))
      link = made
      return made
    }
  }

  /// Joins the vault that the address names.
  ///
  /// - Throws: `otherVault` if the store belongs to another one with other devices. Had it left the vault for that one, its devices follow.
  private func meet(
    _ target: VaultID, _ store: FavoritesStore, _ options: SyncOptions
  ) throws(HeartlogError) {
    guard let mine = store.vault, mine.id != target else { return }
    let isEmpty = try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 }
    let theirs = VaultMembership(target, isEstablished: true)
    let agreement = VaultAgreement(
      VaultAgreement.Side(membership: mine, isEmpty: isEmpty, joins: options.joinsVault),
      VaultAgreement.Side(membership: theirs))
    switch agreement {
    case .vault(target) where !options.isDryRun: try store.join(target, with: theirs, isEstablished: false)
    case .refused: throw .otherVault(mine: mine.id, theirs: target)
    case .none, .vault: break
    }
  }
}
