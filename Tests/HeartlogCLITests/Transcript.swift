import Foundation

@testable import HeartlogCLI

/// Command lines and what they print, as a terminal shows them: `$ heartlog …`, then the output, then `[exit 1]` where the code is
/// not 0. The store is a new one in a folder of its own; what differs from run to run is replaced by what stands in for it.
final class Transcript {
  /// How wide the terminal is that the output goes to; nil where it is none.
  enum Screen {
    case pipe
    case terminal(width: Int, colours: Bool)
  }

  var screen: Screen
  private let clock: LocalClock
  private let folder: URL
  private var replica: String?

  private var storePath: String { folder.appending(path: "favorites.heartlog").path }

  static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  init(on screen: Screen, clock: LocalClock = .test) throws {
    self.screen = screen
    self.clock = clock
    folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Plays the phone's fortnight into the store.
  func playFortnight() throws {
    for line in ["heartlog init --name \"Anna's phone\"", "heartlog apply fixtures/fortnight/phone.jsonl"] {
      let output = run(line)
      guard !output.contains("[exit") else { throw Failure(reason: output) }
    }
  }

  /// Makes a file that later command lines name.
  func makeFile(_ name: String, _ text: String) throws {
    try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
  }

  /// Runs every command line of `text`, and gives `text` as it should read: other lines are output, and replaced.
  func replay(_ text: String) -> String {
    shownRoots = text.matches(of: Self.root).map(\.2)[...]
    return text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("$ ") }
      .map { "\($0)\n\(run(String($0.dropFirst(2))))" }.joined()
  }

  /// Runs one command line, from `heartlog` on.
  private func run(_ line: String) -> String {
    let words = Self.words(line)
    precondition(words.first == "heartlog", "a transcript runs heartlog alone: \(line)")
    let captured: CapturedOutput
    var environment = ["HEARTLOG_STORE": storePath]
    switch screen {
    case .pipe: captured = CapturedOutput()
    case .terminal(let width, let colours):
      // Progress bars come and go by the clock: standard error is no terminal.
      captured = CapturedOutput(isTerminal: true, isErrorTerminal: false, width: width)
      if !colours { environment["NO_COLOR"] = "1" }
    }
    var arguments = words.dropFirst().map(resolved)
    // What is exported is made beside the store, too.
    let written: Int? =
      switch arguments.first {
      case "export": 2
      case "prove": arguments.firstIndex(of: "-o").map { $0 + 1 }
      default: nil
      }
    if let written, arguments.indices.contains(written), arguments[written].contains("."),
      !arguments[written].contains("/")
    {
      arguments[written] = folder.appending(path: arguments[written]).path
    }
    if ["backup", "restore-backup"].contains(arguments.first) {
      arguments = arguments.map {
        $0.contains(".") && !$0.contains("/") ? folder.appending(path: $0).path : $0
      }
    }
    let exitCode = HeartlogCLI.run(
      arguments: arguments, environment: environment, output: captured.output, clock: clock)
    var output = normalized(captured.standard + captured.error)
    if exitCode != 0 { output += "[exit \(exitCode)]\n" }
    return output
  }

  /// Words as a shell takes them apart: spaces, '…' and "…", without escapes.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == " " {
        if let ended = word { words.append(ended) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }

  private func resolved(_ word: String) -> String {
    let made = folder.appending(path: word)
    if word.hasPrefix("fixtures/") { return Self.package.appending(path: word).path }
    if word.contains("."), !word.contains("/"), FileManager.default.fileExists(atPath: made.path) {
      return made.path
    }
    // In a page the store's events are named as its output names them.
    return replica.map {
      word.replacingOccurrences(of: Self.replica, with: $0)
        .replacingOccurrences(of: Self.replicaPrefix, with: $0.prefix(8))
    } ?? word
  }

  // MARK: - What differs from run to run

  private static let replica = "3f9a12c0d4e85b6791ac0f2b37de4c58"
  private static let replicaPrefix = "3f9a12c0"
  private static var root: Regex<(Substring, Substring, Substring)> { /(root[": ]+(?:␛\[2m)?)([0-9a-f]{64})/ }

  /// The roots that the replayed text shows, in order. Salts and replica are random, and so are roots: what is printed is replaced
  /// by what is shown.
  private var shownRoots: ArraySlice<Substring> = []

  private func normalized(_ output: String) -> String {
    learnReplica()
    var text = output.replacingOccurrences(of: storePath, with: "/home/anna/favorites.heartlog")
      .replacingOccurrences(of: folder.path + "/", with: "")
      .replacingOccurrences(of: Self.package.path + "/", with: "")
    if let replica {
      text = text.replacingOccurrences(of: replica, with: Self.replica)
        .replacingOccurrences(of: replica.prefix(8), with: Self.replicaPrefix)
    }
    for (pattern, replacement) in [
      // Keys are random: a fingerprint is the replica's id and 32 digits more.
      ("\(Self.replica)[0-9a-f]{32}", Self.replica + "0123456789abcdef0123456789abcdef"),
      (#""key":"[0-9a-f]{64}""#, #""key":"\#(String(repeating: "0123456789abcdef", count: 4))""#),
      (#""vault":"[0-9a-f]{32}""#, #""vault":"0123456789abcdef0123456789abcdef""#),
      (#"-[0-9a-f]{8}\.snapshot"#, "-01234567.snapshot"),
      // Versions of LZ4 differ by some bytes: any size but that of an open segment, or of a snapshot, which is larger.
      (#"\b(?!64 KiB)[0-9]{1,2}(\.[0-9]+)? KiB"#, "18 KiB"),
      (#""(bytes|bytesAfter|writtenBytes)":(?!65536|0\b|[0-9]+,"new")[0-9]+"#, "\"$1\":19136"),
      // On a machine whose clock is behind the fortnight.
      (#"this device, its clock is .* ahead"#, "this device"),
      (#""wallClockAheadSeconds":[0-9.]+"#, "\"wallClockAheadSeconds\":0"),
    ] {
      text = text.replacingOccurrences(of: "\u{1B}", with: "␛")
        .replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
    }
    return text.replacing(Self.root) { "\($0.1)\(shownRoots.popFirst() ?? $0.2)" }
  }

  private func learnReplica() {
    guard replica == nil,
      let page = try? String(contentsOfFile: storePath + "/store", encoding: .utf8),
      let line = page.split(separator: "\n").first(where: { $0.hasPrefix("replica ") })
    else { return }
    replica = String(line.dropFirst("replica ".count))
  }

  struct Failure: Error { let reason: String }
}
