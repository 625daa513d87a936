import Foundation
import Testing

@testable import HeartlogCLI

@Suite("Completions and man page")
struct GeneratedTests {
  private let table = CommandTable.self

  @Test(
    "there is a completion script for each shell that is named, and for no other", arguments: ValueKind.shells
  )
  func completions(shell: String) throws {
    let script = CapturedOutput.run("completions", shell).standard
    #expect(script.hasPrefix("#") && script.contains("heartlog \(CandidatesRequest.name) \(shell) "))
    #expect(CapturedOutput.run("completions", "csh").exitCode == 64)
  }

  @Test("the man page has every command, option, example and exit code")
  func man() {
    let page = ManPage.text
    /// In roff, a bare hyphen is a typographic one.
    func escaped(_ text: String) -> String {
      text.split(separator: "").map { $0 == "-" ? "\\-" : "\($0)" }.joined()
    }
    #expect(CapturedOutput.run("man").standard == page)
    for command in table.commands {
      #expect(page.contains("\n.B \(escaped(command.name))"))
      for option in command.options + table.globalOptions {
        for spelling in option.spellings {
          #expect(page.contains("\\fB\(escaped(spelling))"))
        }
      }
    }
    for code in ExitCode.allCases { #expect(page.contains("\\fB\(code.rawValue)\\fR")) }
  }

  @Test("the man page is ASCII, and no line of text is taken for a request")
  func roff() {
    let requests = [
      "TH", "SH", "SS", "TP", "PP", "IP", "B", "RS", "RE", "nf", "fi",
    ]
    let page = ManPage.text
    #expect(page.utf8.allSatisfy { $0 < 0x80 })
    for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      let request = line.dropFirst().prefix { $0 != " " }
      #expect(requests.contains(String(request)), "\(line)")
    }
  }
}
