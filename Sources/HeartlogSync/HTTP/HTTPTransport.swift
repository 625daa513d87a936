import HeartlogFormat

/// Sends requests of HTTP/1.1 and waits for their answers. Calls may come from any thread.
///
/// A transport verifies certificates, follows no redirect, and speaks to no other host than that of the request.
package protocol HTTPTransport: Sendable {
  /// Performs a request.
  ///
  /// - Parameters:
  ///   - isStream: Whether the body of a successful answer is handed over as it arrives; otherwise the answer has it.
  ///   - isOver: Called several times a second; once it returns true, the call throws `over`.
  ///   - receive: Takes a part of the body, on this thread, until it returns false.
  func perform(
    _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer
}

/// A transport through what the system has.
func systemTransport() -> any HTTPTransport {
  #if canImport(Darwin)
    URLSessionTransport()
  #else
    CurlTransport()
  #endif
}

extension HTTPTransport {
  /// Returns the whole answer to a request.
  package func send(_ request: HTTPRequest, isOver: () -> Bool) throws(HTTPFailure) -> HTTPAnswer {
    try perform(request, isStream: false, isOver: isOver) { _ in true }
  }

  /// Hands over the body of a successful answer as it arrives.
  ///
  /// - Returns: The answer; its body is empty if it was handed over.
  package func stream(
    _ request: HTTPRequest, isOver: () -> Bool, receive: ([UInt8]) -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer {
    try perform(request, isStream: true, isOver: isOver, receive: receive)
  }
}

/// A request.
package struct HTTPRequest: Sendable {
  package let method: String
  /// The scheme, the host and the path, which needs no escapes.
  package let url: String
  package var headers: [(name: String, value: String)] = []
  package var body: [UInt8]?
  /// The most bytes that the body of the answer may have, if it is a success.
  package var bytesMax: Int
  /// How long neither end may send a byte.
  package var silenceSecondsMax = 30
  /// How long the request may take, beside the time that the bytes of both bodies have. A stream that has begun is not limited.
  package var secondsMax = 30

  package init(_ method: String, _ url: String, bytesMax: Int) {
    self.method = method
    self.url = url
    self.bytesMax = bytesMax
  }
}

extension HTTPRequest {
  /// - Throws: `slow` if an answer of which so many bytes came should be whole by now.
  package func checkTime(nanoseconds: UInt64, received: Int) throws(HTTPFailure) {
    let seconds = secondsMax + ((body?.count ?? 0) + received) / HubLimits.bytesPerSecond
    guard nanoseconds / 1_000_000_000 < seconds else {
      throw HTTPFailure(.slow, "\(received) bytes of the answer came in \(seconds) seconds")
    }
  }
}

/// An answer, whatever its status.
package struct HTTPAnswer: Sendable {
  package var status = 0
  /// The values by the names, which are in lower case here. Of several with one name, the last one.
  package var headers: [String: String] = [:]
  package var body: [UInt8] = []

  package init() {}

  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The status for a body that is too large.
  package static let tooLarge = 413
  /// The most bytes of all headers together.
  package static let headerBytesMax = 65_536
  /// The most bytes of the body of an answer that is no success.
  package static let errorBytesMax = 65_536
}

/// Why there is no answer.
package struct HTTPFailure: Error, Hashable {
  package enum Kind: Sendable {
    /// There is no connection to the host.
    case unreachable
    /// The host is not what it should be: its certificate is not valid, or not for this name.
    case untrusted
    /// Neither end sent a byte for too long.
    case silent
    /// The caller ended it.
    case over
    /// The answer is larger than asked for.
    case tooLarge
    /// The connection broke, or what came is not HTTP.
    case broken
    /// The system lacks the library that does this.
    case missingLibrary
    /// Bytes come, but too few.
    case slow
  }

  package let kind: Kind
  /// What happened, without a full stop.
  package let reason: String

  package init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}
