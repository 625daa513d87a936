import Heartlog
import HeartlogHub
import HeartlogFormat

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

  /// Creates a vault with its first keys.
  ///
  /// - Parameter invitation: The word that it was created with, which no other vault may use.
  func createVault(
    _ vault: VaultID, keys: AdmittedKeys, invitation: String?
  ) throws(HeartlogError) -> VaultCreation

  /// Removes a vault with its keys, its objects and its sessions. Returns false if there is none.
  func removeVault(_ vault: VaultID) throws(HeartlogError) -> Bool

  /// Challenges and sessions, which all hubs of one database share.
  var sessions: any SessionStore { get }

  /// Whether a vault exists and has a key.
  func isAdmitted(_ key: PublicKey, to vault: VaultID) throws(HeartlogError) -> Bool

  /// The keys of a vault; `nil` if there is no such vault.
  func keys(of vault: VaultID) throws(HeartlogError) -> AdmittedKeys?

  /// Changes the keys in one transaction, with what goes with them.
  ///
  /// - Parameter change: The change of the keys that there are; `nil` for none. May be called more than once.
  func changeKeys(
    as member: VaultMember, _ change: @escaping @Sendable (AdmittedKeys) -> Result<KeyChange?, KeyRefusal>
  ) throws(HeartlogError) -> Result<AdmittedKeys, KeyRefusal>

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
    _ name: String, as member: VaultMember,
    done: @escaping @Sendable (Result<Void, HeartlogError>) -> Void)

  /// From now on calls `body` for each vault in which objects were put, by this process or another one, from any thread.
  func observe(_ body: @escaping @Sendable (VaultID) -> Void)

  /// Ends calls that wait, and lets go of everything.
  func close() throws(HeartlogError)
}

extension HubEngine {
  /// Stores an object, and waits for the outcome.
  func put(_ name: String, _ bytes: [UInt8], as member: VaultMember) throws(HeartlogError) -> PutOutcome {
    let answer = Answer<PutOutcome>()
    put(name, bytes, as: member) { answer.set($0) }
    return try answer.wait().get()
  }
}

/// A value that another thread sets. Unchecked: guarded by `condition`.
final class Answer<Value: Sendable>: @unchecked Sendable {
  private let condition = Condition()
  private var value: Result<Value, HeartlogError>?

  func set(_ value: Result<Value, HeartlogError>) {
    condition.withLock {
      self.value = value
      condition.notify()
    }
  }

  func wait() -> Result<Value, HeartlogError> {
    condition.withLock { () -> Result<Value, HeartlogError> in
      while true {
        if let value { return value }
        condition.wait()
      }
    }
  }
}

/// Who asks for something of a vault, by a key.
struct VaultMember: Hashable, Sendable {
  let vault: VaultID
  let key: PublicKey
  /// What the objects that it puts are accounted to.
  let owner: ReplicaID

  init(vault: VaultID, key: PublicKey) {
    self.vault = vault
    self.key = key
    owner = key.replica
  }

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
