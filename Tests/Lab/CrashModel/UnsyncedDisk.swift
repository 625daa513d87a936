import HeartlogFiles

/// Everything that a disk may contain at one moment of a journal, as independent choices.
struct UnsyncedDisk: Sendable {
  /// One open choice. Its answers are numbered: the first is the oldest state, the last is what programs saw.
  enum Choice: Sendable {
    case operation
    case size(UInt64)
    case sector(UInt64, Int)
    case lockPage(UInt64)
  }

  private(set) var names: UnsyncedNames
  private(set) var files: [UInt64: UnsyncedFile] = [:]
  /// The possible contents of each lock page, oldest first.
  private let lockPages: [UInt64: [[UInt8]]]
  private let lockFiles: Set<UInt64>

  /// The choices on names come first, in the order of the operations.
  private(set) var choices: [Choice] = []
  private(set) var counts: [Int] = []

  /// Creates the choices for a crash after the first `operations` of a journal.
  ///
  /// - Parameter live: The file system at the end of the journal.
  init(_ journal: Journal, after operations: Int, live: MemoryState, sectorBytes: Int) {
    names = UnsyncedNames(journal.base)
    let now =
      operations < journal.entries.count ? journal.entries[operations].lockPages : live.volume.lockPages
    func before(_ inode: UInt64) -> [UInt8]? {
      operations > 0 ? journal.entries[operations - 1].lockPages[inode] : journal.base.files[inode]
    }
    lockFiles = live.volume.lockFiles
    var pages: [UInt64: [[UInt8]]] = [:]
    for inode in lockFiles {
      var versions = [[UInt8](repeating: 0, count: lockPageBytes)]
      for version in [before(inode) ?? [], now[inode] ?? []] where !versions.contains(version) {
        versions.append(version)
      }
      pages[inode] = versions
    }
    lockPages = pages
    for (index, entry) in journal.entries.prefix(operations).enumerated() {
      apply(entry.change, operation: index + 1, journal.base, sectorBytes)
    }
    listChoices()
  }

  private mutating func apply(
    _ change: Journal.Change, operation: Int, _ base: Volume, _ sectorBytes: Int
  ) {
    func fresh(_ inode: UInt64) -> UnsyncedFile {
      UnsyncedFile(base.files[inode] ?? [], sectorBytes: sectorBytes)
    }
    switch change {
    case .createFile, .createDirectory, .rename, .remove: names.add(change)
    case .synchronizeDirectory(let inode): names.synchronize(inode)
    case .write(let inode, let offset, let bytes):
      if lockFiles.contains(inode) { return }
      files[inode, default: fresh(inode)].write(bytes, at: offset, operation: operation)
    case .truncate(let inode, let size):
      if lockFiles.contains(inode) { return }
      files[inode, default: fresh(inode)].truncate(to: size, operation: operation)
    case .synchronize(let inode): files[inode]?.synchronize()
    case .failedSynchronize(let inode): files[inode]?.failSynchronize()
    case .replace(let inode, let bytes):
      files[inode] = UnsyncedFile(bytes, sectorBytes: sectorBytes)
    }
  }

  private mutating func listChoices() {
    func add(_ choice: Choice, _ count: Int) {
      if count < 2 { return }
      choices.append(choice)
      counts.append(count)
    }
    for _ in names.pending { add(.operation, 2) }
    for (inode, file) in files.sorted(by: { $0.key < $1.key }) {
      add(.size(inode), file.sizes.count)
      for (index, sector) in file.sectors.sorted(by: { $0.key < $1.key }) {
        add(.sector(inode, index), sector.versions.count)
      }
    }
    for (inode, versions) in lockPages.sorted(by: { $0.key < $1.key }) {
      add(.lockPage(inode), versions.count)
    }
  }

  /// Makes the answers on names consistent, and resets answers that make no difference to their first value:
  /// those for a file that does not exist, or for a sector after the chosen size.
  func normalize(_ answers: inout [Int], byKeeping: Bool) {
    var kept = keptOperations(answers)
    names.close(&kept, byKeeping: byKeeping)
    for (index, isKept) in kept.enumerated() { answers[index] = isKept ? 1 : 0 }
    let reachable = names.volume(kept: kept).reachable()
    var size = 0
    var sizedInode: UInt64 = 0
    for (index, choice) in choices.enumerated() {
      switch choice {
      case .operation: continue
      case .size(let inode):
        if !reachable.contains(inode) { answers[index] = 0 }
        sizedInode = inode
        size = files[inode]?.sizes[answers[index]].bytes ?? 0
      case .sector(let inode, let sector):
        guard let file = files[inode] else { continue }
        let end = sizedInode == inode ? size : file.contents.count
        if !reachable.contains(inode) || sector * file.sectorBytes >= end { answers[index] = 0 }
      case .lockPage(let inode):
        if !reachable.contains(inode) { answers[index] = 0 }
      }
    }
  }

  /// Returns the disk for one answer to each choice. The answers must be normalized.
  func volume(_ answers: [Int]) -> Volume {
    var volume = names.volume(kept: keptOperations(answers))
    var sizes: [UInt64: Int] = [:]
    var versions: [UInt64: [Int: Int]] = [:]
    var pages: [UInt64: Int] = [:]
    for (choice, answer) in zip(choices, answers) {
      switch choice {
      case .operation: break
      case .size(let inode): sizes[inode] = answer
      case .sector(let inode, let sector): versions[inode, default: [:]][sector] = answer
      case .lockPage(let inode): pages[inode] = answer
      }
    }
    volume.lockFiles = lockFiles
    for (inode, file) in files {
      volume.files[inode] = file.contents(
        sizeChoice: sizes[inode] ?? 0, versionChoices: versions[inode] ?? [:])
    }
    for (inode, contents) in lockPages { volume.files[inode] = contents[pages[inode] ?? 0] }
    volume.prune()
    return volume
  }

  private func keptOperations(_ answers: [Int]) -> [Bool] {
    answers.prefix(names.pending.count).map { $0 == 1 }
  }
}
