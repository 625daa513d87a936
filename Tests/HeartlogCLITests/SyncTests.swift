import Foundation
import Heartlog
@testable import HeartlogSync
import Testing

@testable import HeartlogCLI

@Suite("Peers, and what a sync did")
struct SyncTests {
  @Test("a peer is told from its first letters")
  func peers() throws {
    #expect(try PeerAddress("backup/favorites.heartlog") == .store("backup/favorites.heartlog"))
    #expect(try PeerAddress("./folder:x") == .store("./folder:x"))
    #expect(try PeerAddress("folder:cloud dir") == .folder("cloud dir"))
    #expect(try PeerAddress("exec:ssh a 'b c'") == .command("ssh a 'b c'"))
    #expect(try PeerAddress("ssh://a/b") == .ssh(SSHAddress("ssh://a/b")))
    #expect(try PeerAddress("https://a/b") == .hub(HubAddress("https://a/b")))
  }

  @Test(
    "what can be no peer is refused",
    arguments: [
      "", "folder:", "exec:", "ssh:", "ssh://host", "ssh:host/path", "ssh://-oX=y/path", "https:", "http://",
      "https://h/a b",
    ])
  func noPeers(text: String) {
    #expect(throws: CommandError.self) { try PeerAddress(text) }
    #expect(CapturedOutput.run("sync", text).exitCode == 64)
  }

  @Test(
    "a password in an address is never printed",
    arguments: [
      ["sync", "ssh://anna:secret@desk/s"], ["sync", "ssh://anna:secret@desk:22/s", "--json"],
      ["sync", "https://anna:secret@desk/s"], ["hub", "https://anna:secret@desk/s"],
      ["sync", "ssh://anna:secret@desk"],
      ["sync", "ssh://anna:secret@desk/s", "--pull", "--store", "/nowhere"],
      ["ssh://anna:secret@desk/s"], ["status", "--store", "ssh://anna:secret@desk/s"],
      ["sync", "x", "ssh://anna:secret@desk/s"], ["sync", "--peer=ssh://anna:secret@desk/s"],
    ])
  func passwords(words: [String]) {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(arguments: words, environment: [:], output: captured.output, clock: .test)
    #expect(exitCode != 0 && !captured.error.isEmpty)
    #expect(!(captured.error + captured.standard).contains("secret"), "\(captured.error)")
  }

  @Test("--watch with --dry-run, and serve without --stdio, are refused")
  func usage() {
    #expect(CapturedOutput.run("sync", "folder:x", "--watch", "--dry-run").exitCode == 64)
    #expect(CapturedOutput.run("serve").exitCode == 64)
  }

  private static let replica = ReplicaID(high: 0x3f9a_12c0_d4e8_5b67, low: 0x91ac_0f2b_37de_4c58)

  private func report() -> SyncReport {
    var report = SyncReport()
    report.peer = Self.replica
    report.peerName = "Anna's\u{1B}[31m phone"
    report.received.commits = 2
    report.received.events = 1_234
    report.received.bytes = 2_048
    report.changedItems = 1
    report.streams = 2
    return report
  }

  @Test("a sync is told in plain words, without what a peer's name would do to a terminal")
  func lines() {
    let lines = SyncPage(report: report(), peer: "exec:x", isPull: false, conflicts: 0).lines
    #expect(lines.count == 2 && lines.allSatisfy { !$0.contains("\u{1B}") })
    #expect(lines[0].hasSuffix("phone (3f9a12c0): 1,234 events in 2 commits received, nothing sent"))
    #expect(lines[1] == "1 item changed; 2 streams; 2.0 KiB read, 0 bytes written")
  }

