#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Foundation
  import HeartlogFiles
  import Synchronization

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif
  #if HEARTLOG_STAND_INS
    import HeartlogSync
  #endif

  /// Requests through URLSession. Connections stay open for the next request.
  package final class URLSessionTransport: HTTPTransport {
    private let receptions = SessionReceptions()
    private let session: URLSession

    /// How often the caller is asked whether it is over, at least.
    private static let pollMilliseconds = 100

    package init() {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpShouldSetCookies = false
      configuration.urlCache = nil
      configuration.urlCredentialStorage = nil
      session = URLSession(configuration: configuration, delegate: receptions, delegateQueue: nil)
    }

    /// The session keeps its delegate until then.
    deinit { session.invalidateAndCancel() }

    package func perform(
      _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
    ) throws(HTTPFailure) -> HTTPAnswer {
      guard let url = URL(string: request.url), ["http", "https"].contains(url.scheme) else {
        throw HTTPFailure(.broken, "not an address of HTTP")
      }
      var asked = URLRequest(url: url, timeoutInterval: TimeInterval(request.silenceSecondsMax))
      asked.httpMethod = request.method
      asked.httpBody = request.body.map { Data($0) }
      asked.setValue("heartlog", forHTTPHeaderField: "User-Agent")
      // The session itself sends the host, in the same form.
      for header in request.headers where header.name != "Host" {
        asked.setValue(header.value, forHTTPHeaderField: header.name)
      }
      let reception = SessionReception(bytesMax: request.bytesMax, isStream: isStream)
      let task = session.dataTask(with: asked)
      receptions.add(reception, of: task)
      // Does nothing if the task is done.
      defer { task.cancel() }
      task.resume()
      let start = MonotonicClock.nanoseconds()
      while true {
        _ = reception.changes.wait(timeout: .now() + .milliseconds(Self.pollMilliseconds))
        let (part, end) = reception.take()
        if !part.isEmpty, !receive(part) { return reception.answer }
        if let end { return try end.get() }
        guard !isOver() else { throw HTTPFailure(.over, "the request was ended before it was answered") }
        let answer = reception.answer
        if !isStream || !answer.isSuccess {
          try request.checkTime(
            nanoseconds: MonotonicClock.nanoseconds() - start, received: answer.body.count)
        }
      }
    }
  }

  /// What arrives of an answer. Written by the session's queue, read by the thread that waits.
  private final class SessionReception: Sendable {
    private struct State {
      var answer = HTTPAnswer()
      var part: [UInt8] = []
      var end: Result<HTTPAnswer, HTTPFailure>?
    }

    /// Signalled whenever something arrived.
    let changes = DispatchSemaphore(value: 0)
    private let bytesMax: Int
    private let isStream: Bool
    private let state = Mutex(State())

    init(bytesMax: Int, isStream: Bool) {
      self.bytesMax = bytesMax
      self.isStream = isStream
    }

    var answer: HTTPAnswer { state.withLock { $0.answer } }

    /// What arrived of a stream since the last call, and the end if it came.
    func take() -> (part: [UInt8], end: Result<HTTPAnswer, HTTPFailure>?) {
      state.withLock { state in
        defer { state.part = [] }
        return (state.part, state.end)
      }
    }

    func begin(_ response: HTTPURLResponse) {
      state.withLock { state in
        state.answer.status = response.statusCode
        for (name, value) in response.allHeaderFields {
          state.answer.headers["\(name)".lowercased()] = "\(value)"
        }
      }
      changes.signal()
    }

    /// - Returns: Whether more may come.
    func add(_ data: Data) -> Bool {
      defer { changes.signal() }
      return state.withLock { state in
        if isStream, state.answer.isSuccess {
          state.part += data
          return true
        }
        let most = state.answer.isSuccess ? bytesMax : HTTPAnswer.errorBytesMax
        guard state.answer.body.count + data.count <= most else {
          state.end = .failure(HTTPFailure(.tooLarge, "the answer has more than \(most) bytes"))
          return false
        }
        state.answer.body += data
        return true
      }
    }

    func end(_ error: (any Error)?) {
      state.withLock { state in
        // An answer that was too large has ended already.
        guard state.end == nil else { return }
        if let error {
          state.end = .failure(Self.failure(error))
        } else if state.answer.status == 0 {
          state.end = .failure(HTTPFailure(.broken, "the answer has no status"))
        } else {
          state.end = .success(state.answer)
        }
      }
      changes.signal()
    }

    private static func failure(_ error: any Error) -> HTTPFailure {
      let kind: HTTPFailure.Kind =
        switch (error as? URLError)?.code {
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet: .unreachable
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
          .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
          .untrusted
        case .timedOut: .silent
        default: .broken
        }
      return HTTPFailure(kind, error.localizedDescription)
    }
  }

  /// Hands what the session tells to the request that it is of.
  private final class SessionReceptions: NSObject, URLSessionDataDelegate, Sendable {
    private let receptions = Mutex<[Int: SessionReception]>([:])

    func add(_ reception: SessionReception, of task: URLSessionTask) {
      receptions.withLock { $0[task.taskIdentifier] = reception }
    }

    private func reception(of task: URLSessionTask) -> SessionReception? {
      receptions.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      // The redirect itself is the answer.
      completionHandler(nil)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      if let response = response as? HTTPURLResponse { reception(of: dataTask)?.begin(response) }
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      if reception(of: dataTask)?.add(data) != true { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      receptions.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.end(error)
    }
  }
#endif
