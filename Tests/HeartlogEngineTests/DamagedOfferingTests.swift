import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("What a damaged store offers")
struct DamagedOfferingTests {
  /// Flips a byte of a file.
  private func flip(_ path: String, at offset: UInt64, on files: MemoryFileSystem) throws {
    let file = try files.open(path, .readWrite)
    let byte = try file.bytes(1, at: offset)
    try file.write([byte[0] ^ 1], at: offset)
  }

  /// Reads all runs of a stream, as a dialogue does.
  private func ship(_ log: CommitLog, _ head: StreamHead, upTo last: UInt64) throws -> Digest? {
    var after: UInt64 = 0
    var root: Digest?
    while after < last,
      let run = try log.streamRun(of: head.replica, after: after, upTo: CommitNumber(rawValue: last))
    {
      after = run.lastCommit.rawValue
      root = run.root
    }
    return after == last ? root : nil
  }

  @Test("wherever a byte is flipped, what is announced can be given, and the other streams are whole")
  func offered() throws {
    let history = try History.long()
    let positions = try #require(history.positions.dropLast(3).last?.positions)
    let sound = try history.own.log.streamHeads()
    history.own.log.close()
    var bounded = 0
    var found = 0
    for head in sound {
      for name in try history.store.names(of: head.replica) {
        let path = "/store/replicas/\(head.replica)/\(name)"
        let size = try history.files.open(path, .read).size()
        for offset in stride(from: UInt64(SegmentHeader.byteCount) + 50, to: size, by: 3_100) {
          for starts in [[], positions] {
            let files = history.files.deepCopy()
            try flip(path, at: offset, on: files)
            let store = TestStore(files: files, path: "/store")
            let projection = RecordingProjection()
            guard
              let log = try? CommitLog(
                at: store.path, on: files, options: TestStore.options(seed: 60), projection: projection,
                from: starts)
            else { continue }
            let heads = try log.streamHeads()
            #expect(
              heads.allSatisfy { $0.replica == head.replica || sound.contains($0) }, "\(path) \(offset)")
            #expect(heads.count == sound.count || !heads.contains { $0.replica == head.replica })
            for announced in heads {
              var last = announced.commit.rawValue
              if let finding = try log.damage(of: announced.replica, after: 0, upTo: announced.commit) {
                #expect(announced.replica == head.replica && finding.verdict == .corrupt && !starts.isEmpty)
                last = try #require(finding.error.commits?.lowerBound.rawValue) - 1
                found += 1
              }
              #expect(last <= announced.commit.rawValue)
              bounded +=
                announced.commit < sound.first { $0.replica == announced.replica }?.commit ?? announced.commit
                ? 1 : 0
              guard last > 0 else { continue }
              let root = try ship(log, announced, upTo: last)
              #expect(
                try root != nil
                  && root == log.streamRoot(of: announced.replica, at: CommitNumber(rawValue: last)),
                "\(path) \(offset), commit \(last)")
            }
            log.close()
          }
        }
      }
    }
    #expect(bounded > 10 && found > 10, "\(bounded) heads were bounded, \(found) were found to be damaged")
  }

  @Test("the own stream is announced up to its damage, and not to the sound segments behind it")
  func behindTheDamage() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for (count, start) in [(6, 0), (3, 6), (2, 9)] {
      for index in start..<start + count { try open.write(index, bytes: 20) }
      _ = try open.log.seal(joining: false)
    }
    for index in 11..<14 { try open.write(index, bytes: 20) }
    open.log.close()
    let names = try store.names(of: open.replica)
    #expect(names.filter { $0.hasSuffix(".sealed") }.count == 3)
    try flip("/store/replicas/\(open.replica)/0000000000000007.sealed", at: 4_150, on: files)
    let damaged = try store.open(TestStore.options(seed: 9))
    let head = try #require(try damaged.log.streamHeads().first)
    #expect(head.commit.rawValue == 6)
    #expect(try ship(damaged.log, head, upTo: 6) == head.root)
  }
}
