import AppleHub
import HeartlogSync
import Synchronization
import Testing

@Suite("Requests through URLSession")
struct URLSessionTransportTests {
  private let transport = URLSessionTransport()

  private func kind(_ body: () throws -> Void) -> HTTPFailure.Kind? {
    do { try body() } catch { return (error as? HTTPFailure)?.kind }
    return nil
  }

  @Test("are sent as they are, and the answer is what came")
  func requests() throws {
    let server = CannedServer([
      .init("HTTP/1.1 409 Conflict\r\nX-One: a b\r\ncontent-length: 3\r\n\r\nabc", closes: true)
    ])
    var request = HTTPRequest("PUT", server.url + "/v1/x?after=1-2", bytesMax: 1)
    request.headers = [("Host", "127.0.0.1:1"), ("Authorization", "Bearer s")]
    request.body = Array("zzzz".utf8)
    let answer = try transport.send(request, isOver: { false })
    #expect(answer.status == 409 && answer.body == Array("abc".utf8) && answer.headers["x-one"] == "a b")
    let sent = try #require(server.requests.first)
    #expect(sent.hasPrefix("PUT /v1/x?after=1-2 HTTP/1.1\r\n") && sent.hasSuffix("\r\n\r\nzzzz"))
    #expect(sent.contains("\r\nAuthorization: Bearer s\r\n"))
    #expect(sent.contains("\r\nHost: \(server.url.dropFirst("http://".count))\r\n"))
  }

  @Test("follow no redirect")
  func redirect() throws {
    let other = CannedServer([])
    let server = CannedServer([
      .init("HTTP/1.1 302 Found\r\nLocation: \(other.url)/\r\ncontent-length: 0\r\n\r\n", closes: true)
    ])
    let answer = try transport.send(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false })
    #expect(answer.status == 302 && answer.headers["location"] == "\(other.url)/")
    #expect(other.connections == 0)
  }

  @Test("refuse an answer that is too large, and end when they are called off")
  func limits() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"
    let server = CannedServer([
      .init(head + String(repeating: "x", count: 100), closes: true), .init(head + "abc", stays: true),
    ])
    let request = HTTPRequest("GET", server.url, bytesMax: 99)
    #expect(kind { _ = try transport.send(request, isOver: { false }) } == .tooLarge)
    let asked = Mutex(0)
    #expect(
      kind {
        _ = try transport.send(request) {
          asked.withLock { asked in
            asked += 1
            return asked > 2
          }
        }
      } == .over)
    // Nobody listens at port 1.
    #expect(
      kind {
        _ = try transport.send(HTTPRequest("GET", "http://127.0.0.1:1", bytesMax: 9), isOver: { false })
      }
        == .unreachable)
    #expect(
      kind {
        _ = try transport.send(HTTPRequest("GET", "file:///etc/hostname", bytesMax: 9), isOver: { false })
      }
        == .broken)
  }

  @Test("hand over a stream as it comes, and end it when asked to")
  func stream() throws {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    let server = CannedServer([
      .init(head + "5\r\n: hi\n\r\n", stays: true),
      .init("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno", closes: true),
    ])
    let request = HTTPRequest("GET", server.url, bytesMax: 9)
    var received: [UInt8] = []
    var answer = try transport.stream(request, isOver: { false }) {
      received += $0
      return received.count < 5
    }
    #expect(answer.status == 200 && received == Array(": hi\n".utf8))
    answer = try transport.stream(request, isOver: { false }) { _ in
      Issue.record("the body of an error is no stream")
      return false
    }
    #expect(answer.status == 401 && answer.body == Array("no".utf8))
  }
}
