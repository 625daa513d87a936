import Foundation
import Testing

@testable import HeartlogCLI

/// fixtures/golden: what command lines print for the phone's fortnight. A file whose first command line is `init` begins without a store;
/// one called `….terminal.txt` is what a terminal of 80 columns is sent, with ␛ for the escape character.
///
/// `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Golden` writes what is printed now; a new file needs its `$` lines only.
@Suite("Golden outputs")
struct GoldenTests {
  private static let folder = Transcript.package.appending(path: "fixtures/golden")
  private static let isUpdating = ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil
  private static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".txt") }.sorted()

  @Test("there are goldens") func some() { #expect(Self.names.count > 10) }

  @Test("what is printed is what was printed", arguments: names)
  func golden(name: String) throws {
    let file = Self.folder.appending(path: name)
    let golden = try String(contentsOf: file, encoding: .utf8)
    let transcript = try Transcript(
      on: name.hasSuffix(".terminal.txt") ? .terminal(width: 80, colours: true) : .pipe)
    if !golden.hasPrefix("$ heartlog init") { try transcript.playFortnight() }
    let printed = transcript.replay(golden)
    if Self.isUpdating {
      try printed.write(to: file, atomically: true, encoding: .utf8)
    } else {
      #expect(printed == golden, "\(name): HEARTLOG_UPDATE_GOLDENS=1 writes what is printed now")
    }
  }
}
