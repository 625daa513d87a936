import Foundation
import Testing

@testable import HeartlogCLI

/// The pages that show command lines: every block marked `console` is run, in order, in one store a page, as on a terminal of 100
/// columns, and prints what stands in it. A block marked `jsonl NAME` is the file NAME of later command lines.
///
/// `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Page` writes into the pages what is printed now.
@Suite("Pages")
struct PageTests {
  private static let isUpdating = ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil

  @Test("what a page shows is what is printed", arguments: ["README.md", "docs/cli.md"])
  func page(path: String) throws {
    let file = Transcript.package.appending(path: path)
    let page = try String(contentsOf: file, encoding: .utf8)
    let transcript = try Transcript(on: .terminal(width: 100, colours: false))
    var printed = ""
    var blocks = 0
    // Odd parts lie between fences; the first line of each is its info string.
    for (index, part) in page.components(separatedBy: "```").enumerated() {
      if index > 0 { printed += "```" }
      guard index % 2 == 1, let end = part.firstIndex(of: "\n") else {
        printed += part
        continue
      }
      let info = part[..<end].split(separator: " ")
      let body = String(part[part.index(after: end)...])
      if info == ["console"] {
        blocks += 1
        printed += "console\n" + transcript.replay(body)
      } else {
        if info.count == 2, info[0] == "jsonl" { try transcript.makeFile(String(info[1]), body) }
        printed += part
      }
    }
    #expect(blocks > 0 && blocks == page.components(separatedBy: "\n```console\n").count - 1)
    if Self.isUpdating {
      try printed.write(to: file, atomically: true, encoding: .utf8)
    } else {
      #expect(printed == page, "\(path): HEARTLOG_UPDATE_GOLDENS=1 writes what is printed now")
    }
  }
}
