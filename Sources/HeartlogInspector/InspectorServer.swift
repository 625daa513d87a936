internal import Heartlog
import HeartlogFiles
import HeartlogFormat
import HeartlogHTTPServer
import Synchronization

/// Serves the page of one store to this machine: "inspect" in docs/cli.md.
package final class InspectorServer: Sendable {
  private let handler: InspectorHandler
  private let server: HTTPServer

  private static let connections = 64
  private static let bodyBytesMax = 1 << 20

  /// - Parameter port: 0 for any.
  package init(_ store: InspectedStore, port: UInt16) throws(HeartlogError) {
    let address = try SocketAddress("127.0.0.1:\(port)")
    handler = try InspectorHandler(store)
    do throws(HeartlogError) {
      server = try HTTPServer(
        on: address, connections: Self.connections, bodyBytesMax: Self.bodyBytesMax, handler)
    } catch {
      handler.stop()
      throw error
    }
    handler.serve(address, at: server.port)
  }

  /// The address for the browser, with the token that it exchanges for a cookie, once.
  package var address: String { "http://127.0.0.1:\(server.port)/#\(handler.token)" }

  /// Whether nobody asked for anything for so many seconds.
  package func isUnused(forSeconds seconds: Int) -> Bool {
    MonotonicClock.nanoseconds() > handler.lastRequest + UInt64(seconds) * 1_000_000_000
  }

  /// Looks after what nobody asks for. Called now and then.
  package func tick() { handler.keepAlive() }

  package func stop() {
    handler.stop()
    server.stop()
  }
}

/// Answers the requests of the page.
private final class InspectorHandler: HTTPHandler {
  private struct Session {
    var isTokenUsed = false
    var streams: [ObjectIdentifier: HTTPStream] = [:]
    var lastRequest = MonotonicClock.nanoseconds()
    var isEnding = false
    /// The hosts by which this machine reaches the server.
    var hosts: Set<String> = []
    var cookieName = ""
  }

  let token = InspectorHandler.secret()
  private let cookie = InspectorHandler.secret()
  private let store: InspectedStore
  private let session = Mutex(Session())
  private let history = Mutex<LiveHistory?>(nil)

  init(_ store: InspectedStore) throws(HeartlogError) {
    self.store = store
    let live = try LiveHistory(store) { [weak self] changes in self?.tell("data: {\"count\":\(changes)}\n\n")
    }
    history.withLock { $0 = live }
  }

  /// 128 random bits.
  private static func secret() -> String {
    var random = SystemRandomNumberGenerator()
    return Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
  }

  func serve(_ address: SocketAddress, at port: UInt16) {
    session.withLock { session in
      session.hosts = address.loopbackNames(port: port)
      // Cookies do not know ports: two inspectors of one machine have one each.
      session.cookieName = "heartlog-\(port)"
    }
  }

  var lastRequest: UInt64 { session.withLock { $0.lastRequest } }

  func stop() {
    history.withLock { history in
      defer { history = nil }
      return history
    }?.stop()
    let streams = session.withLock { session in
      session.isEnding = true
      return Array(session.streams.values)
    }
    for stream in streams { stream.finish() }
  }

  /// Tells all pages, but those that have not taken what they were told before: that was to look again, too.
  private func tell(_ text: String) {
    for stream in session.withLock({ Array($0.streams.values) }) where !stream.isBusy {
      stream.append(Array(text.utf8))
    }
  }

  private static let silence: UInt64 = 15_000_000_000

  /// Sends a comment where nothing was sent for long: of a page that is gone, nothing else tells.
  func keepAlive() {
    let now = MonotonicClock.nanoseconds()
    for stream in session.withLock({ Array($0.streams.values) }) where stream.isSilent(now, for: Self.silence)
    {
      stream.append(Array(":\n\n".utf8))
    }
  }

  func streamDidEnd(_ stream: HTTPStream) {
    session.withLock { $0.streams[ObjectIdentifier(stream)] = nil }
  }

  // MARK: Checks

  /// Paths that are no secret: the page contains no data.
  private static let openPaths: Set<String> = ["/", "/page.css", "/page.js", "/session"]

