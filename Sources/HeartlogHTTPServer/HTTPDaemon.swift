package import CMicrohttpd
import HeartlogFiles
package import HeartlogFormat

/// The functions of libmicrohttpd, which is loaded when they are first needed.
struct HTTPLibrary: @unchecked Sendable {
  let functions: UnsafePointer<heartlog_http>

  private static let names = ["libmicrohttpd.so.12", "libmicrohttpd.12.dylib"]

  /// Never unloaded.
  static let loaded: HTTPLibrary? = {
    guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
    let functions = UnsafeMutablePointer<heartlog_http>.allocate(capacity: 1)
    functions.initialize(to: heartlog_http())
    return heartlog_http_find(library, functions) == 1
      ? HTTPLibrary(functions: UnsafePointer(functions)) : nil
  }()

  /// The functions, for whoever was called by the library or has something of it.
  static var functions: UnsafePointer<heartlog_http> {
    guard let loaded else { preconditionFailure("nothing is served before the library is loaded") }
    return loaded.functions
  }
}

/// What listens on one address. The owner stops it.
package struct HTTPDaemon: @unchecked Sendable {
  private let pointer: OpaquePointer

  /// - Parameters:
  ///   - handlers: What the library calls. Their context stays until `stop` returns.
  ///   - connectionBytes: The memory of a connection, for the headers, their table, and the head of the answer.
  ///   - certificate: A chain and its key, in PEM, which stay until `stop` returns; without them, it serves no TLS.
  package init(
    on address: SocketAddress, _ handlers: heartlog_handlers, threads: Int = 0, connections: Int,
    silenceSeconds: Int,
    connectionBytes: Int,
    certificate: (chain: UnsafeMutablePointer<CChar>, key: UnsafeMutablePointer<CChar>)? = nil
  ) throws(HeartlogError) {
    guard let http = HTTPLibrary.loaded?.functions else {
      throw HeartlogError(
        .inputOutput,
        "libmicrohttpd could not be loaded; on Debian and Ubuntu, \"apt install libmicrohttpd12\" installs it"
      )
    }
    if certificate != nil, http.pointee.is_feature_supported(.FEATURE_TLS) != .YES {
      throw HeartlogError(.invalid, "this libmicrohttpd was built without TLS")
    }
    let daemon = address.withPointer { address in
      heartlog_start_daemon(
        http, address, handlers, UInt32(threads), UInt32(connections), UInt32(silenceSeconds),
        connectionBytes,
        certificate?.chain, certificate?.key)
    }
    guard let daemon else {
      throw HeartlogError(
        .inputOutput, "cannot listen: \(String(cString: strerror(errno)))", file: "\(address)")
    }
    pointer = daemon
  }

  package var port: UInt16 { heartlog_daemon_port(HTTPLibrary.functions, pointer) }

  package func stop() { HTTPLibrary.functions.pointee.stop_daemon(pointer) }
}

/// A connection of the library. Unchecked: its calls may come from any thread while the connection is suspended.
package struct HTTPConnection: @unchecked Sendable {
  package let pointer: OpaquePointer
  private let http = HTTPLibrary.functions

  package init(pointer: OpaquePointer) { self.pointer = pointer }

  /// What the handler of new connections gave it.
  package var id: Int { Int(bitPattern: heartlog_connection_context(http, pointer)) }

  package var socket: Int32 { heartlog_connection_socket(http, pointer) }
  package var client: String { SocketAddress.text(of: heartlog_client_address(http, pointer)) }
  package var headerBytes: Int { heartlog_request_header_bytes(http, pointer) }

  package func suspend() { http.pointee.suspend_connection(pointer) }
  package func resume() { http.pointee.resume_connection(pointer) }

  /// The values of all headers, by name in lower case.
  package var headers: [String: [String]] { values(.HEADER_KIND, named: { $0.lowercased() }) }

  /// The parameters of the address, decoded.
  package var parameters: [String: [String]] { values(.GET_ARGUMENT_KIND, named: { $0 }) }

  private func values(_ kind: MHD_ValueKind, named name: (String) -> String) -> [String: [String]] {
    final class Found { var pairs: [(name: String, value: String)] = [] }
    let found = Found()
    withExtendedLifetime(found) {
      _ = http.pointee.get_connection_values(
        pointer, kind,
        { context, _, name, value in
          guard let context, let name else { return .YES }
          Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().pairs.append(
            (String(cString: name), value.map { String(cString: $0) } ?? ""))
          return .YES
        }, Unmanaged.passUnretained(found).toOpaque())
    }
    return Dictionary(grouping: found.pairs, by: { name($0.name) }).mapValues { $0.map(\.value) }
  }

  /// Queues an answer.
  package func send(_ answer: HTTPResponse, closes: Bool) -> MHD_Result {
    let response = answer.body.withUnsafeBytes { body in
      // The library copies the bytes, and changes none.
      http.pointee.create_response_from_buffer(
        body.count, UnsafeMutableRawPointer(mutating: body.baseAddress), .RESPMEM_MUST_COPY)
    }
    var headers = answer.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    if !answer.body.isEmpty {
      headers += [("Content-Type", answer.contentType), ("Cache-Control", "no-store")]
    }
    if closes { headers.append(("Connection", "close")) }
    return queue(response, answer.status, headers)
  }

  /// Queues an answer that lasts: server-sent events.
  package func send(_ stream: HTTPStream) -> MHD_Result {
    let kept = Unmanaged.passRetained(stream).toOpaque()
    let response = http.pointee.create_response_from_callback(
      UInt64.max, HTTPStream.bufferBytes,
      { context, _, buffer, count in
        guard let context, let buffer else { return -2 }
        let stream = Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
        return stream.read(
          into: UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(buffer), count: count))
      }, kept, { context in context.map { Unmanaged<HTTPStream>.fromOpaque($0).release() } })
    if response == nil { Unmanaged<HTTPStream>.fromOpaque(kept).release() }
    return queue(
      response, 200,
      [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
      ])
  }

  private func queue(_ response: OpaquePointer?, _ status: UInt32, _ headers: [(String, String)])
    -> MHD_Result
  {
    guard let response else { return .NO }
    defer { http.pointee.destroy_response(response) }
    for (name, value) in headers { _ = http.pointee.add_response_header(response, name, value) }
    return http.pointee.queue_response(pointer, status, response)
  }
}
