#if !canImport(Darwin)
  import Foundation
  import Synchronization
  import Testing

  @testable import HeartlogSync

  @Suite("Requests through libcurl")
  struct CurlTransportTests {
    private let transport = CurlTransport()

    private func send(
      _ url: String, bytesMax: Int = 1_000, _ change: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> HTTPAnswer {
      var request = HTTPRequest("GET", url, bytesMax: bytesMax)
      change(&request)
      return try transport.send(request, isOver: { false })
    }

    private func kind(_ body: () throws -> Void) -> HTTPFailure.Kind? {
      do { try body() } catch { return (error as? HTTPFailure)?.kind }
      return nil
    }

    @Test("are sent as they are, over a connection that stays")
    func requests() throws {
      let ok = CannedServer.Answer("HTTP/1.1 200 OK\r\nX-One: a b \r\ncontent-length: 3\r\n\r\nabc")
      let server = CannedServer([ok, ok, .init("HTTP/1.1 204 No Content\r\n\r\n")])
      let answer = try send(server.url + "/v1/x?after=1-2") {
        $0.headers = [("Host", "hub.example"), ("Authorization", "Bearer s")]
      }
      #expect(answer.status == 200 && answer.body == Array("abc".utf8) && answer.headers["x-one"] == "a b")
      _ = try transport.send(
        {
          var put = HTTPRequest("PUT", server.url + "/y", bytesMax: 10)
          put.body = Array(repeating: UInt8(ascii: "z"), count: 2_000_000)
          put.headers = [("Content-Type", "application/octet-stream")]
          return put
        }(), isOver: { false })
      #expect(try send(server.url).status == 204)
      #expect(server.connections == 1)
      let requests = server.requests
      #expect(requests[0].hasPrefix("GET /v1/x?after=1-2 HTTP/1.1\r\n"))
      #expect(requests[0].contains("\r\nHost: hub.example\r\n"))
      #expect(requests[0].contains("\r\nAuthorization: Bearer s\r\n"))
      #expect(
        requests[1].hasPrefix("PUT /y HTTP/1.1\r\n") && requests[1].contains("Content-Length: 2000000\r\n"))
      #expect(
        !requests[1].contains("Expect")
          && requests[1].hasSuffix("\r\n\r\n" + String(repeating: "z", count: 2_000_000)))
      // Nothing of one request is left for the next one.
      #expect(!requests[2].contains("Bearer") && !requests[2].contains("Content-"))
    }

    @Test("follow no redirect")
    func redirect() throws {
      let other = CannedServer([])
      let server = CannedServer([
        .init("HTTP/1.1 302 Found\r\nLocation: \(other.url)/\r\ncontent-length: 0\r\n\r\n")
      ])
      let answer = try send(server.url)
      #expect(answer.status == 302 && answer.headers["location"] == "\(other.url)/")
      #expect(other.connections == 0)
    }

    @Test(
      "refuse what is no answer",
      arguments: [
        ("", .broken), ("garbage\r\n\r\n", .broken),
        // The connection was cut within the headers.
        ("HTTP/1.1 200 OK\r\n", .broken), ("HTTP/1.1 200 OK\r\ncontent-le", .broken),
        ("HTTP/1.1 200 OK\r\nX-Y: z\r\n", .broken),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", .broken),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", .broken),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n\(String(repeating: "x", count: 1_001))", .tooLarge),
        (
          "HTTP/1.1 200 OK\r\n\(String(repeating: "X-Y: \(String(repeating: "z", count: 1_000))\r\n", count: 80))\r\n",
          .tooLarge
        ),
      ] as [(String, HTTPFailure.Kind)])
    func garbage(text: String, expected: HTTPFailure.Kind) {
      // libcurl tries once more over a new connection if the first one was closed at once.
      let answer = CannedServer.Answer(text, closes: true)
      let server = CannedServer([answer, answer])
      #expect(kind { _ = try send(server.url) } == expected)
    }

    @Test("to nobody fail as unreachable, and others as what they are")
    func unreachable() {
      // Nobody listens at port 1.
      #expect(kind { _ = try send("http://127.0.0.1:1") } == .unreachable)
      #expect(kind { _ = try send("http://hub.invalid") } == .unreachable)
      #expect(kind { _ = try send("file:///etc/hostname") } == .broken)
      #expect(kind { _ = try send("ftp://127.0.0.1:1/x") } == .broken)
    }

    @Test("end when they are called off, and leave the transport usable")
    func cancelled() throws {
      let ok = CannedServer.Answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      let server = CannedServer([.init("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", stays: true), ok])
      let asked = Mutex(0)
      #expect(
        kind {
          _ = try transport.send(
            HTTPRequest("GET", server.url, bytesMax: 1_000),
            isOver: {
              asked.withLock {
                $0 += 1; return $0 > 2
              }
            })
        } == .over)
      #expect(try send(server.url).status == 200)
    }

    @Test("end when too few bytes of an answer come")
    func slow() throws {
      let part = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"
      let server = CannedServer([.init(part, stays: true), .init("HTTP/1.1 200 OK\r\n", stays: true)])
      #expect(kind { _ = try send(server.url) { $0.secondsMax = 0 } } == .slow)
      var stream = HTTPRequest("GET", server.url, bytesMax: 9)
      stream.secondsMax = 0
      #expect(kind { _ = try transport.stream(stream, isOver: { false }) { _ in true } } == .slow)
    }

    @Test(
      "have time for the bytes of both bodies", arguments: [(0, 0, 30), (8_192, 0, 32), (4_096, 40_960, 41)])
    func time(sent: Int, received: Int, seconds: UInt64) throws {
      var request = HTTPRequest("PUT", "http://hub", bytesMax: 9)
      request.body = [UInt8](repeating: 0, count: sent)
      try request.checkTime(nanoseconds: seconds * 1_000_000_000 - 1, received: received)
      let failure = #expect(throws: HTTPFailure.self) {
        try request.checkTime(nanoseconds: seconds * 1_000_000_000, received: received)
      }
      #expect(failure?.kind == .slow)
    }

    @Test("hand over a stream as it comes, and end it when asked to")
    func stream() throws {
      let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
      let server = CannedServer([
        .init(head + "5\r\n: hi\n\r\n", stays: true), .init(head + "3\r\nabc\r\n0\r\n\r\n"),
        .init("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno"),
      ])
      var received: [UInt8] = []
      var answer = try transport.stream(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) {
        received += $0
        return received.count < 5
      }
      #expect(answer.status == 200 && received == Array(": hi\n".utf8))
      received = []
      answer = try transport.stream(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) {
        received += $0
        return true
      }
      #expect(answer.status == 200 && received == Array("abc".utf8))
      answer = try transport.stream(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) { _ in
        Issue.record("the body of an error is no stream")
        return false
      }
      #expect(answer.status == 401 && answer.body == Array("no".utf8))
    }

    @Test("from many threads do not disturb each other")
    func threads() async throws {
      let ok = CannedServer.Answer("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", closes: true)
      let servers = (0..<4).map { _ in CannedServer(Array(repeating: ok, count: 20)) }
      await withTaskGroup(of: Bool.self) { group in
        for server in servers {
          let transport = transport
          group.addTask {
            (0..<10).allSatisfy { _ in
              (try? transport.send(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }))?.body == [
                120
              ]
            }
          }
        }
        for await isRight in group { #expect(isRight) }
      }
    }
  }
#endif