  @Test("a fork is said plainly, with where, and what became of it")
  func forks() {
    var report = report()
    report.forks = [
      .init(replica: Self.replica, name: "phone", lastCommon: CommitNumber(rawValue: 20), isEnded: true),
      .init(replica: Self.replica, name: "", lastCommon: nil, isEnded: false),
    ]
    let lines = SyncPage(report: report, peer: "exec:x", isPull: true, conflicts: 2).lines
    #expect(
      lines[2]
        == "forked: two stores wrote the stream of phone (3f9a12c0) after commit 20, because one of them was copied or restored; "
        + "the stream ends there, and both continue as separate streams")
    #expect(lines[3].hasSuffix("a sync in both directions keeps both"))
    #expect(lines[4] == "2 open conflicts: \"heartlog conflicts\" lists them")
  }

  @Test("a stream that was not taken is named, with the reason; a clock that is far ahead is a warning")
  func skippedAndAhead() throws {
    var report = report()
    report.peerClockAheadMilliseconds = 864_000_000
    report.clocksAhead = [
      .init(replica: Self.replica, name: "phone", milliseconds: 864_000_000),
      .init(replica: nil, name: nil, milliseconds: 7_200_000),
    ]
    report.skipped = [
      .init(
        replica: Self.replica, name: "phone\u{7}", firstCommit: CommitNumber(rawValue: 7), cause: .clock,
        reason: "a wall time"),
      .init(
        replica: Self.replica, name: "", firstCommit: CommitNumber(rawValue: 1), cause: .waiting,
        reason: "a stamp"),
    ]
    let page = SyncPage(report: report, peer: "exec:x", isPull: true, conflicts: 0)
    #expect(page.lines.count == 3 && page.failures.count == 1 && !page.failures[0].contains("\u{7}"))
    #expect(page.failures[0].hasPrefix("refused: the stream of phone"))
    #expect(page.failures[0].hasSuffix("(3f9a12c0) from commit 7 on: a wall time."))
    #expect(page.lines[2] == "waiting: the stream of 3f9a12c0 from commit 1 on: a stamp")
    #expect(!report.isComplete)
    #expect(page.warnings.count == 2)
    #expect(page.warnings[0].hasPrefix("the clock of phone (3f9a12c0) is 10 d 00 h ahead of this device's:"))
    #expect(page.warnings[1].hasPrefix("the clock of exec:x is 2 h 00 min ahead of this device's:"))
    report.skipped.removeFirst()
    #expect(report.isComplete)
  }

  @Test("what did not come is told once for each reason, and a store with less content is not called another")
  func incomplete() {
    var report = report()
    report.skipped = [
      .init(
        replica: Self.replica, name: "phone", firstCommit: CommitNumber(rawValue: 3), cause: .refused,
        reason: "why"),
      .init(
        replica: .init(high: 1, low: 1), name: "", firstCommit: CommitNumber(rawValue: 1), cause: .damaged,
        reason: "how"),
      .init(
        replica: .init(high: 2, low: 1), name: "", firstCommit: CommitNumber(rawValue: 1), cause: .damaged,
        reason: "how"),
      .init(
        replica: .init(high: 3, low: 1), name: "", firstCommit: CommitNumber(rawValue: 1), cause: .waiting,
        reason: "when"),
    ]
    report.peerDamage = "its store is damaged: x"
    var page = SyncPage(report: report, peer: "exec:x", isPull: false, conflicts: 0, withoutContent: 3)
    #expect(!report.isComplete && page.lines.last == "3 events here without content")
    #expect(page.lines.contains("waiting: the stream of 00000000 from commit 1 on: when"))
    #expect(
      page.failures == [
        "refused: the stream of phone (3f9a12c0) from commit 3 on: why.",
        "skipped: the stream of 00000000 from commit 1 on: how. The same holds for 1 other stream.",
        "the peer sent only what it can read: its store is damaged: x.",
      ])
    page = SyncPage(report: self.report(), peer: "exec:x", isPull: false, conflicts: 0, withoutContent: 1)
    #expect(
      page.lines.last == "same history, less content: 1 event here without content" && page.failures.isEmpty)
  }

  @Test("a sync that ended early tells what is left, as far as that is known")
  func unfinished() {
    var report = report()
    var unfinished = SyncReport.Unfinished()
    for (left, expected) in [
      ((nil, nil), "ended early. The next sync continues from here."),
      ((1_200, nil), "ended early; left: 1,200 commits to receive. The next sync continues from here."),
      ((0, 1), "ended early; left: 1 commit to send. The next sync continues from here."),
      (
        (2, 3),
        "ended early; left: 2 commits to receive, 3 commits to send. The next sync continues from here."
      ),
    ] as [((UInt64?, UInt64?), String)] {
      (unfinished.commitsToReceive, unfinished.commitsToSend) = left
      report.unfinished = unfinished
      let page = SyncPage(report: report, peer: "exec:x", isPull: false, conflicts: 0)
      #expect(page.lines[0].hasPrefix("synced in part with "))
      #expect(page.failures == [expected] && !report.isComplete && !report.hasFaults)
    }
    #expect(CapturedOutput.run("sync", "folder:x", "--watch", "--deadline", "9").exitCode == 64)
    #expect(CapturedOutput.run("sync", "folder:x", "--deadline", "-1").exitCode == 64)
  }

  @Test("a deadline that is over before the sync begins is exit code 75, and nothing is moved")
  func deadline() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")
    defer { try? FileManager.default.removeItem(at: place) }
    let cloud = place.appending(path: "cloud")
    try FileManager.default.createDirectory(at: cloud, withIntermediateDirectories: true)
    let store = place.appending(path: "store").path
    #expect(CapturedOutput.run("init", "--store", store).exitCode == 0)
    #expect(CapturedOutput.run("add", "papers", "2101.09077v1", "--store", store).exitCode == 0)
    let peer = "folder:\(cloud.path)"
    let late = CapturedOutput.run("sync", peer, "--store", store, "--json", "--deadline", "0")
    #expect(late.exitCode == 75 && late.error.contains("ended early"), "\(late.error)")
    #expect(late.standard.contains("\"unfinished\":{\"commitsToReceive\":0}"), "\(late.standard)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: cloud.path).isEmpty)
    let done = CapturedOutput.run("sync", peer, "--store", store, "--json", "--deadline", "600")
    #expect(done.exitCode == 0 && !done.standard.contains("unfinished"), "\(done.standard)")
  }

  @Test("a way to a hub that others can read is told, unless it stays on this machine")
  func warnings() throws {
    #expect(try PeerAddress("http://hub.example").warning?.contains("hub.example is not encrypted") == true)
    for peer in ["https://hub.example", "http://localhost:8080", "folder:x"] {
      #expect(try PeerAddress(peer).warning == nil)
    }
  }

  @Test("the arguments of hub are checked")
  func hubArguments() {
    let key = String(repeating: "0f", count: 32)
    for words in [
      [], ["https://h", "open"], ["https://h", "admit"], ["https://h", "admit", "12"],
      ["https://h", "list", key],
      ["folder:x"], ["https://h", "remove"],
    ] {
      let captured = CapturedOutput()
      let exitCode = HeartlogCLI.run(
        arguments: ["hub"] + words, environment: [:], output: captured.output, clock: .test)
      #expect(exitCode == 64, "\(words)")
    }
    #expect(CapturedOutput.run("repair", "--from", "https://h").exitCode == 64)
  }

  @Test("a clock that is far off is told; the files of a folder are counted")
  func clockAndFolder() throws {
    let address = try HubAddress("https://x")
    var report = report()
    report.peerClockAheadMilliseconds = -3_600_000
    var folder = SyncReport.FolderFiles()
    folder.runs = 3
    folder.placeholders = 1
    report.folder = folder
    let lines = SyncPage(report: report, peer: "folder:x", isPull: false, conflicts: 0).lines
    #expect(lines[2] == "in the folder: 3 run files, 1 not downloaded yet")
    let place = PeerAddress.hub(address).place
    let page = SyncPage(report: report, peer: "https://x", isPull: false, conflicts: 0, place: place)
    #expect(page.lines[2] == "at the hub: 3 run files, 1 not downloaded yet")
    #expect(lines[3] == "the peer's clock is 1 h 00 min behind this device's")
  }
}
