import Heartlog
import HeartlogFormat
import HeartlogInspector
import HeartlogLibraries
import Synchronization

/// `heartlog inspect`: shows a store and its history in the browser, or writes that page as a file.
enum InspectCommand: Command {
  private static let port = Option.value(
    "port", "N", .count, "Listen on this port of the loopback interface; 0, the default, is any free one.")
  private static let noOpen = Option.flag("no-open", "Only print the address; do not open a browser.")
  private static let readOnly = Option.flag("read-only", "Refuse everything that the page would write.")
  private static let file = Option.value(
    "output", short: "o", "FILE", .file,
    "Write the page with its data as one file, which needs neither Heartlog nor a network; an existing file is replaced."
  )
  private static let library = Option.value(
    "library", "LIBRARY", .library, "With --output: only the events of this library.")

  static let description = CommandDescription(
    name: "inspect", group: .check, summary: "look at the store and its history in the browser",
    options: [port, noOpen, readOnly, file, .at, library],
    page: """
      Opens a page with a slider over all of history: the libraries and favorites as they were at any moment, the life of each item, conflicts,
      devices, verification and statistics. What it writes is shown first, and is an event like any other; it erases nothing.

      Only this machine reaches it, and only with the address that is printed first, which is good once. It ends when it is interrupted, with
      its terminal, or after an hour in which nobody used it.

      With --output it writes the page as a file that shows the same and writes nothing. --at ends its history at a moment. The file is a copy
      that anybody could edit: it says what it is made of, and how to check it.

      heartlog inspect  # Look at the store.
      heartlog inspect --port 8080 --no-open  # Print the address, to open it by hand.
      heartlog inspect -o report.html  # Write a file for somebody without Heartlog.
      heartlog inspect -o papers.html --library papers --at 2026-03-02  # Write one library up to the end of that day.

      Exit code 65: With --output, something is damaged; the file says what, and has the sound part.
      Exit code 73: With --output, the file cannot be written.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let isFile = arguments.has(file)
    try arguments.allow(.at, library, onlyWith: "--output", if: isFile)
    for option in [port, noOpen, readOnly] { try arguments.refuse(file, with: option) }
    // Says at once what is wrong with a store that cannot be read.
    _ = try context.openForReading()
    let store = try inspected(context, isReadOnly: isFile || arguments.has(readOnly))
    guard isFile else { return try serve(store, arguments, context) }
    let moment = arguments.moment(.at)
    let directory =
      moment == nil || moment?.last != nil ? nil : try ReplicaDirectory(at: context.storeDirectory())
    let scope = InspectorFile.Scope(
      moment: arguments.text(.at), library: arguments.text(library), now: context.clock.now,
      contains: try moment.map { try EventFilter.bound(until: $0, in: directory) } ?? { _, _ in true })
    let (page, findings) = try InspectorFile.make(of: store, scope)
    try context.write(page, to: arguments.path(file))
    return try context.report(findings)
  }

  // MARK: - Serving

  private static let unusedSecondsMax = 3_600

  private static func serve(
    _ store: InspectedStore, _ arguments: Arguments, _ context: CommandContext
  ) throws -> ExitCode {
    guard let port = UInt16(exactly: arguments.count(port) ?? 0) else {
      throw misused("a port is a number up to 65535")
    }
    StopSignal.listen()
    let server = try InspectorServer(store, port: port)
    // A second signal ends at once what a page still waits for.
    defer {
      for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
      server.stop()
    }
    try context.show(["address": server.address], [server.address])
    try context.output.flush()
    let browser = arguments.has(noOpen) ? nil : Browser(opening: server.address)
    defer { browser?.forget() }
    if browser == nil, !arguments.has(noOpen) {
      context.warn("no browser could be opened: open this address yourself.")
    }
    while !StopSignal.isRaised {
      Terminal.pause(milliseconds: 50)
      server.tick()
      if server.isUnused(forSeconds: unusedSecondsMax) {
        context.warn("nobody used the page for an hour: \"heartlog inspect\" opens it again.")
        break
      }
    }
    return .success
  }

  /// The store of a context, for the page.
  private static func inspected(_ context: CommandContext, isReadOnly: Bool) throws -> InspectedStore {
    let path = try context.storeDirectory()
    let registry = LibraryRegistry.standard
    let quiet = registry.descriptors.reduce(into: [String: Set<String>]()) { quiet, descriptor in
      quiet[descriptor.name] = Set(descriptor.fields.filter(\.isQuiet).map(\.name))
    }
    let commands = InspectedCommands(
      path: path, environment: context.environment, zone: context.clock.zone, isReadOnly: isReadOnly)
    return InspectedStore(
      path: path, version: Version.text, isReadOnly: isReadOnly, libraries: libraries(of: registry),
      run: { commands.run($0) },
      event: { EventLine(commit: $0, index: $1).json.bytes },
      isPlayback: { event in
        !event.fields.isEmpty
          && event.fields.allSatisfy { $0.isQuiet || quiet[event.library]?.contains($0.name) ?? false }
      },
      conflicts: {
        let store = try context.openForReading()
        defer { _ = context.opened.take() }
        return store.conflicts.prefix(conflictsMax).flatMap { $0.writes.map(\.event) }
      })
  }

  /// The most open conflicts that have a mark on the band.
  private static let conflictsMax = 10_000

  private static func libraries(of registry: LibraryRegistry) -> [UInt8] {
    let objects = registry.descriptors.map { descriptor -> JSONObject in
      [
        "name": descriptor.name, "titleFields": descriptor.titleFields,
        "subtitleFields": descriptor.subtitleFields,
        "fields": descriptor.fields.map { field -> JSONObject in
          ["name": field.name, "isQuiet": field.isQuiet]
        },
      ]
    }
    return [UInt8(ascii: "[")] + objects.map(\.bytes).joined(separator: [UInt8(ascii: ",")]) + [
      UInt8(ascii: "]")
    ]
  }
}

/// The commands that the page may run, on one store.
private struct InspectedCommands: Sendable {
  let path: String
  let environment: [String: String]
  let zone: Zone
  let isReadOnly: Bool
  let pastStates = PastStates()

  /// What may be given to a command: its options, and how many arguments at most. Nothing that names a file, waits, or writes.
  private static let reads: [String: (options: Set<String>, argumentsMax: Int)] = [
    "list": (["all", "order", "limit", "match", "exact", "field", "collection", "at"], 1),
    "show": (["at"], 2), "log": (["replica", "since", "until", "n"], 2), "blame": ([], 2),
    "stats": (["by", "since", "until", "at"], 1), "diff": (["library"], 2), "conflicts": (["at"], 1),
    "devices": (["keys"], 1), "status": (["at"], 0), "verify": ([], 0), "doctor": ([], 0), "places": ([], 0),
    "collection": ([], 3), "undo": (["last", "since", "after", "library", "replica", "dry-run"], .max),
  ]
  private static let writes: [String: (options: Set<String>, argumentsMax: Int)] = [
    "add": (["date"], 2), "toggle": ([], 2), "remove": ([], 2), "set": ([], 3), "conflicts": (["choose"], 0),
    "devices": ([], 3), "undo": (["last", "since", "after", "library", "replica"], .max),
  ]

  func run(_ words: [String]) -> InspectedStore.Answer {
    let (lines, message) = (Printed(), Printed())
    let output = Output(standard: lines.sink, error: message.sink)
    // Each command has a time of its own, however long the page is open.
    let clock = LocalClock(zone: zone, now: StoreOptions.systemTime())
    func exitCode() -> Int32 {
      do throws(CommandError) { try check(words, clock) } catch {
        output.errorLine(error.sentence)
        return error.exitCode.rawValue
      }
      return HeartlogCLI.run(
        arguments: ["--json", "--store", path] + words, environment: environment, output: output,
        clock: clock,
        pastStates: pastStates)
    }
    let code = exitCode()
    // Sentences of the page do not begin with the name of the program.
    let sentences = String(decoding: message.all, as: UTF8.self).split(separator: "\n").map {
      $0.hasPrefix("heartlog: ") ? $0.dropFirst("heartlog: ".count) : $0
    }
    return InspectedStore.Answer(
      exitCode: code, lines: lines.all, message: sentences.joined(separator: "\n"))
  }

  /// Refuses what the page may not run.
  private func check(_ words: [String], _ clock: LocalClock) throws(CommandError) {
    let parsed = try ArgumentParser(clock: clock).parse(words)
    guard case .command(let arguments) = parsed.request, parsed.store == nil else { throw Self.refusal }
    let (name, given) = (arguments.command.name, arguments.words)
    func fits(_ forms: [String: (options: Set<String>, argumentsMax: Int)]) -> Bool {
      guard let form = forms[name] else { return false }
      return arguments.optionNames.isSubset(of: form.options) && given.count <= form.argumentsMax
    }
    let isRead =
      switch name {
      case "undo": arguments.optionNames.contains("dry-run")
      case "devices": ["list", "forks", "schemas", nil].contains(given.first)
      case "collection": given.count < 3 || given[2] == "list"
      default: true
      }
    if isRead, fits(Self.reads) { return }
    let isWrite =
      switch name {
      case "set":
        given.count == 3 && (["@note=", "@note:="].contains { given[2].utf8.starts(with: $0.utf8) })
      case "devices": given.first == "trust"
      default: true
      }
    guard isWrite, fits(Self.writes) else { throw Self.refusal }
    if isReadOnly {
      throw CommandError(.usage, "this page was opened with --read-only", hint: "It writes nothing.")
    }
  }

  private static let refusal = CommandError(
    .usage, "the page does not run this command", hint: "Run it in a terminal.")
}

/// What a command prints, in memory.
private final class Printed: Sendable {
  private let bytes = Mutex<[UInt8]>([])

  var all: [UInt8] { bytes.withLock { $0 } }

  var sink: Output.Sink {
    Output.Sink(
      write: { [self] written in
        bytes.withLock { $0.append(contentsOf: written) }
        return nil
      }, isTerminal: false, width: { nil })
  }
}

/// A browser of this machine.
private struct Browser {
  private let file: String

  /// Opens an address, which contains a secret: everybody on this machine sees the arguments of programs, so these name a file that only its
  /// owner reads, and that leads on. Nil if that is not possible here.
  init?(opening address: String) {
    #if canImport(Darwin)
      let program = "open"
    #else
      let program = "xdg-open"
      // Without a display there is nothing to open.
      guard getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil else { return nil }
    #endif
    let folder = getenv("XDG_RUNTIME_DIR") ?? getenv("TMPDIR")
    var path = Array("\(folder.map { String(cString: $0) } ?? P_tmpdir)/heartlog-XXXXXX.html".utf8CString)
    let descriptor = mkstemps(&path, Int32(".html".utf8.count))
    guard descriptor >= 0 else { return nil }
    let page = "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=\(address)\">"
    let isWritten = Array(page.utf8).withUnsafeBytes { Terminal.writeAll($0, to: descriptor) } == nil
    close(descriptor)
    file = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard isWritten, Self.start(program, file) else {
      unlink(file)
      return nil
    }
  }

  /// Starts a program in a process group of its own: what interrupts this process does not interrupt the browser.
  private static func start(_ program: String, _ argument: String) -> Bool {
    #if canImport(Darwin)
      var attributes: posix_spawnattr_t?
    #else
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var process = pid_t()
    let words = [strdup(program), strdup(argument), nil]
    defer { for word in words { free(word) } }
    return posix_spawnp(&process, program, nil, &attributes, words, environ) == 0
  }

  func forget() { unlink(file) }
}
