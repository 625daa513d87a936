import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A server on a free port of this machine, which answers each request with the next of the bytes that it was given.
final class CannedServer: Sendable {
  struct Answer: Sendable {
    var bytes: [UInt8]
    /// Whether the connection is closed afterwards.
    var closes = false
    /// Whether nothing more is sent, and the connection stays open.
    var stays = false

    init(_ text: String, closes: Bool = false, stays: Bool = false) {
      bytes = Array(text.utf8)
      self.closes = closes
      self.stays = stays
    }
  }

  private let core: Core

  init(_ answers: [Answer]) {
    let core = Core(answers)
    self.core = core
    Thread.detachNewThread { core.run() }
  }

  /// The thread waits for connections until then.
  deinit { core.stop() }

  var url: String { "http://127.0.0.1:\(core.port)" }
  /// The heads and bodies of the requests, as they came.
  var requests: [String] { core.state.withLock { $0.requests } }
  var connections: Int { core.state.withLock { $0.connections } }
}

/// What the thread of a server has.
private final class Core: Sendable {
  struct State {
    var answers: [CannedServer.Answer]
    var requests: [String] = []
    var connections = 0
  }

  let port: UInt16
  let state: Mutex<State>
  private let listener: Int32

  init(_ answers: [CannedServer.Answer]) {
    state = Mutex(State(answers: answers))
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let listener = socket(AF_INET, kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = bind(listener, address, size)
        _ = listen(listener, 8)
        _ = getsockname(listener, address, &size)
      }
    }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(listener) }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  func run() {
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      state.withLock { $0.connections += 1 }
      serve(connection)
      close(connection)
    }
  }

  private func serve(_ connection: Int32) {
    while let request = read(connection) {
      let answer = state.withLock { state -> CannedServer.Answer? in
        state.requests.append(request)
        return state.answers.isEmpty ? nil : state.answers.removeFirst()
      }
      guard let answer else { return }
      var sent = 0
      while sent < answer.bytes.count {
        let count = answer.bytes.withUnsafeBytes {
          send(connection, $0.baseAddress! + sent, answer.bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        sent += count
      }
      if answer.stays {
        // Until the other end goes.
        var byte: UInt8 = 0
        _ = recv(connection, &byte, 1, 0)
        return
      }
      if answer.closes { return }
    }
  }

  /// A request with its body; `nil` if the other end is gone.
  private func read(_ connection: Int32) -> String? {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let length = text.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
          .flatMap { Int($0.dropFirst("content-length: ".count)) }
        if text[end.upperBound...].utf8.count >= length ?? 0 { return text }
      }
      let count = recv(connection, &part, part.count, 0)
      guard count > 0 else { return nil }
      bytes += part.prefix(count)
    }
  }
}
