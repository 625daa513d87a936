import Testing

@testable import HeartlogCLI

@Suite("Output and errors")
struct OutputTests {
  @Test("output that nobody reads ends the command quietly")
  func brokenPipe() {
    let captured = CapturedOutput(failing: Terminal.brokenPipe)
    #expect(
      HeartlogCLI.run(arguments: ["help"], environment: [:], output: captured.output, clock: .test) == 0)
    #expect(captured.error.isEmpty)
  }

  @Test("output that cannot be written is an input/output error")
  func fullDisk() {
    let noSpace: Int32 = 28
    let captured = CapturedOutput(failing: noSpace)
    #expect(
      HeartlogCLI.run(arguments: ["help"], environment: [:], output: captured.output, clock: .test) == 74)
    #expect(captured.error.hasPrefix("heartlog: cannot write standard output: "))
  }

  @Test("output is buffered until it is asked for or large, and fails for good")
  func buffered() throws {
    let captured = CapturedOutput()
    try captured.output.line("one")
    #expect(captured.standard.isEmpty)
    try captured.output.flush()
    #expect(captured.standard == "one\n")
    try captured.output.write(String(repeating: "x", count: 100_000))
    #expect(captured.standard.utf8.count == 100_004)

    let failing = CapturedOutput(failing: Terminal.brokenPipe).output
    try failing.line("one")
    #expect(throws: OutputError.closed) { try failing.flush() }
    #expect(throws: OutputError.closed) { try failing.line("two") }
  }

  @Test("what was printed comes before an error that follows it")
  func order() throws {
    let captured = CapturedOutput()
    try captured.output.line("first")
    captured.output.errorLine("second")
    #expect(captured.standard == "first\n")
  }

  @Test("an error says what, where, and what to do next")
  func sentence() {
    let error = CommandError(
      .noStore, "there is no store", at: "/x", hint: "Create one with \"heartlog init\".")
    #expect(error.sentence == "there is no store: /x. Create one with \"heartlog init\".")
    #expect(CapturedOutput.run("nonsense").error.hasPrefix("heartlog: unknown command \"nonsense\"."))
  }

  @Test("errors and help are coloured on a terminal, and not with NO_COLOR")
  func colour() {
    for (environment, isColoured) in [([:], true), (["NO_COLOR": "1"], false), (["TERM": "dumb"], false)] {
      let captured = CapturedOutput(isTerminal: true, width: 80)
      _ = HeartlogCLI.run(
        arguments: ["help"], environment: environment, output: captured.output, clock: .test)
      _ = HeartlogCLI.run(
        arguments: ["nonsense"], environment: environment, output: captured.output, clock: .test)
      #expect(captured.standard.contains("\u{1B}") == isColoured)
      #expect(captured.error.contains("\u{1B}") == isColoured)
    }
  }

  @Test("exit codes are those that scripts rely on")
  func exitCodes() {
    #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 64, 65, 66, 73, 74, 75])
  }

  @Test("the store is named by --store, else by $HEARTLOG_STORE, else by the data directory")
  func storeLocation() throws {
    func place(_ option: String?, _ environment: [String: String]) throws -> String {
      try StoreLocation.directory(option: option, environment: environment)
    }
    let full = ["HEARTLOG_STORE": "/env", "XDG_DATA_HOME": "/data/", "HOME": "/home/me"]
    #expect(try place("here", full) == "here")
    #expect(try place(nil, full) == "/env")
    #if canImport(Darwin)
      let standard = "/home/me/Library/Application Support/Heartlog/favorites.heartlog"
    #else
      let standard = "/home/me/.local/share/heartlog/favorites.heartlog"
      #expect(
        try place(nil, ["XDG_DATA_HOME": "/data/", "HOME": "/home/me"]) == "/data/heartlog/favorites.heartlog"
      )
      #expect(try place(nil, ["XDG_DATA_HOME": "data", "HOME": "/home/me"]) == standard)
    #endif
    #expect(try place(nil, ["HEARTLOG_STORE": "", "HOME": "/home/me"]) == standard)
    #expect(throws: CommandError.self) { try place(nil, [:]) }
  }
}
