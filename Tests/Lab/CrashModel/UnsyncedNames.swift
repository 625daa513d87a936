import HeartlogFiles

/// The possible contents of the directories on disk: what is certain, and the operations that may each be
/// lost.
struct UnsyncedNames: Sendable {
  struct Pending: Sendable {
    var change: Journal.Change
    /// The names that it changes.
    var locations: [Volume.Location]
    /// The directories that must be synced to make it certain.
    var directories: Set<UInt64>
    /// The numbers of earlier pending operations on any of these names.
    var needs: [Int]
    var number: Int
  }

  private(set) var certain: Volume
  /// In the order of the operations.
  private(set) var pending: [Pending] = []
  private var count = 0

  init(_ certain: Volume) {
    self.certain = certain
  }

  mutating func add(_ change: Journal.Change) {
    let locations: [Volume.Location]
    switch change {
    case .createFile(_, let location), .remove(let location): locations = [location]
    case .createDirectory(let inode, let location):
      locations = [location]
      // Files created in it and synced exist as soon as its own name does.
      certain.addDirectory(inode)
    case .rename(let source, let target): locations = [source, target]
    default: return
    }
    let needs = pending.filter { !$0.locations.allSatisfy { !locations.contains($0) } }.map(\.number)
    pending.append(
      Pending(
        change: change, locations: locations, directories: Set(locations.map(\.directory)), needs: needs,
        number: count))
    count += 1
  }

  mutating func synchronize(_ directory: UInt64) {
    for index in pending.indices { pending[index].directories.remove(directory) }
    var durable = Set(pending.filter(\.directories.isEmpty).map(\.number))
    // Needs refer to earlier operations, so one pass from the end finds everything required.
    for operation in pending.reversed() where durable.contains(operation.number) {
      durable.formUnion(operation.needs)
    }
    for operation in pending where durable.contains(operation.number) {
      Self.apply(operation.change, to: &certain)
    }
    pending.removeAll { durable.contains($0.number) }
  }

  /// Returns the volume after the pending operations marked as kept. `kept` must be closed.
  func volume(kept: [Bool]) -> Volume {
    var volume = certain
    for (operation, isKept) in zip(pending, kept) where isKept { Self.apply(operation.change, to: &volume) }
    return volume
  }

  /// Closes a choice of operations: drops those that need a lost one, or keeps those that a kept one needs.
  func close(_ kept: inout [Bool], byKeeping: Bool) {
    var indices: [Int: Int] = [:]
    for (index, operation) in pending.enumerated() { indices[operation.number] = index }
    // Needs refer to earlier operations: losses are propagated from the start, and kept operations from the
    // end.
    for index in byKeeping ? Array(pending.indices.reversed()) : Array(pending.indices) where kept[index] {
      for need in pending[index].needs.compactMap({ indices[$0] }) {
        if byKeeping { kept[need] = true } else if !kept[need] { kept[index] = false }
      }
    }
  }

  private static func apply(_ change: Journal.Change, to volume: inout Volume) {
    switch change {
    case .createFile(let inode, let location): volume.linkFile(inode, at: location)
    case .createDirectory(let inode, let location): volume.linkDirectory(inode, at: location)
    case .rename(let source, let target): volume.move(source, to: target)
    case .remove(let location): volume.unlink(location)
    default: break
    }
  }
}
