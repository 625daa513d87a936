import Heartlog
import HeartlogFiles

extension SyncPass {
  /// This many neighbours of one level are merged into one file.
  static let neighboursMax = 8

  /// Writes what the folder lacks: of its own stream, everything that this device has not written itself; of
  /// other streams, what no device has written.
  mutating func publish(_ listing: FolderListing) throws(HeartlogError) {
    let writer = store.replica
    let files = Dictionary(grouping: listing.files, by: \.stream)
    try skippingIfDamaged(writer, try store.streamHeads()) { (round) throws(HeartlogError) in
      try round.prepareToShip()
    }
    let heads = try store.streamHeads()
    let revoked = ring?.revoked ?? [:]
    let members = ring.map { Set($0.state.members.values.map(\.replica)) }
    // What a revoked device wrote behind the last commit that counts is not spread.
    for head in heads where revoked[head.replica].map({ head.commit.rawValue <= $0 }) ?? true {
      try skippingIfDamaged(head.replica, heads) { (round) throws(HeartlogError) in
        try round.publish(head, as: writer, files[head.replica] ?? [], members)
        try round.publishCheckpoint(head, as: writer, listing)
        try round.publishEvidence(head, as: writer, listing)
      }
    }
  }

  private mutating func publish(
    _ head: StreamHead, as writer: ReplicaID, _ found: [FolderFile], _ members: Set<ReplicaID>?
  ) throws(HeartlogError) {
    let stream = head.replica
    let (found, redacted) = try redacting(found, of: head, as: writer)
    if head.isEnded, !found.contains(where: { $0.name.isEnd && $0.name.last == head.commit.rawValue }) {
      let file = RunFile(
        replica: stream, name: head.name, firstCommit: head.commit.rawValue + 1, runs: [])
      _ = try write(file, endRoot: head.root, writer)
    }
    var own = redacted.filter { $0.name.last <= head.commit.rawValue }
    var outdated: Set<String> = []
    for file in found where file.writer == writer && file.kind == .run && !file.name.isEnd {
      try options.checkTime()
      switch try soundness(of: file, head) {
      case .sound: own.append(file)
      case .outdated: outdated.insert(file.path)
      case .unsound: break
      }
    }
    var counted = stream == writer ? own : redacted
    for file in found where stream != writer && !outdated.contains(file.path) {
      // What somebody wrote who is no member may be under an epoch of a removed device, which is read until one knows of the removal.
      if let members, !members.contains(file.writer), try !isReadable(file, head) { continue }
      counted.append(file)
    }
    for range in try missing(of: head, files: counted) {
      let damage = try store.damage(
        of: stream, after: range.lowerBound - 1, upTo: CommitNumber(rawValue: range.upperBound))
      // If the range cannot be read to its end, its sound part is still written.
      let end = damage?.error.commits.map { $0.lowerBound.rawValue - 1 } ?? range.upperBound
      if end >= range.lowerBound {
        own += try write(head, range.lowerBound...end, as: writer, isNew: true)
      }
      if let damage { throw damage.error }
    }
    try merge(own, of: head, as: writer)
    for path in outdated.sorted() { try remove(path) }
  }

  /// Whether a file of commits that are here can be read with the keys that count.
  private mutating func isReadable(_ file: FolderFile, _ head: StreamHead) throws(HeartlogError) -> Bool {
    guard file.kind == .run, !file.name.isEnd, file.name.last <= head.commit.rawValue else { return true }
    if case .sound = try soundness(of: file, head) { return true }
    return false
  }

  /// Replaces files with content that was erased in this store by copies without it: those of this device, and of devices that write no
  /// more or are revoked. Nothing else of them is lost, whatever history they belong to.
  ///
  /// - Returns: The files that stay, and the copies, which this device wrote.
  private mutating func redacting(
    _ found: [FolderFile], of head: StreamHead, as writer: ReplicaID
  ) throws(HeartlogError) -> (files: [FolderFile], redacted: [FolderFile]) {
    guard try store.hasErased(in: head.replica) else { return (found, []) }
    var writers = store.inactiveReplicas.union([writer])
    if let ring { writers.formUnion(ring.revoked.keys) }
    var files: [FolderFile] = []
    var redacted: [FolderFile] = []
    for file in found {
      try options.checkTime()
      guard writers.contains(file.writer), file.kind != .placeholder, !file.name.isEnd,
        var copy = try redactedCopy(of: file)
      else {
        files.append(file)
        continue
      }
      // Its writer may not have had a proof; this store can prove the same commits.
      if copy.checkpoint == nil, copy.lastCommit <= head.commit.rawValue, try isOwn(file),
        let proof = try proof(of: copy.runs, head)
      {
        copy.prove(with: proof)
      }
      redacted.append(try write(copy, writer))
      try remove(file.path)
    }
    return (files, redacted)
  }

