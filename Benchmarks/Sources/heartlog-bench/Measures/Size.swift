import FoundationEssentials
import Glibc

/// Bytes on disk: every event a commit of its own, at the time that the trace says.
struct Size {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let trace = try Trace(try arguments.text("trace"))
    let folder = try arguments.text("folder")
    func report(_ name: String, _ bytes: UInt64) {
      Sample(
        measure: "size", peer: peer, name: name, unit: "bytes/event",
        value: Double(bytes) / Double(trace.count)
      ).report()
    }
    if peer == "text" { return report("as lines of text", UInt64(trace.text.count)) }

    let store = try open(peer, folder, trace, .buffered)
    guard let heartlog = store as? HeartlogPeer else {
      try store.commit(0..<trace.count, by: 1)
      try store.compact()
      try store.close()
      return report("compacted", try bytes(in: folder))
    }
    try heartlog.commitAtTheirTimes(0..<trace.count)
    try heartlog.check(trace.favoriteCount)
    try heartlog.flush()
    report("after the last commit", try heartlog.store.status().bytes)
    // Waits for the sealing in the background, as whoever ends a program does.
    try heartlog.close()
    let again = try HeartlogPeer(folder, trace, .buffered)
    report("before seal", try again.store.status().bytes)
    try again.compact()
    report("sealed", try again.store.status().bytes)
    try again.close()
    report("the whole folder", try bytes(in: folder))
  }

  /// What the files in a folder and below it take on disk.
  static func bytes(in folder: String) throws -> UInt64 {
    try FileManager.default.subpathsOfDirectory(atPath: folder).reduce(0) { sum, name in
      var status = stat()
      guard stat(folder + "/" + name, &status) == 0 else { throw Failure("\(name) is gone") }
      return sum + UInt64(status.st_blocks) * 512
    }
  }
}
