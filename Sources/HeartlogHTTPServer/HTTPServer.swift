internal import CMicrohttpd
import Dispatch
import Synchronization
package import HeartlogFormat

/// A request whose headers were read; its body follows.
package struct HTTPRequest: Sendable {
  package let method: String
  /// Without the query.
  package let path: String
  /// The values of each, by name in lower case.
  package let headers: [String: [String]]
  /// Those of the query.
  package let parameters: [String: [String]]
  package fileprivate(set) var body: [UInt8] = []

  /// The value of a header that a request has once at most.
  package func header(_ name: String) -> String? { headers[name]?.count == 1 ? headers[name]?[0] : nil }
}

/// What a handler answers.
package enum HTTPReply {
  case response(HTTPResponse)
  /// As long as the client stays.
  case stream(HTTPStream)
}

/// What a server asks. Several threads call it.
package protocol HTTPHandler: AnyObject, Sendable {
  /// Refuses a request before its body is read.
  func check(_ request: HTTPRequest) throws(HTTPResponse)
  func answer(_ request: HTTPRequest, on connection: HTTPConnection) -> HTTPReply
  func streamDidEnd(_ stream: HTTPStream)
}

/// A server for few clients, whose answers take a thread each: while one is made, its connection is suspended. The owner stops it.
///
/// Unchecked: the daemon is written before anything is served.
package final class HTTPServer: @unchecked Sendable {
  private let handler: any HTTPHandler
  private let bodyBytesMax: Int
  private var daemon: HTTPDaemon?
  private let queue = DispatchQueue(label: "heartlog answers", attributes: .concurrent)
  /// The answers that are being made.
  private let answers = DispatchGroup()
  private let isStopping = Atomic(false)

  private static let silenceSeconds = 30
  private static let connectionBytes = 64 << 10

  package init(
    on address: SocketAddress, connections: Int, bodyBytesMax: Int, _ handler: any HTTPHandler
  ) throws(HeartlogError) {
    self.handler = handler
    self.bodyBytesMax = bodyBytesMax
    var handlers = heartlog_handlers()
    handlers.context = Unmanaged.passUnretained(self).toOpaque()
    handlers.handle = { context, connection, path, method, _, upload, uploadCount, exchange in
      guard let context, let connection, let path, let method, let uploadCount, let exchange else {
        return .NO
      }
      let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
      let bytes = UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
      uploadCount.pointee = 0
      let connected = HTTPConnection(pointer: connection)
      guard let begun = exchange.pointee else {
        let request = HTTPRequest(
          method: String(cString: method), path: String(cString: path), headers: connected.headers,
          parameters: connected.parameters)
        exchange.pointee = Unmanaged.passRetained(Exchange(request)).toOpaque()
        return server.begin(request, connected)
      }
      return server.handle(Unmanaged<Exchange>.fromOpaque(begun).takeUnretainedValue(), connected, bytes)
    }
    handlers.end = { context, _, exchange, _ in
      guard let context, let begun = exchange?.pointee else { return }
      exchange?.pointee = nil
      let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
      if let stream = Unmanaged<Exchange>.fromOpaque(begun).takeRetainedValue().stream {
        server.handler.streamDidEnd(stream)
      }
    }
    daemon = try HTTPDaemon(
      on: address, handlers, connections: connections, silenceSeconds: Self.silenceSeconds,
      connectionBytes: Self.connectionBytes)
  }

  package var port: UInt16 { daemon?.port ?? 0 }

  /// Streams are finished before, for a suspended connection would keep the library from ending.
  package func stop() {
    isStopping.store(true, ordering: .sequentiallyConsistent)
    answers.wait()
    daemon?.stop()
    daemon = nil
  }

  /// One request. Unchecked: the library's thread uses it, or, while the connection is suspended, the one that answers.
  private final class Exchange: @unchecked Sendable {
    var request: HTTPRequest
    var reply: HTTPReply?
    var stream: HTTPStream?

    init(_ request: HTTPRequest) { self.request = request }
  }

  private func begin(_ request: HTTPRequest, _ connection: HTTPConnection) -> MHD_Result {
    do throws(HTTPResponse) {
      if let length = request.header("content-length"), Int(length).map({ $0 > bodyBytesMax }) ?? true {
        throw .refusal(413, "The body is too large")
      }
      try handler.check(request)
      return .YES
    } catch {
      return connection.send(error, closes: true)
    }
  }

  /// With each part of the body, and at its end.
  private func handle(
    _ exchange: Exchange, _ connection: HTTPConnection, _ bytes: UnsafeRawBufferPointer
  ) -> MHD_Result {
    guard bytes.isEmpty else {
      guard exchange.request.body.count + bytes.count <= bodyBytesMax else { return .NO }
      exchange.request.body.append(contentsOf: bytes)
      return .YES
    }
    switch exchange.reply {
    case .response(let response): return connection.send(response, closes: false)
    case .stream(let stream):
      exchange.stream = stream
      return connection.send(stream)
    case nil:
      // Counted before the look at `isStopping`: `stop` waits for it, or it sees that the server stops.
      answers.enter()
      guard !isStopping.load(ordering: .sequentiallyConsistent) else {
        answers.leave()
        return connection.send(.refusal(503, "The server stops"), closes: true)
      }
      connection.suspend()
      queue.async { [handler, answers] in
        exchange.reply = handler.answer(exchange.request, on: connection)
        connection.resume()
        answers.leave()
      }
      return .YES
    }
  }
}
