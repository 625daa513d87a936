import Heartlog
import Synchronization

@testable import HeartlogCLI

/// Standard output and standard error of a test, kept as text.
final class CapturedOutput: Sendable {
  private final class Text: Sendable {
    let bytes = Mutex<[UInt8]>([])
    var string: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
  }

  private let standardText = Text()
  private let errorText = Text()
  let output: Output

  /// - Parameters:
  ///   - isErrorTerminal: whether standard error is a terminal, too; as standard output where nil.
  ///   - failing: the errno that writing to standard output fails with.
  init(
    isTerminal: Bool = false, isErrorTerminal: Bool? = nil, width: Int? = nil, failing: Int32? = nil
  ) {
    func sink(_ text: Text, isTerminal: Bool, failing: Int32?) -> Output.Sink {
      Output.Sink(
        write: { bytes in
          if let failing { return failing }
          text.bytes.withLock { $0.append(contentsOf: bytes) }
          return nil
        }, isTerminal: isTerminal, width: { width })
    }
    output = Output(
      standard: sink(standardText, isTerminal: isTerminal, failing: failing),
      error: sink(errorText, isTerminal: isErrorTerminal ?? isTerminal, failing: nil))
  }

  var standard: String { standardText.string }
  var error: String { errorText.string }

  static func run(
    _ arguments: String..., environment: [String: String] = [:]
  ) -> (exitCode: Int32, standard: String, error: String) {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(
      arguments: arguments, environment: environment, output: captured.output, clock: .test)
    return (exitCode, captured.standard, captured.error)
  }
}

extension LocalClock {
  /// UTC, whatever the machine is set to.
  static var test: LocalClock { LocalClock(zone: .utc, now: StoreOptions().clock()) }
}
