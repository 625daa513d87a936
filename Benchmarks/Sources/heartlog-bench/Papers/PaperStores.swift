import Heartlog

/// What is compared with each other over one store: the same papers, and the same calls, in two ways.
///
/// `heartlog` has them through `Favorites<Paper>` and by id and fields, `sqlite` in columns and as JSON.
struct PaperStores {
  let peers: [(name: String, peer: any PaperPeer)]
  private let store: FavoritesStore?

  init(_ name: String, in folder: String, _ waiting: Waiting) throws {
    guard name == "heartlog" else {
      store = nil
      peers = [
        ("sqlite-columns", try SQLitePapers<ColumnsRow>(folder + "/columns.sqlite", waiting)),
        ("sqlite-json", try SQLitePapers<JSONRow>(folder + "/json.sqlite", waiting)),
      ]
      return
    }
    var options = StoreOptions()
    options.snapshots = .manual
    options.durability = waiting == .durable ? .durable : .buffered
    let store = try FavoritesStore(at: folder + "/favorites.heartlog", options: options)
    self.store = store
    peers = [("heartlog", try TypedPapers(store)), ("heartlog-fields", try FieldPapers(store))]
  }

  /// The peers that keep their papers apart: each must be given them.
  var separate: [any PaperPeer] { store == nil ? peers.map(\.peer) : [peers[0].peer] }

  /// Leaves the store as one that was used before: small, and with a snapshot of all that is in it.
  static func compact(_ name: String, in folder: String) throws {
    guard name == "heartlog" else {
      for file in ["columns", "json"] { try SQLiteConnection("\(folder)/\(file).sqlite", .durable).compact() }
      return
    }
    let store = try FavoritesStore(at: folder + "/favorites.heartlog")
    try store.seal()
    try Snapshots.take(of: store)
    try store.close()
  }

  func close() throws { try store?.close() }
}
