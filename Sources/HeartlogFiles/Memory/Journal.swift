/// The changes to a memory file system since a moment at which everything was on disk.
package struct Journal: Sendable {
  package enum Change: Sendable {
    case createFile(UInt64, Volume.Location)
    case createDirectory(UInt64, Volume.Location)
    case rename(Volume.Location, to: Volume.Location)
    case remove(Volume.Location)
    case synchronizeDirectory(UInt64)
    case write(UInt64, offset: Int, bytes: [UInt8])
    case truncate(UInt64, size: Int)
    case synchronize(UInt64)
    /// The system has given up on the dirty pages; a later success says nothing about them.
    case failedSynchronize(UInt64)
    /// Contents replaced by a test, which are on disk at once.
    case replace(UInt64, bytes: [UInt8])
  }

  package struct Entry: Sendable {
    package var change: Change
    /// The contents of the lock files just before the change. Their words change without an entry.
    package var lockPages: [UInt64: [UInt8]]
  }

  package var base: Volume
  package var entries: [Entry] = []

  package init(base: Volume) { self.base = base }
}
