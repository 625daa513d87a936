import HeartlogFiles
import HeartlogFormat
import HeartlogHTTPServer

/// The program `heartlog-hub`.
public enum HubCommand {
  /// Serves until a signal ends it.
  ///
  /// - Parameter words: The words after the program's name.
  /// - Returns: The exit code.
  public static func run(_ words: [String]) -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    do {
      let arguments = try HubArguments(words)
      if arguments.wantsHelp {
        output(HubArguments.help, to: STDOUT_FILENO)
      } else if let vault = arguments["--reset"] {
        try reset(vault, arguments)
      } else if let copy = arguments["backup"] {
        try backup(to: copy, arguments)
      } else {
        try serve(arguments)
      }
      return 0
    } catch {
      let error = HeartlogError(wrapping: error)
      let hint = error.code == .invalid ? ". \"heartlog-hub --help\" lists the options." : ""
      output("heartlog-hub: \(error)\(hint)\n", to: STDERR_FILENO)
      // The numbers of sysexits.h.
      return switch error.code {
      case .invalid: 64
      case .corrupt, .newerFormat: 65
      case .notFound: 66
      case .readOnly, .exists: 73
      case .locked: 75
      default: 74
      }
    }
  }

  private static func serve(_ arguments: HubArguments) throws {
    // All threads that start from here on leave these signals to `sigwait`.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    var options = HubServer.Options(address: try SocketAddress(arguments["--listen"] ?? ""))
    options.names = arguments.names
    guard options.address.isLoopback || !options.names.isEmpty else {
      throw HeartlogError(
        .invalid,
        "--name is missing: others reach \(options.address), so give the host that devices use, for example --name hub.example.org"
      )
    }
    guard options.address.isLoopback || arguments.isOpen || arguments["--invitations"] != nil else {
      throw HeartlogError(
        .invalid,
        "anybody who reaches \(options.address) could create vaults: allow that with --open, or give --invitations FILE with a word for each vault"
      )
    }
    if let metrics = arguments["--metrics"] { options.metricsAddress = try SocketAddress(metrics) }
    if let rate = try arguments.number("--rate") { options.rate = rate }
    // Files, the log and the standard streams need a few too.
    options.limits.connections = max(
      16, min(openFilesTarget, openFilesMax()) - 64 - ClientConnections.spareCount)
    options.log = { line in output(line, to: STDERR_FILENO) }
    if let certificate = arguments["--certificate"], let key = arguments["--key"] {
      options.certificate = (try contents(of: certificate), try contents(of: key))
    }
    var invitations: Set<String>?
    if let file = arguments["--invitations"] {
      invitations = Set(try contents(of: file).split(whereSeparator: \.isWhitespace).map(String.init))
    }
    let engine = try engine(arguments)
    defer { engine.close() }
    let server = try HubServer(HubService(engine: engine, invitations: invitations), options)
    let scheme = options.certificate == nil ? "http" : "https"
    output("listening on \(scheme)://\(options.address.text(port: server.port))\n", to: STDOUT_FILENO)
    if let metrics = options.metricsAddress {
      output("metrics on http://\(metrics.text(port: server.metricsPort))/metrics\n", to: STDOUT_FILENO)
    }
    var received: Int32 = 0
    while sigwait(&signals, &received) != 0 {}
    server.stop()
  }

  /// Removes a vault.
  private static func reset(_ text: String, _ arguments: HubArguments) throws {
    guard let vault = VaultID(text) else {
      throw HeartlogError(.invalid, "a vault has 32 lower-case hexadecimal digits, not \"\(text)\"")
    }
    let engine = try engine(arguments)
    defer { engine.close() }
    guard try engine.removeVault(vault) else { throw HeartlogError(.notFound, "there is no vault \(vault)") }
    output("removed vault \(vault): its devices create it again at their next sync\n", to: STDOUT_FILENO)
  }

  /// Copies the database, also while a hub serves it.
  private static func backup(to copy: String, _ arguments: HubArguments) throws(HeartlogError) {
    guard !arguments.isPostgreSQL else {
      throw HeartlogError(
        .invalid, "backup copies a file of SQLite: use pg_basebackup or pg_dump for a PostgreSQL database")
    }
    try SQLiteDatabase.copy(arguments.database, to: copy)
    output("copied \(arguments.database) to \(copy)\n", to: STDOUT_FILENO)
  }

  private static func engine(_ arguments: HubArguments) throws -> HubEngine {
    let quota = try arguments.number("--quota") ?? HubEngine.quota
    return arguments.isPostgreSQL
      ? try HubEngine(PostgresDatabase(arguments.database), quota: quota)
      : try HubEngine(SQLiteDatabase(at: arguments.database), quota: quota)
  }

  /// For as many devices that watch: each has a connection.
  private static let openFilesTarget = 65_536

  private static func openFilesMax() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 1_024 }
    // The soft limit is for programs that use select(2).
    var raised = limit
    raised.rlim_cur = min(limit.rlim_max, rlim_t(openFilesTarget))
    if raised.rlim_cur > limit.rlim_cur, setrlimit(resource, &raised) == 0 { limit = raised }
    return Int(min(limit.rlim_cur, 1 << 20))
  }

  private static func contents(of path: String) throws(HeartlogError) -> String {
    guard let bytes = try POSIXFileSystem().contents(of: path) else {
      throw HeartlogError(.notFound, "there is no file", file: path)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes all. What a closed pipe does not take is lost.
  private static func output(_ text: String, to descriptor: Int32) {
    Array(text.utf8).withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count, let base = bytes.baseAddress {
        let count = write(descriptor, base + start, bytes.count - start)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        start += count
      }
    }
  }
}

