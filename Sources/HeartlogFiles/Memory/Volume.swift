/// A tree of directories and files by inode, as a value: the contents of a memory file system, or of a disk
/// after a crash. Copies share storage.
package struct Volume: Sendable {
  /// Compared as bytes: `String` would consider two encodings of the same letter equal.
  package struct Name: Hashable, Comparable, Sendable {
    package let bytes: [UInt8]

    // An array hashes each element on its own, which takes longer than all else in a look-up.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    package static func < (a: Name, b: Name) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
  }

  package struct Location: Hashable, Sendable {
    package var directory: UInt64
    package var name: Name
  }

  package static let root: UInt64 = 1

  package var files = InodeTable<[UInt8]>()
  package var directories = InodeTable<[Name: UInt64]>()
  /// The present or last location of each inode. There are no hard links.
  package var locations = InodeTable<Location>()
  /// The files that were opened as lock files.
  package var lockFiles: Set<UInt64> = []
  package var nextInode: UInt64 = 2

  package init() { directories[Self.root] = [:] }

  package mutating func takeInode() -> UInt64 {
    defer { nextInode += 1 }
    return nextInode
  }

  package func inode(at location: Location) -> UInt64? {
    directories[location.directory]?[location.name]
  }

  /// Whether the inode still has a name.
  package func isLinked(_ inode: UInt64) -> Bool {
    guard let location = locations[inode] else { return inode == Self.root }
    return self.inode(at: location) == inode
  }

  package mutating func linkFile(_ inode: UInt64, at location: Location) {
    if files[inode] == nil { files[inode] = [] }
    directories[location.directory]?[location.name] = inode
    locations[inode] = location
  }

  package mutating func linkDirectory(_ inode: UInt64, at location: Location) {
    addDirectory(inode)
    directories[location.directory]?[location.name] = inode
    locations[inode] = location
  }

  /// Creates a directory that has no name yet.
  package mutating func addDirectory(_ inode: UInt64) {
    if directories[inode] == nil { directories[inode] = [:] }
  }

  /// Moves `source` to `target`, replacing it. Does nothing if `source` does not exist.
  package mutating func move(_ source: Location, to target: Location) {
    guard let inode = inode(at: source), source != target else { return }
    directories[source.directory]?[source.name] = nil
    directories[target.directory]?[target.name] = inode
    locations[inode] = target
  }

  package mutating func unlink(_ location: Location) {
    directories[location.directory]?[location.name] = nil
  }

  /// Returns the names from the root to an inode; for a removed inode, the names that it had.
  package func names(of inode: UInt64) -> [Name] {
    var names: [Name] = []
    var current = inode
    while let location = locations[current] {
      names.append(location.name)
      current = location.directory
    }
    return names.reversed()
  }

  package mutating func forgetFile(_ inode: UInt64) {
    files[inode] = nil
    locations[inode] = nil
    lockFiles.remove(inode)
  }

  package mutating func write(_ bytes: UnsafeRawBufferPointer, to inode: UInt64, at offset: Int) {
    if files[inode] == nil { files[inode] = [] }
    files[inode]?.overwrite(at: offset, with: bytes)
  }

  package mutating func truncate(_ inode: UInt64, to size: Int) {
    if files[inode] == nil { files[inode] = [] }
    files[inode]?.resize(to: size)
  }
}

extension [UInt8] {
  /// Writes `bytes` at `offset`, filling a gap after the present end with zeros.
  package mutating func overwrite(at offset: Int, with bytes: UnsafeRawBufferPointer) {
    if bytes.isEmpty { return }
    if offset + bytes.count > count { resize(to: offset + bytes.count) }
    withUnsafeMutableBytes { target in
      UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + bytes.count]).copyMemory(from: bytes)
    }
  }

  /// Truncates the array, or extends it with zeros.
  package mutating func resize(to size: Int) {
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
