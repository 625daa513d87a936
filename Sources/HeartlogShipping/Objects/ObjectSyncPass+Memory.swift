import Heartlog

/// What a device remembers of the objects at a place, from one process to the next. Source: docs/format.md, `keys/places`.
extension ObjectSyncPass {
  /// What a later pass over the same objects need not find out again.
  struct Memory: Sendable {
    var catalogue = ObjectCatalogue()
    /// Keys of the checks that have succeeded: the paths of files whose content was verified, and the keys of compared roots.
    var checked: Set<String> = []
    /// When this process last wrote a checkpoint of each stream.
    var statementTimes: [ReplicaID: Milliseconds] = [:]
    /// What that was found out of: whether the objects were encrypted, and the vault then; `nil` before the first pass.
    fileprivate var scope: String?
    /// Since when objects are taken for whole without being read.
    fileprivate var since: Milliseconds = 0
    /// What was written down last.
    fileprivate var kept: [String] = []

    /// Takes over what a pass found that began with an earlier state of this.
    mutating func take(_ other: Memory, deleted: Set<String>) {
      // Another pass may have checked others meanwhile.
      let checked = scope == other.scope ? self.checked.union(other.checked) : other.checked
      self = other
      self.checked = checked.subtracting(deleted)
    }
  }

  /// For so long: after that, a device reads its objects again, and replaces those that the place has damaged.
  private static let memoryMilliseconds: Milliseconds = 30 * 86_400_000
  private static let memoryBytesMax = 1 << 20
  private static let sinceWord = "since "

  /// The file of this place, in the store; `nil` for a place whose objects are read again by each process, because that is cheap.
  private var memoryFile: String? {
    objects.address.map {
      "places/\(RootPrefix(SHA256Hasher.digest(of: Array("\($0)\(scope)".utf8))).text)"
    }
  }

  /// What was found of plain objects says nothing of encrypted ones, and those say which vault their writer is in.
  private var scope: String {
    guard format.isEncrypted else { return "" }
    let belonging = store.vault.map { " \($0.id)\($0.isEstablished ? "" : " provisional")" } ?? ""
    // What this device put under an epoch that turned out to be one of a removed member can be read by nobody, and is put again.
    let untrusted = ring.map { ring in ring.epochs.keys.count { ring.state.trusted[$0] == nil } } ?? 0
    return
      " encrypted \(ring?.vault?.description ?? "")\(belonging)\(untrusted == 0 ? "" : " without \(untrusted)")"
  }

  /// Reads what an earlier process found out in the same scope.
  mutating func recall() throws(HeartlogError) {
    guard memory.scope != scope else { return }
    memory.scope = scope
    memory.checked = []
    memory.kept = []
    memory.since = options.clock()
    guard let file = memoryFile, let bytes = try store.vaultKeys?.keyFile(file) else { return }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    guard let first = lines.first, first.hasPrefix(Self.sinceWord),
      let since = Milliseconds(first.dropFirst(Self.sinceWord.count)), since <= memory.since,
      memory.since - since <= Self.memoryMilliseconds
    else { return }
    memory.since = since
    memory.kept = Array(lines.dropFirst())
    memory.checked = Set(memory.kept)
  }

  /// Writes down what was found out, for the next process.
  mutating func remember() throws(HeartlogError) {
    // In a vault that was joined meanwhile, everything is to be looked at again.
    guard memory.scope == scope, !options.isDryRun, !options.isPull, let file = memoryFile,
      let keys = store.vaultKeys
    else {
      return
    }
    let paths = memory.checked.filter { memory.catalogue.entries[$0] != nil }.sorted()
    guard paths != memory.kept else { return }
    let text = "\(Self.sinceWord)\(memory.since)\n" + paths.map { $0 + "\n" }.joined()
    guard text.utf8.count <= Self.memoryBytesMax else { return }
    try keys.replaceKeyFile(file, with: Array(text.utf8))
    memory.kept = paths
  }
}