/// The command line of `heartlog-hub`: "Operating it" in docs/hub.md.
struct HubArguments {
  /// What was given, by option. The value of `backup` is its FILE.
  private var values: [String: [String]] = [:]

  private static let flags: Set = ["--help", "-h", "--open"]
  private static let options: Set = [
    "--listen", "--metrics", "--database", "--name", "--invitations", "--certificate", "--key", "--quota",
    "--rate", "--reset",
  ]

  /// The value of an option; `nil` if it was not given.
  subscript(option: String) -> String? { values[option]?.last }

  var wantsHelp: Bool { values["--help"] != nil || values["-h"] != nil }

  /// Whether anybody may create a vault, wherever they are.
  var isOpen: Bool { values["--open"] != nil }

  var names: Set<String> { Set((values["--name"] ?? []).map { $0.lowercased() }) }

  /// A file, or the address of a PostgreSQL database.
  var database: String { self["--database"] ?? "heartlog-hub.db" }

  var isPostgreSQL: Bool { database.hasPrefix("postgresql://") || database.hasPrefix("postgres://") }

  /// A number that is greater than 0; `nil` if it was not given.
  func number(_ option: String) throws(HeartlogError) -> Int? {
    guard let text = self[option] else { return nil }
    guard let number = Int(text), number > 0 else {
      throw HeartlogError(.invalid, "\(option) takes a positive number, not \"\(text)\"")
    }
    return number
  }

  static let help = """
    Usage: heartlog-hub --listen HOST:PORT [--database DATABASE] [OPTION]…
           heartlog-hub --reset VAULT [--database DATABASE]
           heartlog-hub backup FILE [--database DATABASE]

    Keeps the objects of Heartlog's vaults, and serves them to devices over HTTP.

      --listen HOST:PORT     an address of this machine and a port; port 0 takes a free one
      --metrics HOST:PORT    an address for the counters alone, as Prometheus takes them, without TLS; none unless given
      --database DATABASE    what keeps everything: a file, which is made if there is none (heartlog-hub.db), or a
                             PostgreSQL database: postgresql://…, as psql takes it
      --name HOST            a name of this hub, again for each; others are refused. Needed unless only this machine
                             reaches it
      --invitations FILE     words, one a line, that each allow one new vault
      --open                 anybody may create vaults. This or --invitations is needed unless only this machine reaches it
      --certificate FILE     a certificate with its chain, in PEM, to serve HTTPS
      --key FILE             its key, in PEM
      --quota BYTES          the most bytes of objects of one vault (1073741824)
      --rate REQUESTS        the most requests of one address in a second (1000)
      --reset VAULT          removes a vault with its keys and objects, and ends; its devices put them again
      backup FILE            copies the database to a new file, while a hub serves or not, and ends
      --help                 this text

    The first line of standard output is "listening on http://HOST:PORT", with --metrics the second one is
    "metrics on http://HOST:PORT/metrics". SIGTERM and SIGINT end it.

    """

  init(_ words: [String]) throws(HeartlogError) {
    var rest = words[...]
    let wantsBackup = rest.first == "backup"
    if wantsBackup { rest.removeFirst() }
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if Self.options.contains(parts[0]) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
          throw HeartlogError(.invalid, "\(parts[0]) takes a value")
        }
        values[parts[0], default: []].append(value)
      } else if Self.flags.contains(word) {
        values[word] = []
      } else if wantsBackup, self["backup"] == nil, !word.hasPrefix("-") {
        values["backup"] = [word]
      } else {
        throw HeartlogError(.invalid, "\"\(word)\" is no option")
      }
    }
    if wantsHelp { return }
    guard !wantsBackup || self["backup"] != nil else { throw HeartlogError(.invalid, "backup takes a FILE") }
    guard ["--listen", "--reset", "backup"].count(where: { self[$0] != nil }) == 1 else {
      throw HeartlogError(.invalid, "give one of --listen, --reset and backup")
    }
    guard (self["--certificate"] == nil) == (self["--key"] == nil) else {
      throw HeartlogError(.invalid, "--certificate and --key go together")
    }
    guard self["--invitations"] == nil || !isOpen else {
      throw HeartlogError(
        .invalid, "--open lets anybody create vaults, --invitations does not: choose one")
    }
    for option in ["--quota", "--rate"] { _ = try number(option) }
  }
}
