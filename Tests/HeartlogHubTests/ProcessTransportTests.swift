#if !canImport(Darwin)
  import Heartlog
  import HeartlogShipping
  import Testing

  @testable import HeartlogHub

  @Suite("Requests through heartlog-http")
  struct ProcessTransportTests {
    /// The program is built beside the tests.
    private let transport = ProcessTransport()

    private func kind(_ body: () throws -> Void) -> HTTPFailure.Kind? {
      do { try body() } catch { return (error as? HTTPFailure)?.kind }
      return nil
    }

    @Test("are answered by one process, over a connection that stays")
    func requests() throws {
      let ok = CannedServer.Answer("HTTP/1.1 200 OK\r\nX-One: a b\r\ncontent-length: 3\r\n\r\nabc")
      let server = CannedServer([ok, ok])
      var get = HTTPRequest("GET", server.url + "/v1/x?after=1-2", bytesMax: 1_000)
      get.headers = [("Authorization", "Bearer s")]
      let answer = try transport.send(get, isOver: { false })
      #expect(answer.status == 200 && answer.body == Array("abc".utf8) && answer.headers["x-one"] == "a b")
      var put = HTTPRequest("PUT", server.url + "/y", bytesMax: 10)
      put.body = Array(repeating: UInt8(ascii: "z"), count: 2_000_000)
      #expect(try transport.send(put, isOver: { false }).status == 200)
      #expect(server.connections == 1)
      let requests = server.requests
      #expect(requests[0].hasPrefix("GET /v1/x?after=1-2 HTTP/1.1\r\n"))
      #expect(requests[0].contains("\r\nAuthorization: Bearer s\r\n"))
      #expect(requests[1].hasSuffix("\r\n\r\n" + String(repeating: "z", count: 2_000_000)))
    }

    @Test("fail as they would in this process")
    func failures() {
      #expect(
        kind {
          _ = try transport.send(HTTPRequest("GET", "http://127.0.0.1:1", bytesMax: 9), isOver: { false })
        }
          == .unreachable)
      let server = CannedServer([.init("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789")])
      #expect(
        kind { _ = try transport.send(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) }
          == .tooLarge)
    }

    @Test("end when they are called off, and leave the transport usable")
    func cancelled() throws {
      let server = CannedServer([
        .init("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", stays: true),
        .init("HTTP/1.1 204 No Content\r\n\r\n"),
      ])
      #expect(
        kind { _ = try transport.send(HTTPRequest("GET", server.url, bytesMax: 1_000), isOver: { true }) }
          == .over)
      #expect(
        try transport.send(HTTPRequest("GET", server.url, bytesMax: 1_000), isOver: { false }).status == 204)
    }

    @Test("hand over a stream as it comes, and end it when asked to")
    func stream() throws {
      let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
      let server = CannedServer([
        .init(head + "5\r\n: hi\n\r\n", stays: true), .init(head + "3\r\nabc\r\n0\r\n\r\n"),
      ])
      var received: [UInt8] = []
      var answer = try transport.stream(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) {
        received += $0
        return received.count < 5
      }
      #expect(answer.isSuccess && received == Array(": hi\n".utf8))
      received = []
      answer = try transport.stream(HTTPRequest("GET", server.url, bytesMax: 9), isOver: { false }) {
        received += $0
        return true
      }
      #expect(answer.status == 200 && received == Array("abc".utf8))
    }

    @Test("name a program that is not there, and one that ends")
    func noProgram() {
      let request = HTTPRequest("GET", "http://127.0.0.1:1", bytesMax: 9)
      let missing = ProcessTransport(program: "/nowhere/heartlog-http")
      #expect(kind { _ = try missing.send(request, isOver: { false }) } == .missingLibrary)
      let ended = ProcessTransport(program: "/bin/true")
      #expect(kind { _ = try ended.send(request, isOver: { false }) } == .broken)
    }

    @Test("frames are read as they were written, and damaged ones are refused")
    func frames() throws {
      var request = HTTPRequest("PUT", "http://h/x", bytesMax: 7)
      request.headers = [("A", "b"), ("A", "c")]
      request.body = [1, 2, 3]
      var answer = HTTPAnswer()
      answer.status = 409
      answer.headers = ["x": "y"]
      answer.body = [4]
      for frame in [
        HTTPFrame.request(request, isStream: true), .part([5]), .answer(answer),
        .failure(HTTPFailure(.silent, "why")),
      ] {
        let bytes = Array(frame.encoded.dropFirst(4))
        #expect(try HTTPFrame(bytes).encoded == frame.encoded)
        for count in 0..<bytes.count {
          #expect(throws: MalformedError.self) { try HTTPFrame(Array(bytes.prefix(count))) }
        }
      }
    }
  }
#endif
