import Heartlog
import HeartlogFiles
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A carrier through a folder that a file-syncing program, a USB stick or rsync moves from device to device.
///
/// There is no dialogue: each device writes files for the others, changes none, and removes only its own and
/// those of devices that write no more. The
/// format is specified in "The folder" in docs/shipping.md.
public final class FolderCarrier: Carrier {
  /// The path of the folder.
  public let path: String
  private let fileSystem: any FileSystem
  /// Keys of the checks that have succeeded, so that a carrier that is reused repeats none: the paths of files
  /// whose content was verified, and the keys of compared roots.
  let checked = Mutex<Set<String>>([])

  public var description: String { "folder:\(path)" }

  /// Creates a carrier through the folder at a file URL, which must exist when `sync` is called.
  ///
  /// - Throws: `invalid` if the URL is not a file URL.
  public convenience init(_ url: URL) throws(HeartlogError) { self.init(try url.filePath(of: "a folder")) }

  package init(_ path: String, on fileSystem: any FileSystem = POSIXFileSystem(readers: .everybody)) {
    self.path = path
    self.fileSystem = fileSystem
  }

  /// Receives what other devices wrote to the folder, and writes what the folder lacks.
  ///
  /// Files of other devices cannot do harm: a file that is not whole is left alone and counted in the report.
  ///
  /// - Throws: `HeartlogError`; `notAStore` if the folder does not exist, `invalid` if it is a store's own
  ///   directory or inside one, `readOnly` and `inputOutput` from its files, and what the store throws.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    var round = FolderSyncPass(
      store: store, root: path, fileSystem: fileSystem, options: options, checked: checked.withLock { $0 })
    let report = Result { () throws(HeartlogError) in
      try store.traced { () throws(HeartlogError) in try round.run() }
    }
    checked.withLock { $0.formUnion(round.checked) }
    return try report.get()
  }
}

/// One pass over a folder.
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
  /// Runs of streams that wait until other streams have been received.
  var waiting = WaitingRuns()
  var receivedStreams: Set<ReplicaID> = []
  var receivedEvents: UInt64 = 0
  var sentEvents: UInt64 = 0
  var progress = SyncProgress()
  /// Why the own stream could not be signed; nil if it was.
  private var signingFailure: HeartlogError?

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
    for suffix in ["", "/..", "/../.."] {
      guard try !isStore(root + suffix) else {
        throw HeartlogError(
          .invalid,
          "\(root) is \(suffix.isEmpty ? "" : "inside ")the directory of a store, not a folder between stores: "
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
    do throws(HeartlogError) {
      try meet(listing)
      if options.isDryRun {
        for stream in streams {
          try passingOver(stream, heads) { (round) throws(HeartlogError) in
            try round.plan(stream, files[stream] ?? [])
          }
        }
      } else {
        try exchange(streams, files, listing, heads)
      }
    } catch {
      guard error.isEarlyEnd else { throw error }
      // The state follows the content that arrived.
      if report.completedEvents > 0, store.corruption == nil { report.applyErasures(in: store) }
      report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
      var unfinished = SyncReport.Unfinished()
      unfinished.commitsToReceive = try commitsToReceive(files)
      report.unfinished = unfinished
    }
    if !options.isDryRun {
      report.received.events = receivedEvents
      report.sent.events = sentEvents
    }
    counts.damaged = damaged.count
    report.folder = counts
    return report
  }

  /// Receives what the folder has, then writes what it lacks.
  private mutating func exchange(
    _ streams: [ReplicaID], _ files: [ReplicaID: [FolderFile]], _ listing: FolderListing,
    _ heads: [StreamHead]
  ) throws(HeartlogError) {
    // What is signed cannot be ended by a file that says so.
    try passingOver(store.replica, heads) { (round) throws(HeartlogError) in try round.prepareToShip() }
    for stream in streams {
      try passingOver(stream, heads) { (round) throws(HeartlogError) in
        try round.takeEvidence(stream, listing)
        try round.receive(stream, files[stream] ?? [], listing)
      }
    }
    try resolveWaiting()
    for stream in streams { try takeCheckpoints(stream, listing) }
    for stream in streams {
      try passingOver(stream, heads) { (round) throws(HeartlogError) in
        try round.complete(stream, files[stream] ?? [])
      }
    }
    if store.corruption == nil { report.applyErasures(in: store) }
    report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
    if !options.isPull { try publish(listing) }
    try report.nameHeld(heads, in: store, signingFailure: signingFailure)
  }

  /// Whether a folder looks like the directory of a store. One of its entries may be damaged or missing.
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

  mutating func prepareToShip() throws(HeartlogError) { signingFailure = try store.prepareToShip() }

  /// Runs `body` for one stream. If the stream is damaged here, it is reported as skipped, and the other
  /// streams continue.
  mutating func passingOver(
    _ stream: ReplicaID, _ heads: [StreamHead],
    _ body: (inout FolderSyncPass) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    try options.checkTime()
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

  /// Reports a stream as skipped, unless it has already been reported: the first reason is kept.
  mutating func skip(_ stream: SyncReport.SkippedStream) {
    guard !report.skipped.contains(where: { $0.replica == stream.replica }) else { return }
    report.skipped.append(stream)
  }

  /// Counts what would be received and sent, from file names alone.
  private mutating func plan(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    let head = try head(of: stream)
    if head?.isEnded != true {
      var position = head?.commit.rawValue ?? 0
      while let next = next(files, after: position, limit: nil) {
        report.received.commits = Self.sum(report.received.commits, next.name.last - position)
        position = next.name.last
      }
    }
    if let head, !options.isPull, head.coverage.isWhole {
      for range in try missing(of: head, files: files) {
        report.sent.commits += range.upperBound - range.lowerBound + 1
      }
    }
  }

  func head(of stream: ReplicaID) throws(HeartlogError) -> StreamHead? {
    try store.streamHead(of: stream)
  }

  /// A sum of commits that files have by their names; the largest number if it is larger. Whoever may write to the folder may use any names.
  private static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, isTooLarge) = one.addingReportingOverflow(other)
    return isTooLarge ? .max : sum
  }

  /// Commits that the files have beyond what the store has, judged by their names.
  private func commitsToReceive(_ files: [ReplicaID: [FolderFile]]) throws(HeartlogError) -> UInt64 {
    var sum: UInt64 = 0
    for (stream, files) in files {
      let head = try head(of: stream)
      let last = files.lazy.filter { !$0.name.isEnd }.map(\.name.last).max() ?? 0
      guard head?.isEnded != true, last > head?.commit.rawValue ?? 0 else { continue }
      sum = Self.sum(sum, last - (head?.commit.rawValue ?? 0))
    }
    return sum
  }
}

/// Runs `body` on the folder's files and converts its errors to `HeartlogError`.
func onFolder<R>(_ body: () throws(FileError) -> R) throws(HeartlogError) -> R {
  do throws(FileError) { return try body() } catch {
    let code: HeartlogError.Code =
      error.isDiskFull ? .diskFull : error.isReadOnly ? .readOnly : .inputOutput
    throw HeartlogError(code, error.description, file: error.path)
  }
}
