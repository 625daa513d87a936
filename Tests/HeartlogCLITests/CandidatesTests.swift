import Foundation
import Heartlog
import Testing

@testable import HeartlogCLI

@Suite("Completion of what a store contains")
struct CandidatesTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
  private var path: String { folder.path }

  /// The candidates of the hidden command; `words` are those before the current one.
  private func ask(
    _ shell: String, _ current: String, head: String = "", after words: String...
  ) -> [String] {
    let captured = CapturedOutput()
    let code = HeartlogCLI.run(
      arguments: [CandidatesRequest.name, shell, head, current] + words,
      environment: ["HEARTLOG_STORE": path], output: captured.output, clock: .test)
    #expect(code == 0)
    #expect(captured.error.isEmpty)
    let lines = captured.standard.split(separator: "\n").map(String.init)
    #expect(lines.isEmpty || lines[0] == "words")
    return Array(lines.dropFirst())
  }

  private func withStore(_ body: (FavoritesStore) throws -> Void) throws {
    let store = try FavoritesStore(at: path)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(store)
  }

  @Test("libraries, ids, collections and devices, newest favorites first")
  func candidates() throws {
    try withStore { store in
      let recipes = try store.library("recipes")
      for (id, date) in [("nata", 3), ("ribollita", 1), ("naan", 2)] as [(String, Milliseconds)] {
        try recipes.add(id, favoritedDate: date)
      }
      try recipes.set([Field(name: "minutes", value: .int64(5))], of: "nachos")
      try store.library("cities").add("2950159")
      try recipes.collection("to cook").insert("nata")
      try recipes.collection("old").insert("nata")
      try recipes.collection("old").remove("nata")
      #expect(ask("zsh", "", after: "list") == ValueKind.libraries + ["recipes"])
      #expect(ask("zsh", "", after: "show", "recipes") == ["nata", "naan", "ribollita", "nachos"])
      #expect(ask("zsh", "na", after: "--json", "show", "recipes") == ["nata", "naan", "nachos"])
      #expect(ask("zsh", "n", after: "show", "cities") == [])
      #expect(ask("zsh", "", after: "collection", "recipes") == ["to cook"])
      #expect(ask("zsh", "", after: "list", "recipes", "--collection") == ["to cook"])
      #expect(ask("bash", "to", after: "list", "recipes", "--collection") == ["to\\ cook"])
      let digits = String(store.replica.description.prefix(8))
      #expect(ask("fish", String(digits.prefix(3)), after: "devices", "retire") == [digits])
    }
  }

  @Test(
    "what may come next is offered without a store",
    arguments: [
      (["li"], ["list"]), (["--store", "/x", "li"], ["list"]), (["add", "c"], ["cities"]),
      (["list", "--o"], ["--order"]), (["list", "--order", "n"], ["newest"]),
      (["list", "--order=n"], ["--order=newest"]), (["list", "books", "--limit", ""], []),
      (["log", "-n", "5", "b"], ["breeds", "books"]), (["completions", ""], ["bash", "zsh", "fish"]),
      (["show", "cities", "--", "-"], []), (["help", "to"], ["toggle"]), (["status", ""], []),
      (["add", "-5", "c"], []), (["--js"], ["--json"]), (["undo", "--last", "--dr"], ["--dry-run"]),
    ])
  func next(words: [String], expected: [String]) throws {
    for shell in ValueKind.shells {
      let captured = CapturedOutput()
      _ = HeartlogCLI.run(
        arguments: [CandidatesRequest.name, shell, "", words[words.count - 1]] + words.dropLast(),
        environment: ["HEARTLOG_STORE": "/nowhere"], output: captured.output, clock: .test)
      let lines = captured.standard.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      #expect(lines.dropFirst() == expected[...])
    }
  }

  @Test("every command and option is offered with what it does, and files are left to the shell")
  func table() {
    let table = CommandTable.self
    #expect(ask("fish", "") == table.commands.map { "\($0.name)\t\($0.summary)" })
    for command in table.commands {
      #expect(
        ask("zsh", "-", after: command.name)
          == (command.options + table.globalOptions).flatMap { option in
            option.spellings.map { "\($0)\t\(option.summary)" }
          })
    }
    for (words, kind) in [
      (["apply", ""], "files"), (["inspect", "-o", "x"], "files"), (["inspect", "--output=x"], "files"),
      (["sync", ""], "directories"), (["--store", ""], "directories"),
    ] {
      let request = CandidatesRequest(
        [CandidatesRequest.name, "bash", "", words[words.count - 1]] + words.dropLast(), environment: [:])
      #expect(request?.lines(clock: .test) == [kind])
    }
  }

  @Test("without a store, a library or sense it is silent, and nothing is created")
  func silent() throws {
    #expect(ask("bash", "", after: "show", "papers") == [])
    #expect(!FileManager.default.fileExists(atPath: path))
    try withStore { store in
      try store.library("papers").add("a")
      #expect(ask("bash", "", after: "show", "papers", "--store", "/nowhere") == [])
      #expect(ask("bash", "", after: "--nonsense", "papers") == [])
      #expect(ask("bash", "$HOME", after: "show", "papers") == [])
      #expect(ask("csh", "", after: "nonsense") == [])
      let before = try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
      try FileManager.default.removeItem(atPath: path + "/lock")
      #expect(ask("bash", "", after: "show", "papers") == [])
      let after = try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
      #expect(after == before.filter { $0 != "lock" })
    }
    let captured = CapturedOutput()
    #expect(
      HeartlogCLI.run(
        arguments: [CandidatesRequest.name], environment: [:], output: captured.output, clock: .test) == 0)
    #expect(captured.standard.isEmpty && captured.error.isEmpty)
  }

  @Test("a long log without a snapshot is not read, one with a snapshot is")
  func longLog() throws {
    try withStore { store in
      let papers = try store.library("papers")
      for number in 0..<50 {
        // Sealing compresses what repeats.
        let text = String(
          (0..<50_000).map { _ in Character(Unicode.Scalar(UInt32.random(in: 0x4E00...0x9FFF))!) })
        try papers.set([Field(name: "text", value: .string(text))], of: "paper-\(number)")
      }
      #expect(ask("zsh", "", after: "show", "papers") == [])
      try store.snapshot()
      #expect(ask("zsh", "", after: "show", "papers").count == 50)
      #expect(ask("zsh", "paper-4", after: "show", "papers").count == 11)
    }
  }

  @Test("at most as many as a person reads")
  func many() throws {
    try withStore { store in
      let papers = try store.library("papers")
      try store.write { for number in 0..<500 { try papers.add("paper-\(number)") } }
      #expect(ask("zsh", "", after: "show", "papers").count == CandidatesRequest.countMax)
    }
  }

  @Test("ids with a meaning to the shell are quoted for bash, and left to the others")
  func quoting() throws {
    try withStore { store in
      let papers = try store.library("papers")
      for id in ["it's $5; `id` & \"more\"!", "urn:isbn:0451450523", "-dash", "a b"] { try papers.add(id) }
      #expect(
        ask("bash", "it", after: "show", "papers") == [
          "it\\'s\\ \\$5\\;\\ \\`id\\`\\ \\&\\ \\\"more\\\"\\!"
        ])
      #expect(ask("zsh", "it", after: "show", "papers") == ["it's $5; `id` & \"more\"!"])
      #expect(ask("bash", "urn:is", head: "urn:", after: "show", "papers") == ["isbn:0451450523"])
      #expect(ask("bash", "\"urn:is", after: "show", "papers") == ["urn:isbn:0451450523"])
      #expect(ask("bash", "a\\ ", after: "show", "papers") == ["a\\ b"])
      #expect(ask("bash", "'a ", after: "show", "papers") == ["a b"])
      #expect(!ask("bash", "-", after: "show", "papers").contains("-dash"))
      #expect(ask("bash", "-", after: "show", "papers", "--") == ["-dash"])
    }
  }

  @Test(
    "bash reads a quoted text as it was", .enabled(if: FileManager.default.fileExists(atPath: "/bin/bash")),
    arguments: ["'", "\"", nil] as [Unicode.Scalar?])
  func bashReadsBack(quote: Unicode.Scalar?) throws {
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next() as UInt64
    var state = seed
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let letters = Array(" '\"\\$`!#~*?[]{}()<>|&;=:@%^-_./aé日\u{301}")
    let texts = (0..<200).map { _ in String((0..<(1 + next(12))).map { _ in letters[next(letters.count)] }) }
    let mark = quote.map { String($0) } ?? ""
    let words = texts.map { text in
      let quoted = ShellWord.bash(text, after: quote)
      return mark + quoted + (quoted.unicodeScalars.last == quote ? "" : mark)
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["--norc", "-c", "printf '%s\\n' \(words.joined(separator: " "))"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(output == texts.map { $0 + "\n" }.joined(), "seed \(seed)")
    for (text, word) in zip(texts, words) {
      #expect(ShellWord(bash: word) == ShellWord(text), "seed \(seed)")
    }
  }
}
