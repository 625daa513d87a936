import Foundation
import Synchronization

/// A PostgreSQL server of a test's own: in a temporary folder, reached by a socket in it.
final class PostgresServer: Sendable {
  struct Failure: Error, CustomStringConvertible { let description: String }

  private let folder: String
  private let programs: String
  private let server = Mutex<Process?>(nil)
  /// The folders of servers that run, by process. One that a static has is never let go of.
  private static let running = Mutex<[Int32: String]>([:])
  private static let endsAtExit: Void = {
    _ = atexit { PostgresServer.endAll() }
  }()

  /// Where the server's programs are; `nil` if it is not installed.
  static let programs: String? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let folders = versions.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" }
    return folders.first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
  }()

  static var isInstalled: Bool { programs != nil }

  /// One server for all tests whose vaults are their own.
  static let shared = Result { try PostgresServer() }

  /// Makes a cluster and starts it.
  init() throws {
    guard let programs = Self.programs else { throw Failure(description: "PostgreSQL is not installed") }
    self.programs = programs
    folder =
      FileManager.default.temporaryDirectory.appending(path: "heartlog-pg-\(UInt32.random(in: 0 ... .max))")
      .path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0, let user = getpwnam("postgres") {
      chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
    }
    try Self.run(programs, "initdb", ["-D", "\(folder)/data", "-A", "trust", "-U", "heartlog", "--no-sync"])
    let settings = """
      listen_addresses = ''
      unix_socket_directories = '\(folder)'
      shared_buffers = 32MB
      max_connections = 60
      """
    let configuration = "\(folder)/data/postgresql.conf"
    let present = try String(contentsOfFile: configuration, encoding: .utf8)
    try (present + settings).write(toFile: configuration, atomically: false, encoding: .utf8)
    try start()
  }

  deinit {
    crash()
    try? FileManager.default.removeItem(atPath: folder)
  }

  var address: String { "postgresql:///postgres?host=\(folder)&user=heartlog" }

  func start() throws {
    let process = try Self.process(programs, "postgres", ["-D", "\(folder)/data"])
    Self.endsAtExit
    Self.running.withLock { $0[process.processIdentifier] = folder }
    server.withLock { $0 = process }
    for _ in 0..<600 {
      if (try? Self.run(programs, "pg_isready", ["-q", "-h", folder])) != nil { return }
      usleep(50_000)
    }
    throw Failure(description: "the server did not start")
  }

  /// Kills the server, as a failure of the machine's power would.
  func crash() {
    server.withLock { process in
      guard let started = process else { return }
      kill(started.processIdentifier, SIGQUIT)
      started.waitUntilExit()
      Self.running.withLock { $0[started.processIdentifier] = nil }
      process = nil
    }
  }

  private static func endAll() {
    for (process, folder) in running.withLock({ $0 }) {
      kill(process, SIGQUIT)
      // It has gone when nobody may be signalled any more; or it is waited for elsewhere.
      for _ in 0..<100 where kill(process, 0) == 0 { usleep(20_000) }
      try? FileManager.default.removeItem(atPath: folder)
    }
  }

  /// Runs a program of the server, as a user other than root: it refuses to run as root.
  private static func run(_ programs: String, _ program: String, _ arguments: [String]) throws {
    let process = try process(programs, program, arguments)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(program) \(arguments) ended with \(process.terminationStatus)")
    }
  }

  private static func process(_ programs: String, _ program: String, _ arguments: [String]) throws -> Process
  {
    let asUser = getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = asUser + ["\(programs)/\(program)"] + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }
}
