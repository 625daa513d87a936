import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import Testing

/// Cuts the power at every point of something done to a store, and looks at all that the disk may hold then.
struct CrashCheck {
  let files: MemoryFileSystem
  var path = "/store"
  /// Commits that were there, durable, before the first point.
  var before: [Commit] = []
  /// Acknowledged as durable when the journal had so many operations.
  var acknowledged: [(point: Int, commit: Commit)] = []
  /// The point from which the store is there.
  var createdAt = 0
  /// Everything that anybody tried to write, by number.
  var attempted: [CommitNumber: Commit] = [:]

  init(_ files: MemoryFileSystem, before: [Commit] = []) {
    self.files = files
    self.before = before
    for commit in before { attempted[commit.number] = commit }
  }

  mutating func acknowledge(_ commits: [Commit]) {
    for commit in commits {
      acknowledged.append((files.crashPoints, commit))
      attempted[commit.number] = commit
    }
  }

  /// - Returns: how many states were looked at.
  @discardableResult
  func run(limit: Int = 300, sectorSizes: [Int] = [512, 4096], seed: UInt64 = 7) throws -> Int {
    var count = 0
    for sectorBytes in sectorSizes {
      for point in 0...files.crashPoints {
        let states = files.crashStates(after: point, sectorBytes: sectorBytes, limit: limit, seed: seed)
        for (index, state) in states.enumerated() {
          count += 1
          let problem = try problem(in: state, after: point)
          #expect(
            problem == nil,
            "after \(point) operations, sectors of \(sectorBytes), state \(index), seed \(seed)")
          if problem != nil { return count }
        }
      }
    }
    return count
  }

  /// What is wrong with one state; nil where all is as it must be.
  private func problem(in files: MemoryFileSystem, after point: Int) throws -> String? {
    let store = TestStore(files: files, path: path)
    var required = before
    for entry in acknowledged where entry.point <= point { required.append(entry.commit) }
    if storageFailure({ _ = try store.open(TestStore.options(access: .readOnly)) })?.code == .notAStore {
      guard createdAt > point else { return "the store is gone" }
      try store.create(seed: 99)
    }
    do {
      let read = try store.read()
      if let problem = problem(read.commits, required) { return "read: " + problem }
      if let finding = read.findings.first(where: { $0.verdict != .torn }) {
        return "read: \(finding.verdict) \(finding.error)"
      }
      let writer = try store.open(TestStore.options(seed: 3))
      let written = try writer.write(9_999)
      if let finding = writer.log.findings.first(where: { $0.verdict != .torn }) {
        return "written: \(finding.verdict) \(finding.error)"
      }
      writer.log.close()
      // Recovery may find more whole commits than a reader may show, never fewer.
      let again = try store.read()
      if let problem = problem(again.commits.dropLast(), read.commits) { return "again: " + problem }
      if again.commits.last != written || again.commits != writer.projection.commits {
        return "the commit written after the crash is not the last one"
      }
      if let finding = again.findings.first { return "again: \(finding.verdict) \(finding.error)" }
      for stream in try store.verify() {
        if let finding = stream.finding { return "verify: \(finding.verdict) \(finding.error)" }
        if stream.commits != UInt64(again.commits.count) { return "verify counts \(stream.commits)" }
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Whole commits, in order, no gap, only what was attempted, all that is required.
  private func problem(_ commits: some Collection<Commit>, _ required: [Commit]) -> String? {
    if commits.count < required.count { return "\(required.count - commits.count) acknowledged commits lost" }
    for (index, commit) in commits.enumerated() {
      if commit.number.rawValue != UInt64(index + 1) { return "a gap before \(commit.number)" }
      if index < required.count, commit != required[index] { return "commit \(commit.number) differs" }
      if commit != attempted[commit.number] { return "commit \(commit.number) was never attempted" }
    }
    return nil
  }
}
