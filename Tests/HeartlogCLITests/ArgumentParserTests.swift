import Testing

@testable import HeartlogCLI

@Suite("Reading a command line")
struct ArgumentParserTests {
  private func parse(_ words: String...) throws -> ArgumentParser.Result {
    try ArgumentParser(clock: .test).parse(words)
  }

  private func arguments(_ words: [String]) throws -> Arguments {
    guard
      case .command(let arguments) = try ArgumentParser(clock: .test).parse(words).request
    else {
      throw CommandError.usage("no command")
    }
    return arguments
  }

  private func message(_ words: String...) -> String? {
    do {
      _ = try arguments(words)
      return nil
    } catch let error as CommandError {
      #expect(error.exitCode == .usage)
      return error.sentence
    } catch {
      return "\(error)"
    }
  }

  @Test("global options stand before or after the command")
  func globalOptions() throws {
    for words in [
      ["--store", "/s", "--json", "list", "books"], ["list", "--store=/s", "books", "--json"],
      ["--json", "list", "books", "--store", "/s"],
    ] {
      let result = try ArgumentParser(clock: .test).parse(words)
      #expect(result.store == "/s")
      #expect(result.isJSON)
      guard case .command(let arguments) = result.request else {
        Issue.record("\(words) is no command")
        continue
      }
      #expect(arguments.text(.library) == "books")
    }
  }

