import HeartlogEvents
import HeartlogFiles

/// The file `erased`: the events whose content the store withholds. Source: docs/format.md, "Erased events".
struct ErasedList: Equatable, Sendable {
  /// In the order in which they were added, without duplicates.
  private(set) var events: [ErasedEvent] = []
  /// Whether content of them may be left in the store.
  var isPending: Bool

  init(isPending: Bool = false) { self.isPending = isPending }

  /// Adds the events that are new.
  mutating func add(_ added: some Sequence<ErasedEvent>) {
    var known = Set(events)
    for event in added where known.insert(event).inserted { events.append(event) }
  }

  static func path(in directory: StoreDirectory) -> String { "\(directory.path)/erased" }

  /// Reads the list; an empty one if there is no file. One that is damaged is made again from the erasing commits in the log: it is
  /// returned as empty and pending.
  ///
  /// - Throws: `newerFormat`.
  static func read(_ directory: StoreDirectory) throws(StorageError) -> ErasedList {
    let path = path(in: directory)
    let bytes: [UInt8]
    do throws(FileError) {
      let file = try directory.fileSystem.open(path, .read)
      bytes = try file.bytes(Int(clamping: try file.size()), at: 0)
    } catch {
      if error.isNotFound { return ErasedList() }
      throw StorageError(error)
    }
    let damaged = ErasedList(isPending: true)
    guard let text = ChecksummedText(bytes) else { return damaged }
    try text.checkVersion(of: "a list of erased events", file: path)
    var list = ErasedList()
    for line in text.lines {
      if line.elementsEqual(pending.utf8) {
        list.isPending = true
      } else if let event = event(in: line) {
        list.events.append(event)
      } else {
        return damaged
      }
    }
    return list
  }

  /// Replaces the list in a store, durably. The caller holds the lock.
  func write(in directory: StoreDirectory, _ options: StorageOptions) throws(StorageError) {
    let lines = events.map(Self.line) + (isPending ? [Self.pending] : [])
    try directory.replaceFile(
      Self.path(in: directory), with: ChecksummedText.encoded(lines), in: directory.path,
      suffix: options.random())
  }

  private static let pending = "pending"

  private static func line(_ event: ErasedEvent) -> String {
    "erased \(event.replica) \(event.segment) \(event.commit) \(event.stamp) \(event.index) \(event.hash)"
  }

  private static func event(in line: ArraySlice<UInt8>) -> ErasedEvent? {
    guard let parts = ChecksummedText.value(of: "erased", in: line)?.split(separator: " "), parts.count == 6,
      let replica = ReplicaID(parts[0]), let segment = UInt64(parts[1]), let commit = UInt64(parts[2]),
      (1...Limits.numberMax).contains(segment), (segment...Limits.numberMax).contains(commit),
      let stamp = UInt64(parts[3], radix: 16), let index = Int(parts[4]), let hash = Digest(parts[5])
    else { return nil }
    return ErasedEvent(
      replica: replica, segment: CommitNumber(rawValue: segment), commit: CommitNumber(rawValue: commit),
      stamp: HybridTimestamp(rawValue: stamp), index: index, hash: hash)
  }
}