  /// The content of a file without what was erased here; `nil` if it contains none of it, or is not whole.
  private mutating func redactedCopy(of file: FolderFile) throws(HeartlogError) -> RunFile? {
    guard let content = try read(file) else { return nil }
    var runs: [StreamRun] = []
    var isChanged = false
    for run in content.runs {
      do throws(HeartlogError) {
        var redacted = try store.redacted(run)
        if redacted != nil { isChanged = true }
        redacted?.proof = run.proof
        runs.append(redacted ?? run)
      } catch {
        guard error.code == .peer else { throw error }
        damaged.insert(file.path)
        return nil
      }
    }
    guard isChanged else { return nil }
    return RunFile(
      replica: content.replica, name: content.name, firstCommit: content.firstCommit, runs: runs)
  }

  /// The commits of a stream, 1…head, that none of the files has, judged by their names.
  func missing(of head: StreamHead, files: [FolderFile]) throws(HeartlogError) -> [ClosedRange<UInt64>] {
    let last = head.commit.rawValue
    var missing: [ClosedRange<UInt64>] = []
    var next: UInt64 = 1
    for file in files.sorted(by: { ($0.name.first, $0.path) < ($1.name.first, $1.path) })
    where file.kind != .copy && !file.name.isEnd && !damaged.contains(file.path) {
      if file.name.last <= last {
        // From another branch of a fork, or from none.
        guard try isOwn(file) else { continue }
      } else if head.isEnded {
        continue
      }
      if file.name.first > next, next <= last { missing.append(next...min(last, file.name.first - 1)) }
      next = max(next, file.name.last + 1)
    }
    if next <= last { missing.append(next...last) }
    return missing
  }

  /// What one of this device's own files is worth. A damaged or outdated file is written again, and then removed.
  private enum Soundness {
    /// It matches its name and the store.
    case sound
    /// So it does, but it does not prove its runs, or has the keys of another vault.
    case outdated
    case unsound
  }

  private mutating func soundness(of file: FolderFile, _ head: StreamHead) throws(HeartlogError) -> Soundness
  {
    guard file.name.last <= head.commit.rawValue, try isOwn(file) else { return .unsound }
    if memory.checked.contains(file.path) { return .sound }
    guard let (content, vault) = try readWithVault(file) else { return .unsound }
    if vault != ring?.vault { return .outdated }
    if let size = head.checkpoint?.checkpoint.size, file.name.last <= size, content.checkpoint == nil {
      return .outdated
    }
    memory.checked.insert(file.path)
    return .sound
  }

  // MARK: - Writing

  /// Writes commits of a stream as files of about `RunFile.fullBytes` at most.
  private mutating func write(
    _ head: StreamHead, _ commits: ClosedRange<UInt64>, as writer: ReplicaID, isNew: Bool
  ) throws(HeartlogError) -> [FolderFile] {
    let stream = head.replica
    let store = store
    var files: [FolderFile] = []
    var file = RunFile(of: stream, after: commits.lowerBound - 1)
    while file.lastCommit < commits.upperBound {
      if file.runs.isEmpty { try options.checkTime() }
      let run = try file.takeRun(from: store, upTo: commits.upperBound)
      if isNew {
        report.sent.commits += UInt64(run.commitCount)
        sentEvents += run.eventCount ?? 0
        progress.sentCommits += UInt64(run.commitCount)
        options.progress?(progress)
      }
      // Without this, passes that are too short to fill a file would never write one. Merging can wait.
      let isOver = options.isOver
      if isOver, !isNew { throw .endedEarly }
      guard file.isFull || isOver || file.lastCommit == commits.upperBound else { continue }
      if let proof = try proof(of: file.runs, head) { file.prove(with: proof) }
      files.append(try write(file, writer))
      file = RunFile(of: stream, after: file.lastCommit)
    }
    return files
  }

