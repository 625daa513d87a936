import Heartlog
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The program `heartlog-hub`.
public enum HubCommand {
  // The numbers of sysexits.h.
  private static let usage: Int32 = 64
  private static let badInput: Int32 = 65
  private static let noFile: Int32 = 66
  private static let cannotCreate: Int32 = 73
  private static let inputOutput: Int32 = 74
  private static let tryAgain: Int32 = 75

  /// Serves until a signal ends it.
  ///
  /// - Parameter words: The words after the program's name.
  /// - Returns: The exit code.
  public static func run(_ words: [String]) -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    let arguments: HubArguments
    do throws(HubArguments.Failure) { arguments = try HubArguments(words) } catch {
      write(
        "heartlog-hub: \(error.sentence). \"heartlog-hub --help\" lists the options.\n", to: STDERR_FILENO)
      return usage
    }
    if arguments.wantsHelp {
      write(HubArguments.help, to: STDOUT_FILENO)
      return 0
    }
    do throws(HeartlogError) {
      if let vault = arguments.reset { try reset(vault, arguments) } else { try serve(arguments) }
      return 0
    } catch {
      write("heartlog-hub: \(error)\n", to: STDERR_FILENO)
      return switch error.code {
      case .invalid: usage
      case .corrupt, .newerFormat: badInput
      case .notFound: noFile
      case .readOnly: cannotCreate
      case .locked: tryAgain
      default: inputOutput
      }
    }
  }

  private static func serve(_ arguments: HubArguments) throws(HeartlogError) {
    // All threads that start from here on leave these signals to `sigwait`.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    var options = HubServer.Options()
    options.address = try SocketAddress(arguments.listen ?? "")
    options.names = Set(arguments.names.map { $0.lowercased() })
    guard options.address.isLoopback || !options.names.isEmpty else {
      throw HeartlogError(
        .invalid,
        "--name is missing: others reach \(options.address), so give the host that devices use, for example --name hub.example.org"
      )
    }
    options.rate = arguments.rate
    // Files, the log and the standard streams need a few too.
    options.limits.connections = max(
      16, min(openFilesTarget, openFilesMax()) - 64 - ClientConnections.spareCount)
    options.log = { line in write(line, to: STDERR_FILENO) }
    if let certificate = arguments.certificate, let key = arguments.key {
      options.certificate = (try contents(of: certificate), try contents(of: key))
    }
    var invitations: Set<String>?
    if let file = arguments.invitations {
      let text = String(decoding: try contents(of: file), as: UTF8.self)
      invitations = Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
    }
    let engine = try engine(arguments)
    let service = HubService(engine: engine, invitations: invitations)
    let server: HubServer
    do throws(HeartlogError) { server = try HubServer(service, options) } catch {
      try engine.close()
      throw error
    }
    let scheme = options.certificate == nil ? "http" : "https"
    write("listening on \(scheme)://\(options.address.text(port: server.port))\n", to: STDOUT_FILENO)
    var received: Int32 = 0
    while sigwait(&signals, &received) != 0 {}
    server.stop()
    try engine.close()
  }

  /// Removes a vault.
  private static func reset(_ text: String, _ arguments: HubArguments) throws(HeartlogError) {
    guard let vault = VaultID(text) else {
      throw HeartlogError(.invalid, "a vault has 32 lower-case hexadecimal digits, not \"\(text)\"")
    }
    let engine = try engine(arguments)
    let outcome = Result { () throws(HeartlogError) in try engine.removeVault(vault) }
    try engine.close()
    guard try outcome.get() else { throw HeartlogError(.notFound, "there is no vault \(vault)") }
    write("removed vault \(vault): its devices create it again at their next sync\n", to: STDOUT_FILENO)
  }

  private static func engine(_ arguments: HubArguments) throws(HeartlogError) -> any HubEngine {
    if let database = arguments.database {
      return try PostgresEngine(database, quotaBytes: arguments.quota)
    }
    var limits = DirectoryEngine.Limits()
    limits.vaultBytesMax = arguments.quota
    return try DirectoryEngine(at: arguments.data ?? "", limits: limits)
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

  private static func contents(of path: String) throws(HeartlogError) -> [UInt8] {
    do throws(FileError) {
      let file = try POSIXFileSystem().open(path, .read)
      return try file.bytes(Int(min(try file.size(), 1 << 24)), at: 0)
    } catch {
      throw error.isNotFound
        ? HeartlogError(.notFound, "there is no file", file: path) : HeartlogError(hub: error)
    }
  }

  private static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

  /// Writes all. What a closed pipe does not take is lost.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count, let base = bytes.baseAddress {
        #if canImport(Darwin)
          let count = Darwin.write(descriptor, base + start, bytes.count - start)
        #elseif canImport(Musl)
          let count = Musl.write(descriptor, base + start, bytes.count - start)
        #else
          let count = Glibc.write(descriptor, base + start, bytes.count - start)
        #endif
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        start += count
      }
    }
  }
}
