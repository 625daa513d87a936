import Foundation
import HeartlogSimulator

/// Runs the simulator over a range of seeds, in several processes.
enum SimulateCommand {
  private static let determinism = "SWIFT_DETERMINISTIC_HASHING"

  static func run(_ arguments: inout Arguments) {
    let first = arguments.take("seed") ?? 1
    let runs = arguments.take("runs") ?? 1
    let steps = Int(arguments.take("steps") ?? 200)
    let jobs = arguments.take("jobs") ?? UInt64(ProcessInfo.processInfo.activeProcessorCount)
    let isWorker = arguments.take("worker") == 1
    arguments.requireNoMore()
    // The order of a set must be the same in every run.
    if ProcessInfo.processInfo.environment[determinism] == nil || (runs > 1 && !isWorker) {
      exit(distribute(first: first, runs: runs, steps: steps, jobs: min(jobs, runs)))
    }
    work(first: first, runs: runs, steps: steps)
  }

  private static func work(first: UInt64, runs: UInt64, steps: Int) {
    let isAlone = runs == 1
    for seed in first..<first + runs {
      let outcome = Simulation.run(seed: seed, steps: steps)
      guard let violation = outcome.violation else { continue }
      print("seed \(seed), step \(outcome.steps): \(violation)")
      print("again: \(CommandLine.arguments[0]) simulate --seed \(seed) --steps \(steps)")
      guard isAlone else { exit(1) }
      let (omitted, count) = Simulation.minimize(seed: seed, steps: steps)
      let short = Simulation.run(seed: seed, steps: count, omitting: omitted, tellsStory: true)
      print("\(count - omitted.count) of \(count) steps are enough: \(short.violation ?? "none")")
      for line in short.story { print("  \(line)") }
      exit(1)
    }
  }

  /// Keeps a process on one core. One of its threads runs at a time, and waking one on another core takes a fifth of a run.
  private static let taskset = "/usr/bin/taskset"

  /// The cores that this process may use; empty where processes cannot be kept on one.
  private static func allowedCores() -> [Int] {
    guard FileManager.default.isExecutableFile(atPath: taskset),
      let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") })
    else { return [] }
    return line.split(whereSeparator: { " \t:".contains($0) }).dropFirst().joined().split(separator: ",")
      .flatMap { range -> ClosedRange<Int> in
        let bounds = range.split(separator: "-").compactMap { Int($0) }
        return (bounds.first ?? 0)...(bounds.last ?? 0)
      }
  }

  /// Runs shares of the seeds in processes of their own: a trap ends one share, and says which seed it was.
  private static func distribute(first: UInt64, runs: UInt64, steps: Int, jobs: UInt64) -> Int32 {
    let started = Date()
    let share: UInt64 = max(1, min(200, runs / max(1, jobs)))
    var next = first
    let end = first + runs
    var running: [(process: Process, first: UInt64, core: Int?)] = []
    let allowed = allowedCores()
    var cores = (0..<max(1, Int(jobs))).map { allowed.isEmpty ? nil : allowed[$0 % allowed.count] }
    var failures: Int32 = 0
    while next < end || !running.isEmpty {
      while next < end, failures == 0, let core = cores.popLast() {
        let process = Process()
        process.executableURL = URL(filePath: core == nil ? CommandLine.arguments[0] : taskset)
        process.arguments = core.map { ["--cpu-list", "\($0)", CommandLine.arguments[0]] } ?? []
        process.arguments? += [
          "simulate", "--worker", "1", "--seed", "\(next)", "--runs", "\(min(share, end - next))", "--steps",
          "\(steps)",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([determinism: "1"]) { $1 }
        do { try process.run() } catch {
          print("HeartlogTorture: cannot start a process: \(error)")
          return 1
        }
        running.append((process, next, core))
        next += min(share, end - next)
      }
      guard let (process, begin, core) = running.first else { break }
      running.removeFirst()
      process.waitUntilExit()
      cores.append(core)
      if process.terminationReason == .uncaughtSignal {
        print("a run of the seeds from \(begin) on was ended by signal \(process.terminationStatus)")
      }
      if process.terminationStatus != 0 { failures += 1 }
    }
    let seconds = Date().timeIntervalSince(started)
    if runs > 1, failures == 0 {
      print(
        String(
          format: "%llu runs of %d steps, seeds %llu...%llu, in %.1f s (%.0f a second): no violation", runs,
          steps, first, end - 1, seconds, Double(runs) / max(seconds, 0.001)))
    }
    return failures == 0 ? 0 : 1
  }
}
