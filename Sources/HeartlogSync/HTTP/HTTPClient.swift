import HeartlogFiles
import HeartlogFormat

/// Requests to one host that may be repeated: what fails in a way that may pass is tried again a few times.
struct HTTPClient: Sendable {
  let transport: any HTTPTransport
  let time: RetryTiming
  /// The host, as messages name it: "the hub example.org".
  let host: String

  /// How often a request is made, before the failure is told.
  static let attempts = 4
  /// The longest pause that a host may ask for, in milliseconds. If it asks for a longer one, the sync fails and says so.
  private static let pauseMax = 5_000

  init(_ transport: any HTTPTransport, time: RetryTiming, host: String) {
    self.transport = transport
    self.time = time
    self.host = host
  }

  /// Makes an attempt, and others after pauses that grow, as long as the failure may pass soon.
  func trying(
    _ isOver: () -> Bool, alsoAfter statuses: Set<Int> = [], _ attempt: () throws(HTTPFailure) -> HTTPAnswer
  ) throws(HeartlogError) -> HTTPAnswer {
    var pauses = Backoff(first: 200, largest: 2_000)
    for left in (0..<Self.attempts).reversed() {
      var pause = pauses.next(time.random)
      do throws(HTTPFailure) {
        let answer = try attempt()
        guard [429, 502, 503, 504].contains(answer.status) || statuses.contains(answer.status), left > 0
        else {
          return answer
        }
        let wanted = min(max(0, answer.headers["retry-after"].flatMap { Int($0) } ?? 0), 86_400) * 1_000
        guard wanted <= Self.pauseMax else { return answer }
        pause = max(pause, wanted)
      } catch {
        guard error.mayPass, left > 0 else { throw self.error(error) }
      }
      time.pause(pause, isOver)
      guard !isOver() else { throw .endedEarly }
    }
    preconditionFailure("the last attempt returns or throws")
  }

  /// Makes one attempt.
  ///
  /// - Parameter mayExceed: Whether an answer that is larger than asked for is one with the status 413.
  func attempt(
    _ request: HTTPRequest, mayExceed: Bool, _ isOver: () -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer {
    do throws(HTTPFailure) { return try transport.send(request, isOver: isOver) } catch {
      guard error.kind == .tooLarge, mayExceed else { throw error }
      var answer = HTTPAnswer()
      answer.status = HTTPAnswer.tooLarge
      return answer
    }
  }

  /// The error for an answer whose status means the same at every host.
  ///
  /// - Parameters:
  ///   - what: What was asked for.
  ///   - reason: What the host says is wrong, in parentheses; empty if it says nothing.
  func error(_ answer: HTTPAnswer, to what: String, reason: String) -> HeartlogError {
    switch answer.status {
    case 300..<400:
      let place = answer.headers["location"].map { " to \(Self.visible($0))" } ?? ""
      return HeartlogError(
        .peer,
        "\(host) redirects\(place)\(reason), and redirects are not followed: use that address if you trust it"
      )
    case 423, 429, 502, 503, 504:
      let seconds = answer.headers["retry-after"].flatMap { UInt32($0) }
      let pause = seconds.map { "; it asks to come again in \($0) s" } ?? ""
      return HeartlogError(.timedOut, "\(host) does not serve now\(reason)\(pause)")
    default: return HeartlogError(.peer, "\(host) answers \(answer.status) to \(what)\(reason)")
    }
  }

  /// The error for a request without an answer.
  func error(_ failure: HTTPFailure) -> HeartlogError {
    switch failure.kind {
    case .over: .endedEarly
    case .unreachable: HeartlogError(.inputOutput, "cannot connect to \(host): \(failure.reason)")
    case .untrusted:
      HeartlogError(
        .inputOutput, "\(host) does not prove that it is that host: \(failure.reason). Nothing was sent")
    case .silent: HeartlogError(.timedOut, "\(host) was silent for too long")
    case .slow: HeartlogError(.timedOut, "\(host) is too slow: \(failure.reason)")
    case .tooLarge: HeartlogError(.peer, "\(host) sent too much: \(failure.reason)")
    case .broken: HeartlogError(.inputOutput, "the connection to \(host) broke: \(failure.reason)")
    case .missingLibrary: HeartlogError(.inputOutput, failure.reason)
    }
  }

  /// A text of a host as a line of a terminal may have it.
  static func visible(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(200).filter { $0.properties.generalCategory != .control }
    return String(String.UnicodeScalarView(shown))
  }
}

extension HTTPFailure {
  /// Whether the same request may succeed a moment later.
  var mayPass: Bool {
    switch kind {
    case .unreachable, .silent, .broken: true
    case .untrusted, .over, .tooLarge, .missingLibrary, .slow: false
    }
  }
}

/// How a client waits between attempts. Tests do not wait.
package struct RetryTiming: Sendable {
  /// Waits for so many milliseconds, or until it is over.
  package var pause: @Sendable (_ milliseconds: Int, _ isOver: () -> Bool) -> Void
  /// A number from 0 to 1, so that clients that lost a hub at once do not come back at once.
  package var random: @Sendable () -> Double
  /// Nanoseconds since some fixed point.
  package var now: @Sendable () -> UInt64

  package init(
    pause: @escaping @Sendable (_ milliseconds: Int, _ isOver: () -> Bool) -> Void,
    random: @escaping @Sendable () -> Double,
    now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds
  ) {
    self.pause = pause
    self.random = random
    self.now = now
  }

  /// The clock of the machine.
  package static let system = RetryTiming(
    pause: { milliseconds, isOver in
      let end = MonotonicClock.nanoseconds() + UInt64(max(0, milliseconds)) * 1_000_000
      while !isOver() {
        let now = MonotonicClock.nanoseconds()
        guard now < end else { return }
        usleep(UInt32(clamping: min((end - now) / 1_000, 100_000)))
      }
    }, random: { .random(in: 0...1) })
}

/// Pauses that double, each shortened at random by up to a half.
package struct Backoff: Sendable {
  private let first: Int
  private let largest: Int
  private var current: Int

  /// - Parameters:
  ///   - first: The first pause, in milliseconds.
  ///   - largest: The pause that all others are at most.
  package init(first: Int = 1_000, largest: Int = 60_000) {
    self.first = first
    self.largest = largest
    current = first
  }

  package mutating func next(_ random: () -> Double) -> Int {
    defer { current = min(current * 2, largest) }
    return current - Int(Double(current) / 2 * random())
  }

  package mutating func reset() { current = first }
}
