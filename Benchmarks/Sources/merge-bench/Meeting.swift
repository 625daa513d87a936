import Heartlog
import HeartlogSync

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Two devices that know the same, go apart and sync: what that costs each.
struct Meeting {
  static let names = [
    "first sync, bytes/event", "diverged sync, bytes/event", "sync in memory", "sync on disk",
    "open on disk",
  ]

  let base: [Trace.Step]
  /// What each does after the first sync.
  let mine: [Trace.Step]
  let theirs: [Trace.Step]

  private var events: Double { Double(mine.count + theirs.count) }

  /// One round of everything; times are nanoseconds an event, the mean of the two sides.
  func measure() throws -> [String: Double] {
    var result: [String: Double] = [:]
    try meet(try .inMemory(), try .inMemory(), &result, "sync in memory")
    try withFolder { folder in
      var options = StoreOptions()
      options.durability = .buffered
      let a = try FavoritesStore(at: folder + "/a", options: options)
      try meet(a, try FavoritesStore(at: folder + "/b", options: options), &result, "sync on disk")
      let digest = a.digest
      try a.close()
      let started = nanoseconds()
      let opened = try FavoritesStore(at: folder + "/a")
      result["open on disk"] = Double(nanoseconds() - started) / (Double(base.count) + events)
      guard opened.digest == digest else { throw Difference() }
    }
    return result
  }

  private func meet(
    _ a: FavoritesStore, _ b: FavoritesStore, _ result: inout [String: Double], _ name: String
  ) throws {
    let other = StoreCarrier(b)
    try Device(a).play(base)
    let first = try other.sync(a, options: SyncOptions())
    result["first sync, bytes/event"] = Double(first.sent.bytes) / Double(base.count)
    try Device(a).play(mine)
    try Device(b).play(theirs)
    let started = nanoseconds()
    let second = try other.sync(a, options: SyncOptions())
    result[name] = Double(nanoseconds() - started) / events
    result["diverged sync, bytes/event"] = Double(second.sent.bytes + second.received.bytes) / events
    guard second.isComplete, a.digest == b.digest else { throw Difference() }
  }

  struct Difference: Error {}

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "merge-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }
}
