import Foundation
import Testing

@testable import HeartlogCLI

@Suite("Completions and man page")
struct GeneratedTests {
  private let table = CommandTable.heartlog

  @Test("the completions of each shell list every command, option and library", arguments: ValueKind.shells)
  func listsAll(shell: String) throws {
    let script = try #require(Completions.script(shell: shell, table: table))
    for command in table.commands {
      #expect(script.contains(command.name))
      for option in command.options + table.globalOptions {
        if shell == "fish" {
          #expect(option.long.map { script.contains("-l \($0) ") } ?? true)
          #expect(option.short.map { script.contains("-s \($0) ") } ?? true)
        } else {
          #expect(option.spellings.allSatisfy(script.contains))
        }
      }
    }
    #expect(script.contains(ValueKind.libraries.joined(separator: " ")))
    #expect(script.contains("bash zsh fish"))
    #expect(CapturedOutput.run("completions", shell).standard == script)
  }

  @Test("there are completions for no other shell")
  func otherShell() {
    #expect(Completions.script(shell: "csh", table: table) == nil)
    #expect(CapturedOutput.run("completions", "csh").exitCode == 64)
  }

  @Test(
    "bash completes what may come next", .enabled(if: FileManager.default.fileExists(atPath: "/bin/bash")),
    arguments: [
      (["li"], ["list"]), (["--store", "/x", "li"], ["list"]), (["add", "c"], ["cities"]),
      (["list", "--o"], ["--order"]), (["list", "--order", "n"], ["newest"]),
      (["list", "books", "--limit", ""], []),
      (["log", "-n", "5", "b"], ["breeds", "books"]), (["completions", ""], ["bash", "zsh", "fish"]),
      (["show", "cities", "--", "-"], []), (["help", "to"], ["toggle"]), (["status", ""], []),
      (["add", "-5", "c"], []), (["--js"], ["--json"]), (["undo", "--last", "--dr"], ["--dry-run"]),
    ])
  func bash(words: [String], expected: [String]) throws {
    let script = try #require(Completions.script(shell: "bash", table: table))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    let line = "COMP_WORDS=(heartlog \"$@\"); COMP_CWORD=$#; COMP_LINE=\"${COMP_WORDS[*]}\""
    let ending = "\(line); _heartlog; echo \"${COMPREPLY[*]}\""
    // No program and no store.
    process.environment = ["PATH": "/nowhere"]
    process.arguments = ["--norc", "-c", script + "\n" + ending, "bash"] + words
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(output.split(whereSeparator: \.isWhitespace).map(String.init) == expected)
  }

  @Test("the man page has every command, option, example and exit code")
  func man() {
    let page = ManPage(table: table).text
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
    let page = ManPage(table: table).text
    #expect(page.utf8.allSatisfy { $0 < 0x80 })
    for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      let request = line.dropFirst().prefix { $0 != " " }
      #expect(requests.contains(String(request)), "\(line)")
    }
  }
}