  func check(_ request: HTTPRequest) throws(HTTPResponse) {
    let (hosts, cookieName) = session.withLock { ($0.hosts, $0.cookieName) }
    // A name that somebody else lets point to this machine is none of these.
    guard let host = request.header("host"), hosts.contains(host) else {
      throw .refusal(403, "This server has another name")
    }
    if request.headers["origin"] != nil, request.header("origin") != "http://\(host)" {
      throw .refusal(403, "Another page asks")
    }
    // A link elsewhere may lead to the page itself, which contains no data.
    let isLink = request.method == "GET" && request.path == "/"
    if let site = request.header("sec-fetch-site"), !["same-origin", "none"].contains(site), !isLink {
      throw .refusal(403, "Another page asks")
    }
    switch request.method {
    case "GET": break
    case "POST":
      // A form of another page cannot send this type.
      guard request.header("content-type") == "application/json" else {
        throw .refusal(415, "A body is JSON")
      }
    default: throw .refusal(405, "There is GET and POST only", allow: "GET, POST")
    }
    session.withLock { $0.lastRequest = MonotonicClock.nanoseconds() }
    if Self.openPaths.contains(request.path) { return }
    let cookies = (request.header("cookie") ?? "").split(separator: ";").map { String($0.drop { $0 == " " }) }
    guard cookies.contains(where: { $0.hasSameBytes(as: "\(cookieName)=\(cookie)") }) else {
      throw .refusal(401, "This page was opened by another run: start \"heartlog inspect\" again")
    }
  }

  private func open(_ request: HTTPRequest) throws(HTTPResponse) -> HTTPResponse {
    let given = (try? JSONValue.parse(request.body))?.string
    let name = session.withLock { session -> String? in
      guard let given, given.hasSameBytes(as: token), !session.isTokenUsed else { return nil }
      session.isTokenUsed = true
      return session.cookieName
    }
    guard let name else {
      throw .refusal(403, "This address was used already: start \"heartlog inspect\" again")
    }
    return HTTPResponse(
      status: 204, headers: ["Set-Cookie": "\(name)=\(cookie); Path=/; HttpOnly; SameSite=Strict"])
  }

  // MARK: Answers

  func answer(_ request: HTTPRequest, on connection: HTTPConnection) -> HTTPReply {
    do {
      switch (request.method, request.path) {
      case ("GET", "/"): return .response(Self.page("text/html", InspectorPage.html))
      case ("GET", "/page.css"): return .response(Self.page("text/css", InspectorPage.style))
      case ("GET", "/page.js"): return .response(Self.page("text/javascript", InspectorPage.script))
      case ("POST", "/session"): return .response(try open(request))
      case ("GET", "/info"): return .response(info)
      case ("POST", "/run"): return .response(try run(request))
      case ("GET", "/band"): return .response(try band(request))
      case ("GET", "/stop"): return .response(try stop(request))
      case ("GET", "/events"): return .response(try events(request))
      case ("GET", "/changes"):
        let stream = HTTPStream(connection)
        let isOpen = session.withLock { session in
          if !session.isEnding { session.streams[ObjectIdentifier(stream)] = stream }
          return !session.isEnding
        }
        guard isOpen else { throw HTTPResponse.refusal(503, "The inspector ends") }
        return .stream(stream)
      default: throw HTTPResponse.refusal(404, "There is no such path")
      }
    } catch let refusal as HTTPResponse {
      return .response(refusal)
    } catch {
      return .response(.refusal(500, "\(HeartlogError(wrapping: error))"))
    }
  }

