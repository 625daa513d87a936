import Heartlog

/// What an evidence report says, read from a store.
struct EvidenceReport {
  /// The most favorites that are listed of a library.
  static let favoritesMax = 100
  /// The most libraries whose favorites are listed.
  static let librariesMax = 20
  /// The most conflicts that are listed.
  static let conflictsMax = 200

  struct Favorites {
    let library: StoreStatus.Library
    /// The newest, at most `favoritesMax`.
    let items: [ItemState]
  }

  /// As of when the report is, for people; nil for now.
  let moment: String?
  let generated: Milliseconds
  let vault: VaultID?
  let status: StoreStatus
  /// As of now.
  let devices: [Device]
  /// As of now.
  let signatures: [ReplicaID: StreamSignature]
  let activity: Activity
  /// Of the libraries with favorites, at most `librariesMax`.
  let favorites: [Favorites]
  let conflicts: [Conflict]
  /// As of now.
  let verification: StoreVerification

  init(of view: StoreView, verified verification: StoreVerification, _ context: CommandContext) throws {
    let store = view.store
    moment = view.moment.map { "\($0.given.shown(.utc)) (\($0.inLog.text))" }
    generated = context.clock.now
    vault = store.vaultID
    status = try view.status()
    devices = store.devices
    signatures = try store.signatures()
    self.verification = verification
    conflicts = view.read(\.conflicts)
    let heads = Dictionary(uniqueKeysWithValues: view.read(\.heads).map { ($0.replica, $0.commit) })
    activity = try Activity(of: store, upTo: heads, in: status.libraries)
    favorites = status.libraries.filter { $0.counts.favorites > 0 }.prefix(Self.librariesMax).map { library in
      Favorites(
        library: library,
        items: view.read {
          $0.favorites(in: library.name, order: .newestFirst, limit: Self.favoritesMax)
        })
    }
  }

  /// The name of a device with the first digits of its replica.
  func device(_ replica: ReplicaID, _ html: inout HTML) {
    html.code(String(replica.description.prefix(EventLine.prefixDigits)))
    guard let name = status.replicas.first(where: { $0.id == replica })?.name, !name.isEmpty else { return }
    html.text(" ")
    html.name(name)
  }
}
