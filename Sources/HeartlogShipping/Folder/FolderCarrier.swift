import Heartlog
import HeartlogFiles
import Synchronization

/// A folder that a file-syncing program, a USB stick or rsync carries from device to device: see "The folder" in
/// docs/shipping.md.
///
/// There is no dialogue: each device leaves files for the others, changes none, and removes only its own.
public final class FolderCarrier: Carrier {
  /// The folder.
  public let path: String
  private let fileSystem: any FileSystem
  /// Names of files whose content was found to be what they say, so that a carrier that is kept reads them once.
  let checked = Mutex<Set<String>>([])

  public var description: String { "folder:\(path)" }

  /// The way through the folder at `path`, which must be there when `sync` is called.
  public convenience init(_ path: String) { self.init(path, on: POSIXFileSystem(readers: .everybody)) }

  init(_ path: String, on fileSystem: any FileSystem) {
    self.path = path
    self.fileSystem = fileSystem
  }

  /// Takes in what others left, and leaves what they lack.
  ///
  /// - Throws: `HeartlogError`; `notAStore` where there is no such folder, `invalid` where it is a store's own directory, `readOnly` and `inputOutput` of its files, and what
  ///   the store throws. What others left can be of no harm: what is not whole waits, and is counted in the report.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    var round = FolderSyncPass(
      store: store, root: path, fileSystem: fileSystem, options: options, checked: checked.withLock { $0 })
    let report = Result { () throws(HeartlogError) in try round.run() }
    checked.withLock { $0.formUnion(round.checked) }
    return try report.get()
  }
}

/// One look into a folder.
struct FolderSyncPass {
  let store: any ShippedStreams
  let root: String
  let fileSystem: any FileSystem
  let options: SyncOptions
  var checked: Set<String>
  var report = SyncReport()
  var counts = SyncReport.FolderFiles()
  /// Paths of files that were read and are not whole.
  var damaged: Set<String> = []
  /// Of streams that go on once others are here.
  var waiting = WaitingRuns()
  var receivedStreams: Set<ReplicaID> = []
  var receivedEvents: UInt64 = 0
  var sentEvents: UInt64 = 0
  var progress = SyncProgress()

  init(
    store: any ShippedStreams, root: String, fileSystem: any FileSystem, options: SyncOptions,
    checked: Set<String>
  ) {
    self.store = store
    self.root = root
    self.fileSystem = fileSystem
    self.options = options
    self.checked = checked
  }

  mutating func run() throws(HeartlogError) -> SyncReport {
    guard try onFolder({ () throws(FileError) in try fileSystem.info(root) })?.kind == .directory else {
      throw HeartlogError(.notAStore, "there is no folder \(root)", file: root)
    }
    for place in ["", "/..", "/../.."] {
      guard try !isStore(root + place) else {
        throw HeartlogError(
          .invalid,
          "\(root) is \(place.isEmpty ? "" : "inside of ")the directory of a store, and no folder between stores: "
            + "sync with that store by its directory, without \"folder:\", or name a folder of its own",
          file: root)
      }
    }
    let listing = try onFolder { () throws(FileError) in try FolderListing(root, on: fileSystem) }
    counts = listing.counts
    report.isDryRun = options.isDryRun
    let files = Dictionary(grouping: listing.files, by: \.stream)
    let heads = try store.streamHeads()
    let streams = Set(files.keys).union(heads.map(\.replica)).sorted()
    report.streams = streams.count
    if options.isDryRun {
      for stream in streams {
        try passingOver(stream, heads) { (round) throws(HeartlogError) in
          try round.plan(stream, files[stream] ?? [])
        }
      }
    } else {
      for stream in streams {
        try passingOver(stream, heads) { (round) throws(HeartlogError) in
          try round.receive(stream, files[stream] ?? [])
        }
      }
      try resolveWaiting()
      report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
      if !options.isPull { try publish(listing) }
      report.received.events = receivedEvents
      report.sent.events = sentEvents
    }
    counts.damaged = damaged.count
    report.folder = counts
    return report
  }

  /// Whether a folder has what a store's has; one may be damaged or missing.
  private func isStore(_ folder: String) throws(HeartlogError) -> Bool {
    try onFolder { () throws(FileError) in
      let found = [
        try fileSystem.info("\(folder)/store")?.kind == .file,
        try fileSystem.info("\(folder)/lock")?.kind == .file,
        try fileSystem.info("\(folder)/replicas")?.kind == .directory,
      ]
      return found.filter { $0 }.count > 1
    }
  }

  /// Does something with one stream. Where it is damaged here, that is noted, and no other stream has to wait for it.
  mutating func passingOver(
    _ stream: ReplicaID, _ heads: [StreamHead],
    _ body: (inout FolderSyncPass) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    do throws(HeartlogError) { try body(&self) } catch {
      guard error.code == .corrupt else { throw error }
      let head = heads.first { $0.replica == stream }
      let next = CommitNumber(rawValue: (head?.commit.rawValue ?? 0) + 1)
      skip(
        SyncReport.SkippedStream(
          replica: stream, name: head?.name ?? "", firstCommit: error.commits?.lowerBound ?? next,
          cause: .damaged, reason: "this store is damaged: \(error.description)"))
    }
  }

  /// Notes a stream of which not all comes or goes; what was found first says why.
  mutating func skip(_ stream: SyncReport.SkippedStream) {
    guard !report.skipped.contains(where: { $0.replica == stream.replica }) else { return }
    report.skipped.append(stream)
  }

  /// Counts what would go each way, by names alone.
  private mutating func plan(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    let head = try head(of: stream)
    if head?.isEnded != true {
      var position = head?.commit.rawValue ?? 0
      while let next = next(files, after: position, limit: nil) {
        report.received.commits += next.name.last - position
        position = next.name.last
      }
    }
    if let head, !options.isPull {
      for range in try missing(of: head, files: files) {
        report.sent.commits += range.upperBound - range.lowerBound + 1
      }
    }
  }

  func head(of stream: ReplicaID) throws(HeartlogError) -> StreamHead? {
    try store.streamHeads().first { $0.replica == stream }
  }

  func checkCancelled() throws(HeartlogError) {
    if options.isCancelled() { throw HeartlogError(.timedOut, "the sync was called off") }
  }

  /// Runs calls on the folder's files, and gives their errors the one public type.
  func onFolder<R>(_ body: () throws(FileError) -> R) throws(HeartlogError) -> R {
    do throws(FileError) { return try body() } catch {
      let code: HeartlogError.Code =
        error.isDiskFull ? .diskFull : error.isReadOnly ? .readOnly : .inputOutput
      throw HeartlogError(code, error.description, file: error.path)
    }
  }
}
