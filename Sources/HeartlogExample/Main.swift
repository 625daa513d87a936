import Foundation
import Heartlog
import Observation

/// heartlog-example [APP] [--store DIR] [--peer DIR]: five small apps with one store, on a terminal.
@main
struct Main {
  @MainActor static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      guard !arguments.wantsHelp else { return print(Arguments.usage) }
      let temporary = FileManager.default.temporaryDirectory
      let path =
        arguments.store ?? temporary.appending(path: "heartlog-example-\(UUID().uuidString.prefix(8))").path
      let device = Device(path: path, name: arguments.name, peer: arguments.peer, now: arguments.now)
      guard arguments.keys != nil || Terminal.isThere else {
        throw UsageError("there is no terminal; see --keys")
      }
      let program = try Program(device, showing: arguments.app)
      let signal: Int32?
      if let keys = arguments.keys {
        for key in keys where !program.isEnded { await program.press(key) }
        print(program.frame.text, terminator: "")
        signal = nil
      } else {
        signal = try await play(program, ticks: arguments.now == nil)
      }
      try await program.close()
      if arguments.store == nil { print("The store of all that: \(path)") }
      // Whoever sent it learns from the exit status that it did.
      if let signal { end(by: signal) }
    } catch {
      FileHandle.standardError.write(Data("heartlog-example: \(error)\n".utf8))
      exit(error is UsageError ? 64 : 1)
    }
  }

  /// Runs the program on the terminal until it ends.
  ///
  /// - Returns: the signal that ended it.
  @MainActor private static func play(_ program: Program, ticks: Bool) async throws -> Int32? {
    let terminal = try Terminal()
    defer { terminal.end() }
    program.size = terminal.size
    draw(program, on: terminal)
    let ticking = Task {
      while ticks, !Task.isCancelled {
        program.tick()
        try await Task.sleep(for: .seconds(1))
      }
    }
    defer { ticking.cancel() }
    for await input in terminal.input {
      switch input {
      case .resized: program.size = terminal.size
      case .ended(let signal): return signal
      case .keys(let keys): for key in keys where !program.isEnded { await program.press(key) }
      }
      if program.isEnded { return nil }
    }
    return nil
  }

  /// Draws the screen, and again when anything that it shows changes: by a key, a model or another process.
  @MainActor private static func draw(_ program: Program, on terminal: Terminal) {
    let frame = withObservationTracking {
      program.frame
    } onChange: {
      Task { @MainActor in draw(program, on: terminal) }
    }
    if !program.isEnded { terminal.show(frame) }
  }

  private static func end(by number: Int32) -> Never {
    signal(number, SIG_DFL)
    var mask = sigset_t()
    sigemptyset(&mask)
    sigaddset(&mask, number)
    // Threads of libdispatch block it.
    pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    raise(number)
    exit(128 + number)
  }
}
