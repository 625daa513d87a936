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

  /// Runs shares of the seeds in processes of their own: a trap ends one share, and says which seed it was.
  private static func distribute(first: UInt64, runs: UInt64, steps: Int, jobs: UInt64) -> Int32 {
    let started = Date()
    let share: UInt64 = max(1, min(200, runs / max(1, jobs)))
    var next = first
    let end = first + runs
    var running: [(process: Process, first: UInt64)] = []
    var failures: Int32 = 0
    while next < end || !running.isEmpty {
      while next < end, running.count < Int(max(1, jobs)), failures == 0 {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = [
          "simulate", "--worker", "1", "--seed", "\(next)", "--runs", "\(min(share, end - next))", "--steps",
          "\(steps)",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([determinism: "1"]) { $1 }
        do { try process.run() } catch {
          print("HeartlogTorture: cannot start a process: \(error)")
          return 1
        }
        running.append((process, next))
        next += min(share, end - next)
      }
      guard let (process, begin) = running.first else { break }
      running.removeFirst()
      process.waitUntilExit()
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
