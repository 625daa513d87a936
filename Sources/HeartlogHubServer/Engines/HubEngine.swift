import Heartlog
import HeartlogProofs

/// Keeps the vaults of a hub: their keys, and their objects by name and by the number of their change. "The hub" in docs/hub.md says
/// what each call promises.
///
/// Calls may come from any thread, and may take as long as a disk or a database does. What throws `inputOutput` may have been done. What a
/// member asks for is done only while its key is admitted: the same transaction looks. Otherwise it throws `notAdmitted`, also if there is
/// no such vault.
protocol HubEngine: Sendable {
  /// Whether the engine can serve.
  func check() throws(HeartlogError)

  /// The number of vaults.
  func vaultCount() throws(HeartlogError) -> Int

  /// Creates a vault that has one key.
  ///
  /// - Parameter invitation: The word that it was created with, which no other vault may use.
  func createVault(_ vault: VaultID, key: PublicKey, invitation: String?) throws(HeartlogError)
    -> VaultCreation

  /// Challenges and sessions, which all hubs of one database share.
  var sessions: any SessionStore { get }

  /// Whether a vault exists and has a key.
  func isAdmitted(_ key: PublicKey, to vault: VaultID) throws(HeartlogError) -> Bool

  /// The keys of a vault, in order; `nil` if there is no such vault.
  func keys(of vault: VaultID) throws(HeartlogError) -> [PublicKey]?

  /// Removes keys, then admits others, in one transaction.
  ///
  /// - Returns: The keys afterwards; `nil` if none or too many would be left, and nothing was changed.
  func changeKeys(
    removing: [PublicKey], admitting: [PublicKey], as member: VaultMember
  ) throws(HeartlogError) -> [PublicKey]?

  /// Objects that were put after a cursor, by the numbers of their changes. Throws `invalid` if the cursor is malformed.
  func list(after cursor: String?, limit: Int, as member: VaultMember) throws(HeartlogError) -> HubList

  /// An object's bytes.
  ///
  /// - Parameter admits: Whether so many bytes may be read now. Called before they are, unless they are few.
  func get(
    _ name: String, as member: VaultMember, admits: (_ byteCount: Int) -> Bool
  ) throws(HeartlogError) -> GetOutcome

  /// Stores an object durably if there is none of that name, together with those of other callers.
  ///
  /// - Parameter done: Called once, from any thread, when it is durable or was not stored.
  func put(
    _ name: String, _ bytes: [UInt8], as member: VaultMember,
    done: @escaping @Sendable (Result<PutOutcome, HeartlogError>) -> Void)

  /// Deletes an object durably. Does nothing if there is none.
  func delete(
    _ name: String, as member: VaultMember, done: @escaping @Sendable (Result<Void, HeartlogError>) -> Void)

  /// From now on calls `body` for each vault in which objects were put, by this process or another one, from any thread.
  func observe(_ body: @escaping @Sendable (VaultID) -> Void)

  /// Ends calls that wait, and lets go of everything.
  func close() throws(HeartlogError)
}

/// Who asks for something of a vault, by a key.
struct VaultMember: Hashable, Sendable {
  let vault: VaultID
  let key: PublicKey

  /// The error for a key that the vault does not have, or not any more.
  static let notAdmitted = HeartlogError(.notAdmitted, "this key is not admitted to this vault")
}

enum VaultCreation: Hashable, Sendable {
  case created
  /// It exists. Whether the key is one of its is not said.
  case exists
  case invitationUsed
}

enum GetOutcome: Hashable, Sendable {
  case bytes([UInt8])
  case missing
  /// So many bytes were not admitted.
  case refused
}

enum PutOutcome: Hashable, Sendable {
  case stored
  /// It was there with the same bytes.
  case same
  /// Other bytes are stored under this name.
  case different
  /// The quota of bytes or objects is full.
  case full
}

/// An answer to `list`.
struct HubList: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    let name: String
    let byteCount: Int
  }

  var entries: [Entry]
  let cursor: String
  /// The cursor of the vault's last change.
  let head: String
  let startsOver: Bool
  let hasMore: Bool
}
