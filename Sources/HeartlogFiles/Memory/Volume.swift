#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A tree of directories and files by inode, as a value: the contents of a memory file system, or of a disk
/// after a crash. Copies share storage.
struct Volume: Sendable {
  /// Compared as bytes: `String` would consider two encodings of the same letter equal.
  struct Name: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    // An array hashes each element on its own, which takes longer than all else in a look-up.
    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    static func < (a: Name, b: Name) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
  }

  struct Location: Hashable, Sendable {
    var directory: UInt64
    var name: Name
  }

  static let root: UInt64 = 1

  var files = InodeTable<[UInt8]>()
  private(set) var directories = InodeTable<[Name: UInt64]>()
  /// The present or last location of each inode. There are no hard links.
  private(set) var locations = InodeTable<Location>()
  /// The files that were opened as lock files.
  var lockFiles: Set<UInt64> = []
  var nextInode: UInt64 = 2

  init() { directories[Self.root] = [:] }

  mutating func takeInode() -> UInt64 {
    defer { nextInode += 1 }
    return nextInode
  }

  func inode(at location: Location) -> UInt64? {
    directories[location.directory]?[location.name]
  }

  /// Whether the inode still has a name.
  func isLinked(_ inode: UInt64) -> Bool {
    guard let location = locations[inode] else { return inode == Self.root }
    return self.inode(at: location) == inode
  }

  mutating func linkFile(_ inode: UInt64, at location: Location) {
    if files[inode] == nil { files[inode] = [] }
    directories[location.directory]?[location.name] = inode
    locations[inode] = location
  }

  mutating func linkDirectory(_ inode: UInt64, at location: Location) {
    addDirectory(inode)
    directories[location.directory]?[location.name] = inode
    locations[inode] = location
  }

  /// Creates a directory that has no name yet.
  mutating func addDirectory(_ inode: UInt64) {
    if directories[inode] == nil { directories[inode] = [:] }
  }

  /// Moves `source` to `target`, replacing it. Does nothing if `source` does not exist.
  mutating func move(_ source: Location, to target: Location) {
    guard let inode = inode(at: source), source != target else { return }
    directories[source.directory]?[source.name] = nil
    directories[target.directory]?[target.name] = inode
    locations[inode] = target
  }

  mutating func unlink(_ location: Location) {
    directories[location.directory]?[location.name] = nil
  }

  /// Returns the names from the root to an inode; for a removed inode, the names that it had.
  func names(of inode: UInt64) -> [Name] {
    var names: [Name] = []
    var current = inode
    while let location = locations[current] {
      names.append(location.name)
      current = location.directory
    }
    return names.reversed()
  }

  /// Returns all inodes that have a path from the root.
  func reachable() -> Set<UInt64> {
    var found: Set<UInt64> = [Self.root]
    var waiting = [Self.root]
    while let inode = waiting.popLast() {
      for child in (directories[inode] ?? [:]).values where found.insert(child).inserted {
        waiting.append(child)
      }
    }
    return found
  }

  /// Drops all inodes that have no path from the root.
  mutating func prune() {
    let kept = reachable()
    files.keep(kept)
    directories.keep(kept)
    locations.keep(kept)
    lockFiles.formIntersection(kept)
  }

  mutating func forgetFile(_ inode: UInt64) {
    files[inode] = nil
    locations[inode] = nil
    lockFiles.remove(inode)
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, to inode: UInt64, at offset: Int) {
    if files[inode] == nil { files[inode] = [] }
    files[inode]?.overwrite(at: offset, with: bytes)
  }

  mutating func truncate(_ inode: UInt64, to size: Int) {
    if files[inode] == nil { files[inode] = [] }
    files[inode]?.resize(to: size)
  }
}

extension [UInt8] {
  /// Writes `bytes` at `offset`, filling a gap after the present end with zeros.
  mutating func overwrite(at offset: Int, with bytes: UnsafeRawBufferPointer) {
    if bytes.isEmpty { return }
    if offset + bytes.count > count { resize(to: offset + bytes.count) }
    withUnsafeMutableBytes { target in
      UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + bytes.count]).copyMemory(from: bytes)
    }
  }

  /// Truncates the array, or extends it with zeros.
  mutating func resize(to size: Int) {
    if size < count {
      removeLast(count - size)
    } else {
      let added = size - count
      // Tests extend files by 64 KiB thousands of times, and debug builds are slow at appending a repeated
      // element.
      append(
        contentsOf: [UInt8](unsafeUninitializedCapacity: added) { buffer, initialized in
          if let start = buffer.baseAddress { memset(start, 0, added) }
          initialized = added
        })
    }
  }
}