  /// Writes a file.
  private mutating func write(
    _ file: RunFile, endRoot: Digest? = nil, _ writer: ReplicaID
  ) throws(HeartlogError) -> FolderFile {
    var file = file
    file.vault = store.vault
    let (fileName, bytes) = file.encoded(endRoot: endRoot)
    let path = try write(fileName.text, bytes, file.replica, writer)
    memory.checked.insert(path)
    counts.written += 1
    // An encrypted object has another name than its file.
    let name = RunFileName(String(PathParts.name(of: path))) ?? fileName
    return FolderFile(
      writer: writer, stream: file.replica, name: name, kind: .run, path: path, bytes: UInt64(bytes.count))
  }

  /// Puts a file of this device. What stands under its name with other bytes is of this device, too, and damaged: it is replaced.
  @discardableResult
  mutating func write(
    _ name: String, _ bytes: [UInt8], _ stream: ReplicaID, _ writer: ReplicaID
  ) throws(HeartlogError) -> String {
    let path = "\(FolderFile.folder(of: stream, by: writer))/\(name)"
    let object = try format.sealed(path, bytes)
    do throws(HeartlogError) { try put(object.path, object.bytes) } catch {
      guard error.code == .exists else { throw error }
      try delete(object.path)
      try put(object.path, object.bytes)
    }
    return object.path
  }

  /// Puts an object, as it is.
  ///
  /// - Throws: `exists` if there are other bytes under this name.
  mutating func put(_ path: String, _ bytes: [UInt8]) throws(HeartlogError) {
    try place.put(path, bytes)
    damaged.remove(path)
    deleted.remove(path)
    memory.catalogue.add(ObjectList.Entry(path, byteCount: UInt64(bytes.count)))
    report.sent.bytes += UInt64(bytes.count)
  }

  // MARK: - Merging

  /// Merges small files of this device's own, and removes those that merged files have made superfluous.
  private mutating func merge(
    _ own: [FolderFile], of head: StreamHead, as writer: ReplicaID
  ) throws(HeartlogError) {
    var files = Self.withoutCovered(own)
    while let run = Self.toMerge(files), let first = run.first, let last = run.last {
      let merged = try write(head, first.name.first...last.name.last, as: writer, isNew: false)
      files = Self.withoutCovered(files + merged)
      // Stop if no file was saved: the same files would be merged again and again.
      guard merged.count < run.count else { break }
    }
    let kept = Set(files.map(\.path))
    let folder = FolderFile.folder(of: head.replica, by: writer)
    // The merged files are durable by now, so no run is missing from the folder at any time.
    let superfluous = own.map(\.path).filter { !kept.contains($0) }
    for path in superfluous + damaged.sorted().filter({ $0.hasPrefix("\(folder)/") }) {
      try remove(path)
      damaged.remove(path)
    }
  }

  mutating func remove(_ path: String) throws(HeartlogError) {
    try delete(path)
    counts.removed += 1
  }

  mutating func delete(_ path: String) throws(HeartlogError) {
    // Whether it is there is not known until there is an answer.
    deleted.insert(path)
    memory.checked.remove(path)
    try place.delete(path)
    memory.catalogue.remove(path)
  }

  /// The files whose commits are not all in one other file, sorted by their first commit.
  static func withoutCovered(_ files: [FolderFile]) -> [FolderFile] {
    var kept: [FolderFile] = []
    for file in files.sorted(by: {
      ($0.name.first, $1.name.last, $0.path) < ($1.name.first, $0.name.last, $1.path)
    }) {
      if let last = kept.last, last.name.last >= file.name.last { continue }
      kept.append(file)
    }
    return kept
  }

  /// The newest neighbours to merge: eight or more of one level or below.
  static func toMerge(_ files: [FolderFile]) -> ArraySlice<FolderFile>? {
    for level in 0..<levels {
      let start = files.lastIndex { Self.level($0) > level }.map { $0 + 1 } ?? 0
      let run = files[start...]
      guard run.count >= neighboursMax else { continue }
      // Neighbours with a gap between them are not merged until the gap is filled.
      let isWhole = zip(run, run.dropFirst()).allSatisfy { $1.name.first <= $0.name.last + 1 }
      if isWhole { return run }
    }
    return nil
  }

  private static let levels = 4

  /// The size level of a file: 0 below 16 KiB, then one more for each factor of eight. A full file is at
  /// `levels`.
  private static func level(_ file: FolderFile) -> Int {
    var level = 0
    var bytes = UInt64(16 << 10)
    while level < levels, file.bytes >= min(bytes, UInt64(RunFile.fullBytes)) {
      level += 1
      bytes *= 8
    }
    return level
  }
}
