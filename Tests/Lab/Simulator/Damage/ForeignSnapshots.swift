import HeartlogCrashModel
import Heartlog
import HeartlogFiles

/// Snapshots that were made of a copy of the store which went on differently, as a folder has when a part of it was copied back.
enum ForeignSnapshots {
  /// Opens stores with such snapshots: one whose segment is the one that the snapshot is of, and one that sealed it since.
  ///
  /// - Throws: `Violation`, if a snapshot is believed.
  static func check() throws {
    let before = MemoryFileSystem()
    let store = try DamagedStore.open(before, seed: 1)
    for index in 0..<3 { try store.library("papers").add("both \(index)") }
    try store.close()
    let other = before.deepCopy()
    let otherStore = try DamagedStore.open(other, seed: 2)
    try otherStore.library("papers").add("this")
    guard try otherStore.snapshot() != nil else { throw Violation("there is no snapshot") }
    try otherStore.close()
    for isSealed in [false, true] {
      let files = before.deepCopy()
      let store = try DamagedStore.open(files, seed: 3)
      try store.library("papers").add("that")
      if isSealed { try store.seal() }
      try store.close()
      let folder = "\(DamagedStore.path)/snapshots"
      for name in try other.entries(of: folder) {
        try World.put(try other.contents(of: "\(folder)/\(name)"), at: "\(folder)/\(name)", on: files)
      }
      let shown = try DamagedStore.open(files, seed: 4).library("papers").favorites().map(\.id)
      guard shown.contains("that"), !shown.contains("this") else {
        throw Violation(
          "a snapshot of another history is believed\(isSealed ? " once its segment is sealed" : "")")
      }
    }
  }
}