  /// The values of an option, by its spelling.
  private func values(_ spelling: String, _ words: String...) throws -> [String] {
    let arguments = try arguments(words)
    return arguments.texts(try #require(arguments.command.options.first { $0.spelling == spelling }))
  }

  private func values(of name: String, _ words: String...) throws -> [String] {
    let arguments = try arguments(words)
    return arguments.texts(try #require(arguments.command.arguments.first { $0.name == name }))
  }

  @Test("options stand before, between and after arguments")
  func list() throws {
    let words = ["list", "--all", "cities", "--order=id", "--limit", "7", "--match", "Sã o"]
    let list = try arguments(words)
    let texts = list.command.options.map { list.texts($0) }
    #expect(texts == [[""], ["id"], ["7"], ["Sã o"], [], [], [], []] && list.text(.library) == "cities")
    let plain = try arguments(["list", "cities"])
    #expect(plain.command.options.allSatisfy { !plain.has($0) })
  }

  @Test("a short option takes its value attached or apart, and flags are written together")
  func shortOptions() throws {
    #expect(try values("-n", "log", "-n", "5") == ["5"])
    #expect(try values("-n", "log", "-n5") == ["5"])
    let both = ["log", "-fn5", "books", "b1"]
    let arguments = try arguments(both)
    #expect(arguments.command.options.map { arguments.texts($0) } == [[], [], [], ["5"], [""]])
    #expect(arguments.command.arguments.map { arguments.texts($0) } == [["books"], ["b1"]])
  }

  @Test("a repeatable option keeps all its values in order")
  func repeatable() throws {
    #expect(try values("--replica", "log", "--replica", "phone", "--replica=3f") == ["phone", "3f"])
  }

  @Test(
    "options that contradict each other, or lack what they belong to, are refused",
    arguments: [
      (["sync", "folder:x", "--encrypted", "--pull"], "--encrypted cannot be used with --pull"),
      (["prove", "--checkpoint", "-o", "x"], "--checkpoint cannot be used with --output"),
      (["list", "books", "--collection", "a", "--all"], "--collection cannot be used with --all"),
      (["list", "books", "--exact"], "--exact can be used with --match only"),
      (["undo", "--last", "--library", "books"], "--library can be used with --since and --after only"),
      (["devices", "forks", "--keys"], "--keys can be used with devices list only"),
      (["keys", "pair", "--stdio", "--join"], "--join can be used with keys pair PEER only"),
    ])
  func contradictory(words: [String], message: String) {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(arguments: words, environment: [:], output: captured.output, clock: .test)
    #expect(exitCode == 64 && captured.error.contains("\(message). Usage: "), "\(captured.error)")
  }

  @Test("the value of an option that may lack one is the next word if that can be its value")
  func optionalValue() throws {
    for (words, count, events) in [
      (["--last"], "1", 0), (["--last", "3"], "3", 0), (["--last=3"], "3", 0),
      (["--last", "--dry-run"], "1", 0),
      (["--last", "3f:1"], "1", 1), (["--dry-run", "--last"], "1", 0), (["--last", "--", "3f:1"], "1", 1),
    ] {
      let option = try #require(UndoCommand.description.options.first { $0.long == "last" })
      let arguments = try arguments(["undo"] + words)
      #expect(arguments.text(option) == count, "\(words)")
      #expect(arguments.events(UndoCommand.description.arguments[0]).count == events, "\(words)")
    }
    #expect(message("undo", "--last=x")?.contains("whole number") == true)
    #expect(message("undo", "--last", "1", "--last") == "--last is given twice.")
  }

  @Test("negative numbers and a hyphen alone are arguments", arguments: ["-7", "-.5", "-", "-0x"])
  func hyphenArguments(word: String) throws {
    #expect(try values(of: "ID", "show", "cities", word) == [word])
  }

  @Test("-- ends options, and a second one is an argument")
  func doubleHyphen() throws {
    #expect(try values(of: "ID", "show", "--", "cities", "--json") == ["--json"])
    #expect(try values(of: "ID", "show", "cities", "--", "--") == ["--"])
    #expect(try values(of: "ID", "--", "show", "cities", "-x") == ["-x"])
  }

  @Test("an equals sign in a value stays in it, and an empty value is one")
  func attachedValues() throws {
    #expect(try values("--match", "list", "books", "--match=a=b") == ["a=b"])
    #expect(try values("--match", "list", "books", "--match=") == [""])
    #expect(try values("--match", "list", "books", "--match=--all") == ["--all"])
  }

  @Test("apply reads standard input without FILE and with a hyphen")
  func applyFile() throws {
    let file = ApplyCommand.description.arguments[0]
    #expect(try arguments(["apply"]).path(file) == nil)
    #expect(try arguments(["apply", "-"]).path(file) == nil)
    #expect(try arguments(["apply", "x.jsonl", "--ack"]).path(file) == "x.jsonl")
  }

  @Test("help and version win over what is missing")
  func helpWins() throws {
    guard case .help(let topic) = try parse("add", "--help").request else {
      Issue.record("no help")
      return
    }
    #expect(topic?.name == "add")
    guard case .help(let second) = try parse("-h", "log").request, case .help(nil) = try parse().request,
      case .version = try parse("list", "--version").request
    else {
      Issue.record("no help")
      return
    }
    #expect(second?.name == "log")
  }

  @Test("what is mistyped is answered with the nearest word")
  func nearest() {
    #expect(message("lst", "books")?.contains("Did you mean \"list\"?") == true)
    #expect(message("toglge", "books")?.contains("Did you mean \"toggle\"?") == true)
    #expect(message("compl")?.contains("Did you mean \"completions\"?") == true)
    #expect(message("list", "books", "--limt", "3")?.contains("Did you mean \"--limit\"?") == true)
    #expect(message("list", "books", "--order", "oldst")?.contains("Did you mean \"oldest\"?") == true)
    #expect(message("frobnicate")?.contains("\"heartlog help\" lists the commands") == true)
    #expect(message("completions", "fihs")?.contains("Did you mean \"fish\"?") == true)
  }

  @Test("an option before its command is told where it belongs")
  func misplaced() {
    #expect(message("--all", "list", "books")?.contains("after the command") == true)
  }

  @Test(
    "what cannot be meant is refused with exit code 64",
    arguments: [
      (["add"], "add needs LIBRARY and ID"), (["add", "books"], "add needs ID"),
      (["status", "now"], "status takes no arguments"), (["show", "a", "b", "c"], "takes no more arguments"),
      (["list", "books", "--limit"], "--limit needs N"),
      (["list", "books", "--limit", "-1"], "whole number"),
      (["list", "books", "--limit", "99999999999999999999"], "whole number"),
      (["list", "books", "--limit", "1", "--limit", "2"], "given twice"),
      (["list", "books", "--all=yes"], "takes no value"), (["--store", "--json", "status"], "is an option"),
      (["--store=", "status"], "--store is empty"), (["list", "A/b"], "is not a valid library name"),
      (["list", "a\u{7}"], "is not a valid library name"), (["list", ""], "is not a valid library name"),
      (["list", String(repeating: "a", count: 65)], "is not a valid library name"),
      (["show", "books", ""], "the ID is empty"), (["show", "books", "a\nb"], "is not a valid ID"),
      (["show", "books", String(repeating: "x", count: 1_000_000)], "is not a valid ID"),
      (["set", "books", "b1"], "set needs a field"), (["add", "books", "b1", "title"], "is not a field"),
      (["add", "books", "b1", "--date", "3f:1"], "not the event"),
      (["log", "--since", "tomorrow"], "needs a time"), (["log", "-x"], "no option \"-x\""),
    ])
  func refused(words: [String], part: String) throws {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(arguments: words, environment: [:], output: captured.output, clock: .test)
    #expect(exitCode == 64)
    #expect(captured.standard.isEmpty)
    #expect(captured.error.contains(part), "\(captured.error)")
    #expect(captured.error.utf8.count < 600, "a message is to be read")
  }

  @Test("the longest id and the longest library are accepted")
  func limits() throws {
    let item = String(repeating: "x", count: 4_096)
    let library = String(repeating: "a", count: 64)
    #expect(try values(of: "ID", "show", library, item) == [item])
    #expect(message("show", library, item + "x") != nil)
  }
}
