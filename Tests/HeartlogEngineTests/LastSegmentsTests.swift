import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("The ends of streams alone", .timeLimit(.minutes(5)))
struct LastSegmentsTests {
  private func history(clocksAreWrong: Bool = false) throws -> History {
    let history = try History(clocksAreWrong: clocksAreWrong)
    for round in 0..<4 {
      for _ in 0..<14 { try history.write() }
      try history.receive(round + 3)
      try history.seal(joining: false)
    }
    try history.write(5)
    try history.receive(2)
    return history
  }

  private func commits(_ history: History, lastSealed: Int?) throws -> (log: MergedLog, read: [Commit]) {
    let log = try MergedLog(at: "/store", on: history.files, lastSealed: lastSealed)
    var read: [Commit] = []
    while let commit = try log.next() { read.append(commit) }
    #expect(log.findings.isEmpty)
    return (log, read)
  }

  @Test("a log read from its last segments is the end of the whole one", arguments: [false, true])
  func ends(clocksAreWrong: Bool) throws {
    let history = try history(clocksAreWrong: clocksAreWrong)
    let whole = try commits(history, lastSealed: nil)
    #expect(whole.log.completeFrom == nil && whole.read.count == history.commits.count)
    var counts: Set<Int> = []
    for lastSealed in [1, 2, 3, 100] {
      let part = try commits(history, lastSealed: lastSealed)
      counts.insert(part.read.count)
      guard let from = part.log.completeFrom else {
        #expect(part.read == whole.read)
        continue
      }
      let end = part.read.filter { $0.position >= from }
      #expect(!end.isEmpty && end == whole.read.suffix(end.count))
      #expect(Set(part.log.replicas) == Set(whole.log.replicas))
    }
    #expect(counts.count > 1 && counts.contains(whole.read.count))
  }

  @Test("the ends from a moment on have everything from there on", arguments: [false, true])
  func endsFromMoment(clocksAreWrong: Bool) throws {
    let history = try history(clocksAreWrong: clocksAreWrong)
    let whole = try commits(history, lastSealed: nil).read
    var counts: Set<Int> = []
    for first in whole {
      let log = try MergedLog.ends(at: "/store", on: history.files) { $0 <= first.position }
      var read: [Commit] = []
      while let commit = try log.next() { read.append(commit) }
      #expect(read.filter { $0.position >= first.position } == whole.filter { $0.position >= first.position })
      counts.insert(read.count)
    }
    #expect(counts.count > 2 && counts.contains(whole.count))
  }

  @Test("no stamp is below a wall time of its stream so far", arguments: [false, true])
  func stampsAndTimes(clocksAreWrong: Bool) throws {
    let history = try history(clocksAreWrong: clocksAreWrong)
    let log = try MergedLog(at: "/store", on: history.files)
    while let commit = try log.next() { #expect(commit.stamp.milliseconds >= log.lastTime) }
  }

  @Test("a stream that comes later is read from its start")
  func laterStream() throws {
    let history = try History()
    for _ in 0..<2 {
      for _ in 0..<14 { try history.write() }
      try history.seal(joining: false)
    }
    let log = try MergedLog(at: "/store", on: history.files, lastSealed: 1)
    while try log.next() != nil {}
    let from = log.completeFrom
    for _ in 0..<3 {
      try history.receive(4)
      try history.seal(joining: false)
    }
    var received = 0
    while let commit = try log.next() { if commit.replica == history.otherReplica { received += 1 } }
    #expect(received == 12 && from != nil && log.completeFrom == from)
  }

  @Test("a damaged segment is found, whether it is read first or later")
  func damage() throws {
    let history = try history()
    let directory = StoreDirectory(fileSystem: history.files, path: "/store")
    let sealed = try [history.replica, history.otherReplica].flatMap { replica in
      try directory.servingSegments(of: replica).serving.filter { $0.state == .sealed }
        .map { directory.path(of: $0, in: replica) }
    }
    var unread = 0
    for path in sealed {
      let sound = try history.files.contents(of: path)
      var bytes = sound
      bytes[bytes.count - 16] ^= 1
      try history.files.replaceContents(of: path, with: bytes)
      defer { try? history.files.replaceContents(of: path, with: sound) }
      let log = try MergedLog(at: "/store", on: history.files, lastSealed: 1)
      while try log.next() != nil {}
      let whole = try MergedLog(at: "/store", on: history.files)
      while try whole.next() != nil {}
      if log.findings.isEmpty { unread += 1 }
      #expect(!whole.findings.isEmpty)
      // It is not read at all, or it is named as by a reader of everything.
      #expect(
        log.findings.isEmpty || log.findings.map(\.error.message) == whole.findings.map(\.error.message))
    }
    #expect((1..<sealed.count).contains(unread))
  }
}
