import CMicrohttpd
import Heartlog
import HeartlogFiles
import HeartlogHub

/// One request and its answer, from the first line to the last byte.
///
/// Unchecked: the library's thread of its connection uses it, or, while the connection is suspended, the thread that answers.
final class Exchange: @unchecked Sendable {
  let target: String
  /// The id of its connection.
  let connection: Int
  let start = MonotonicClock.nanoseconds()
  var isStarted = false
  var method = ""
  var client = ""
  /// What was asked for, once the headers were checked.
  var request: HubRequest?
  /// How many bytes its body has.
  var announced = 0
  /// Whether the connection is closed after the answer.
  var closes = false
  /// What is sent once the connection goes on.
  var answer: HubAnswer?
  var session: (token: Digest, session: HubSession)?
  var stream: EventStream?
  var status: UInt32 = 0
  /// For the log alone.
  var detail: String?

  init(target: String, connection: Int) {
    self.target = target
    self.connection = connection
  }
}

/// A connection of the library. Unchecked: its calls may come from any thread while the connection is suspended.
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// What `ClientConnections` gave it.
  var id: Int { Int(bitPattern: heartlog_connection_context(pointer)) }

  func suspend() { MHD_suspend_connection(pointer) }
  func resume() { MHD_resume_connection(pointer) }

  func header(_ name: String) -> String? {
    MHD_lookup_connection_value(pointer, .HEADER_KIND, name).map { String(cString: $0) }
  }

  /// How many headers of a name there are.
  func count(_ name: String) -> Int {
    final class Counter {
      let name: String
      var count = 0
      init(_ name: String) { self.name = name }
    }
    let counter = Counter(name)
    withExtendedLifetime(counter) {
      _ = MHD_get_connection_values(
        pointer, .HEADER_KIND,
        { context, _, key, _ in
          guard let context, let key else { return .YES }
          let counter = Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue()
          if String(cString: key).lowercased() == counter.name { counter.count += 1 }
          return .YES
        }, Unmanaged.passUnretained(counter).toOpaque())
    }
    return counter.count
  }

  var headerBytes: Int {
    Int(heartlog_request_header_bytes(pointer))
  }

  func send(_ answer: HubAnswer, closes: Bool) -> MHD_Result {
    let response = answer.body.withUnsafeBytes { body in
      // The library copies the bytes, and changes none.
      MHD_create_response_from_buffer(
        body.count, UnsafeMutableRawPointer(mutating: body.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    if !answer.body.isEmpty {
      MHD_add_response_header(response, "Content-Type", answer.contentType)
      MHD_add_response_header(response, "Cache-Control", "no-store")
    }
    if let seconds = answer.retryAfter { MHD_add_response_header(response, "Retry-After", String(seconds)) }
    if let allow = answer.allow { MHD_add_response_header(response, "Allow", allow) }
    if closes { MHD_add_response_header(response, "Connection", "close") }
    return MHD_queue_response(pointer, answer.status, response)
  }
}