  private static func page(_ type: String, _ bytes: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: 200, contentType: "\(type); charset=utf-8", body: bytes,
      headers: [
        "Content-Security-Policy": InspectorPage.policy, "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
      ])
  }

  private static func json(_ text: [UInt8]) -> HTTPResponse {
    HTTPResponse(status: 200, body: text, headers: ["X-Content-Type-Options": "nosniff"])
  }

  private static func json(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
    json(HTTPResponse.json(200, members).body)
  }

  private var info: HTTPResponse {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("readOnly", store.isReadOnly)
    writer.member("store", store.path)
    writer.member("heartlog", store.version)
    writer.name("libraries")
    return Self.json(writer.bytes + store.libraries + [UInt8(ascii: "}")])
  }

  private func run(_ request: HTTPRequest) throws -> HTTPResponse {
    let asked: JSONValue
    do { asked = try JSONValue.parse(request.body) } catch {
      throw HTTPResponse.refusal(400, "The body is no JSON")
    }
    guard let words = asked["words"]?.array?.map(\.string), !words.contains(nil) else {
      throw HTTPResponse.refusal(400, "\"words\" is a list of texts")
    }
    let answer = store.run(words.compactMap { $0 })
    var lines = answer.lines.split(separator: UInt8(ascii: "\n"))
    // The last line of a damaged store is no result; the sentence beside says what is damaged.
    if let last = lines.last, last.starts(with: "{\"partial\":true".utf8) { lines.removeLast() }
    let from = max(0, asked["from"]?.count ?? 0)
    let count = asked["count"]?.count ?? .max
    var text = Array("{\"exit\":\(answer.exitCode),\"total\":\(lines.count),\"lines\":[".utf8)
    text.append(
      contentsOf: lines.dropFirst(from).prefix(max(0, count)).joined(separator: [UInt8(ascii: ",")]))
    var writer = JSONWriter()
    writer.value(answer.message)
    return Self.json(text + Array("],\"error\":".utf8) + writer.bytes + [UInt8(ascii: "}")])
  }

  // MARK: History

  private func live() throws -> LiveHistory {
    guard let live = history.withLock({ $0 }) else { throw HTTPResponse.refusal(503, "The inspector ends") }
    return live
  }

  private func filter(_ request: HTTPRequest) throws(HTTPResponse) -> History.Filter {
    var filter = History.Filter(library: request.parameter("library"))
    if let text = request.parameter("replica") {
      guard let replica = ReplicaID(text) else { throw .refusal(400, "This is no device") }
      filter.replica = replica
    }
    if let text = request.parameter("kind") {
      guard let kind = History.Kind.allCases.first(where: { "\($0)" == text }) else {
        throw .refusal(400, "A kind is favorite, remove or change")
      }
      filter.kind = kind
    }
    return filter
  }

  private func band(_ request: HTTPRequest) throws -> HTTPResponse {
    let filter = try filter(request)
    let bins = min(2_000, max(1, request.number("bins") ?? 200))
    var span: ClosedRange<Milliseconds>?
    if let from = request.number("from"), let to = request.number("to") {
      guard from <= to else { throw HTTPResponse.refusal(400, "The band ends before it begins") }
      span = Milliseconds(from)...Milliseconds(to)
    }
    return try live().read { (history, marked) -> HTTPResponse in
      let band = history.band(bins: bins, span, filter, marked: marked)
      let devices = history.replicas.indices.sorted { history.replicas[$0] < history.replicas[$1] }
      return Self.json { writer in
        writer.member("count", band.count)
        writer.member("first", band.first)
        writer.member("last", band.last)
        writer.name("devices")
        writer.beginArray()
        for replica in devices.map({ history.replicas[$0] }) {
          writer.beginObject()
          writer.member("replica", "\(replica)")
          writer.member("name", history.names[replica] ?? "")
          writer.endObject()
        }
        writer.endArray()
        writer.name("bins")
        writer.beginArray()
        for bin in band.bins {
          writer.beginArray()
          for device in devices { writer.value(bin[device]) }
          writer.endArray()
        }
        writer.endArray()
        writer.name("marks")
        writer.beginArray()
        for mark in band.marks {
          writer.beginObject()
          writer.member("kind", mark.kind.rawValue)
          writer.member("index", mark.index)
          writer.member("axis", history.axis(mark.commit))
          writer.member("commit", Self.name(mark.commit, in: history))
          writer.member("count", mark.count)
          writer.endObject()
        }
        writer.endArray()
      }
    }
  }

  /// A commit as WHEN of the command line.
  private static func name(_ commit: Int, in history: History) -> String {
    "\(history.replica(commit)):c\(history.number(commit))"
  }

  private static func commit(named text: String) throws(HTTPResponse) -> (ReplicaID, CommitNumber) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let replica = ReplicaID(String(parts[0])), parts[1].first == "c",
      let number = UInt64(parts[1].dropFirst())
    else { throw .refusal(400, "This is no commit") }
    return (replica, CommitNumber(rawValue: number))
  }

  private func stop(_ request: HTTPRequest) throws -> HTTPResponse {
    let filter = try filter(request)
    let place: History.Place
    if let index = request.number("index") {
      place = .index(index)
    } else if let axis = request.number("axis") {
      place = .axis(Milliseconds(axis))
    } else if let text = request.parameter("commit") {
      let (replica, number) = try Self.commit(named: text)
      place = .commit(replica, number)
    } else {
      throw HTTPResponse.refusal(400, "A stop has an index, an axis or a commit")
    }
    return try live().read { (history, _) -> HTTPResponse in
      guard let stop = history.stop(place, filter) else {
        throw HTTPResponse.refusal(404, "There is no such commit")
      }
      return Self.json { writer in
        writer.member("index", stop.index)
        writer.member("count", stop.count)
        writer.member("commit", stop.commit.map { Self.name($0, in: history) })
        writer.member("replica", stop.commit.map { "\(history.replica($0))" })
        writer.member("number", stop.commit.map { history.number($0).rawValue } ?? 0)
        writer.member("time", stop.commit.map { RFC3339.text(history.time($0)) })
        writer.member("stamp", stop.commit.map { "\(history.stamp($0))" })
        writer.member("axis", stop.commit.map(history.axis) ?? (history.count == 0 ? 0 : history.axis(0) - 1))
      }
    }
  }

  private func events(_ request: HTTPRequest) throws -> HTTPResponse {
    let filter = try filter(request)
    let count = min(Self.rowsMax, max(1, request.number("count") ?? 100))
    let showsPlayback = request.parameter("playback") != "false"
    let upTo = try request.parameter("upTo").map(Self.commit)
    let rows = try live().read { history, _ in
      let last = try upTo.map { replica, number in
        guard let commit = history.stop(.commit(replica, number), History.Filter())?.commit else {
          throw HTTPResponse.refusal(404, "There is no such commit")
        }
        return commit
      }
      guard history.count > 0 else { return [PrintedRow]() }
      let rows = history.rows(upTo: last ?? history.count - 1, count, filter, showsPlayback: showsPlayback)
      return rows.map { row in
        switch row {
        case .folded(let count, let commit): .folded(count, history.time(commit))
        case .event(let commit, let index): .event(history.replica(commit), history.number(commit), index)
        }
      }
    }
    // The commits themselves are read outside the lock.
    let commits = try commits(of: rows)
    var text = [UInt8(ascii: "[")]
    for row in rows {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      switch row {
      case .folded(let count, let time):
        text += "{\"folded\":\(count),\"time\":\"\(RFC3339.text(time))\"}".utf8
      case .event(let replica, let number, let index):
        guard let commit = commits[Head(replica: replica, commit: number)] else {
          throw HTTPResponse.refusal(503, "The log was changed meanwhile", retryAfter: 1)
        }
        text += store.event(commit, index)
      }
    }
    return Self.json(text + [UInt8(ascii: "]")])
  }

  /// One more than the page undoes at once.
  private static let rowsMax = 2_001

  private enum PrintedRow {
    case event(ReplicaID, CommitNumber, Int)
    case folded(Int, Milliseconds)
  }

  /// Reads the commits of rows from the log.
  private func commits(of rows: [PrintedRow]) throws -> [Head: Commit] {
    struct Enough: Error {}
    let wanted = Set(
      rows.compactMap { row -> Head? in
        if case .event(let replica, let number, _) = row {
          Head(replica: replica, commit: number)
        } else {
          nil
        }
      })
    var found: [Head: Commit] = [:]
    if wanted.isEmpty { return found }
    do {
      try LogReader(at: store.path).forEachCommit(where: { position, _ in
        wanted.contains(Head(replica: position.replica, commit: position.number))
      }) { commit in
        found[Head(replica: commit.replica, commit: commit.number)] = commit
        if found.count == wanted.count { throw Enough() }
      }
    } catch is Enough {}
    return found
  }
}

extension HTTPRequest {
  fileprivate func parameter(_ name: String) -> String? { parameters[name]?.first }
  fileprivate func number(_ name: String) -> Int? { parameter(name).flatMap { Int($0) } }
}

extension JSONValue {
  fileprivate var count: Int? { number.flatMap { Int(exactly: $0.rounded()) } }
}
