import CMicrohttpd
import Dispatch
import HeartlogFiles
import HeartlogFormat
import HeartlogHTTPServer
import Synchronization

/// Serves a hub's vaults over HTTP: docs/hub.md.
///
/// Two threads of libmicrohttpd take the requests. One that waits for the disk, or for changes, is suspended, and holds none of them.
///
/// Unchecked: the daemons and the timer are written at the start and at the stop, the rest is thread-safe.
final class HubServer: @unchecked Sendable {
  struct Options: Sendable {
    let address: SocketAddress
    /// Where the counters are; nowhere unless it is given.
    var metricsAddress: SocketAddress?
    /// The hosts that clients may sign for, in lower case; if there is none, this machine's.
    var names: Set<String> = []
    /// A certificate and its key, in PEM.
    var certificate: (chain: String, key: String)?
    /// Requests of one address in a second.
    var rate = 1_000
    var limits = ClientConnections.Limits()
    /// Gets a line of JSON for each request that failed or was slow.
    var log: @Sendable (String) -> Void = { _ in }
  }

  let service: HubService
  private let options: Options
  private let streams: EventStreams
  private let metrics = HubMetrics()
  private let connections: ClientConnections
  private let rates: RateLimit
  /// The requests that run.
  private let requests = DispatchGroup()
  private let isStopping = Atomic(false)
  private var timer: (any DispatchSourceTimer)?
  private var daemon: HTTPDaemon?
  private var metricsDaemon: HTTPDaemon?
  /// Read by the library as long as the daemon runs.
  private var certificate: (chain: UnsafeMutablePointer<CChar>, key: UnsafeMutablePointer<CChar>)?

  static let slow: UInt64 = 1_000_000_000
  private static let threads = 2
  /// `HubCommand` leaves descriptors for more.
  private static let metricsConnectionsMax = 8

  var port: UInt16 { daemon?.port ?? 0 }
  var metricsPort: UInt16 { metricsDaemon?.port ?? 0 }

  /// Starts to serve. The caller keeps the server until `stop` returns.
  init(_ service: HubService, _ options: Options) throws(HeartlogError) {
    self.service = service
    self.options = options
    connections = ClientConnections(options.limits)
    rates = RateLimit(options.rate)
    streams = try EventStreams(service, vaultMax: options.limits.connectionsOfAddress)
    do {
      if let address = options.metricsAddress { try startMetrics(address) }
      try start()
    } catch {
      metricsDaemon?.stop()
      streams.close()
      throw error
    }
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { [connections] in connections.closeLate() }
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.activate()
    self.timer = timer
  }

  deinit {
    assert(daemon == nil, "a server is stopped before it goes")
    free(certificate?.chain)
    free(certificate?.key)
  }

  // MARK: Starting and stopping

  private func start() throws(HeartlogError) {
    certificate = options.certificate.map { (strdup($0.chain), strdup($0.key)) }
    var handlers = heartlog_handlers()
    handlers.begin = { context, target, connection in
      guard let server = HubServer.of(context), let target, let connection else { return nil }
      server.requests.enter()
      let exchange = Exchange(
        target: String(cString: target), connection: HTTPConnection(pointer: connection).id)
      return Unmanaged.passRetained(exchange).toOpaque()
    }
    handlers.connection = { context, connection, id, code in
      guard let connections = HubServer.of(context)?.connections, let connection, let id else { return }
      if heartlog_is_new_connection(code) != 0 {
        let connection = HTTPConnection(pointer: connection)
        id.pointee = UnsafeMutableRawPointer(
          bitPattern: connections.add(connection.socket, of: SocketAddress.network(of: connection.client)))
      } else {
        connections.remove(Int(bitPattern: id.pointee))
      }
    }
    handlers.end = { context, _, exchange, _ in
      guard let pointer = exchange?.pointee else { return }
      exchange?.pointee = nil
      HubServer.of(context)?.end(Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue())
    }
    handlers.handle = { context, connection, _, method, _, upload, uploadCount, exchange in
      guard let server = HubServer.of(context), let connection, let uploadCount,
        let pointer = exchange?.pointee
      else { return .NO }
      let bytes = UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
      uploadCount.pointee = 0
      return server.handle(
        Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue(), HTTPConnection(pointer: connection),
        method, bytes)
    }
    daemon = try listen(
      on: options.address, handlers, threads: Self.threads,
      connections: options.limits.connections + ClientConnections.spareCount)
  }

  private func startMetrics(_ address: SocketAddress) throws(HeartlogError) {
    var handlers = heartlog_handlers()
    handlers.handle = { context, connection, path, method, _, _, _, _ in
      guard let server = HubServer.of(context), let connection, let path, let method else { return .NO }
      let isKnown = String(cString: path) == "/metrics" && String(cString: method) == "GET"
      let answer = isKnown ? server.metricsAnswer : HTTPResponse.unknownPath
      return HTTPConnection(pointer: connection).send(answer, closes: true)
    }
    metricsDaemon = try listen(on: address, handlers, connections: Self.metricsConnectionsMax)
  }

  /// The counters. The vaults are left out while the database does not answer.
  private var metricsAnswer: HTTPResponse {
    .text(metrics.text(streams: streams.count, vaults: try? service.engine.vaultCount()))
  }

  /// The server that a daemon calls.
  private static func of(_ context: UnsafeMutableRawPointer?) -> HubServer? {
    context.map { Unmanaged<HubServer>.fromOpaque($0).takeUnretainedValue() }
  }

  private func listen(
    on address: SocketAddress, _ handlers: heartlog_handlers, threads: Int = 0, connections: Int
  ) throws(HeartlogError) -> HTTPDaemon {
    var handlers = handlers
    handlers.context = Unmanaged.passUnretained(self).toOpaque()
    return try HTTPDaemon(
      on: address, handlers, threads: threads, connections: connections,
      silenceSeconds: HubLimits.silenceSeconds,
      connectionBytes: HubLimits.headerBytesMax * 2, certificate: threads == 0 ? nil : certificate)
  }

  /// Refuses new requests, answers those that run, and ends.
  ///
  /// Connections are accepted to the end: `MHD_quiesce_daemon` aborts if a thread of the pool notices it and removes the socket first.
  func stop() {
    guard let daemon else { return }
    isStopping.store(true, ordering: .relaxed)
    streams.close()
    _ = requests.wait(timeout: .now() + .seconds(HubLimits.silenceSeconds))
    daemon.stop()
    metricsDaemon?.stop()
    timer?.cancel()
    (self.daemon, metricsDaemon) = (nil, nil)
  }

  // MARK: One request

  private func end(_ exchange: Exchange) {
    connections.end(exchange.connection)
    if let stream = exchange.stream { streams.remove(stream) }
    let nanoseconds = MonotonicClock.nanoseconds() - exchange.start
    if exchange.status >= 400 || nanoseconds > Self.slow && exchange.stream == nil {
      log(exchange, nanoseconds)
    }
    requests.leave()
  }

  /// Called by the library with the headers, with each part of the body, and at its end.
  private func handle(
    _ exchange: Exchange, _ connection: HTTPConnection, _ method: UnsafePointer<CChar>?,
    _ bytes: UnsafeRawBufferPointer
  ) -> MHD_Result {
    do {
      if !exchange.isStarted {
        exchange.isStarted = true
        exchange.client = connection.client
        exchange.request = try check(exchange, connection, method.map { String(cString: $0) } ?? "")
        return .YES
      }
      if !bytes.isEmpty {
        // The library reads no more than the length that was checked.
        guard let received = exchange.request?.body.count, received + bytes.count <= exchange.announced,
          connections.take(exchange.connection, bytes.count)
        else { return .NO }
        exchange.request?.body.append(contentsOf: bytes)
        return .YES
      }
      guard let request = exchange.request else { return .NO }
      if let answer = exchange.answer { return send(answer, exchange, connection) }
      connections.work(exchange.connection)
      return try answer(request, exchange, connection)
    } catch {
      return send(.to(error), exchange, connection)
    }
  }

  private static let methods: Set<String> = ["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH"]

  /// Checks all that can be before a body is read.
  private func check(
    _ exchange: Exchange, _ connection: HTTPConnection, _ method: String
  ) throws -> HubRequest {
    exchange.method = Self.methods.contains(method) ? method : "other"
    let isTaken = connections.begin(exchange.connection)
    guard !isStopping.load(ordering: .relaxed) else {
      throw HTTPResponse.refusal(503, "The hub stops", retryAfter: 5)
    }
    guard rates.admits(SocketAddress.network(of: exchange.client)) else {
      throw HTTPResponse.refusal(429, "Too many requests", retryAfter: 1)
    }
    guard connection.headerBytes <= HubLimits.headerBytesMax else {
      throw HTTPResponse.refusal(431, "The headers are too large")
    }
    let route = try HubRoute(method: method, target: exchange.target)
    exchange.closes = !isTaken
    guard isTaken || route.action == .health else {
      throw HTTPResponse.refusal(503, "Too many connections are open", retryAfter: 5)
    }
    let headers = connection.headers
    guard headers["transfer-encoding"] == nil else {
      throw HTTPResponse.refusal(411, "A body has a Content-Length, and no Transfer-Encoding")
    }
    let lengths = headers["content-length"] ?? []
    if route.wantsBody, lengths.isEmpty { throw HTTPResponse.refusal(411, "A body has a Content-Length") }
    guard let byteCount = Int(lengths.first ?? "0"), byteCount >= 0, lengths.count <= 1 else {
      throw HTTPResponse.refusal(400, "The Content-Length is malformed")
    }
    guard byteCount <= route.bodyBytesMax else { throw HTTPResponse.refusal(413, "The body is too large") }
    guard let hosts = headers["host"], hosts.count == 1 else {
      throw HTTPResponse.refusal(400, "There is one Host header")
    }
    if route.action != .health { try check(host: hosts[0]) }
    if route.needsSession, let vault = route.vault {
      let session = try service.session(authorization: headers["authorization"]?.first, vault: vault)
      if session.isInvited { try HubService.checkInvited(route) }
      exchange.session = session
    }
    guard connections.receive(exchange.connection, byteCount, exchange.session) else {
      throw HTTPResponse.refusal(503, "Too many bodies are being read", retryAfter: 1)
    }
    exchange.announced = byteCount
    return HubRequest(route: route, host: hosts[0])
  }

  /// Refuses a host that is not one of this hub's: a signature for another one must be good for nothing here.
  private func check(host: String) throws {
    guard !host.isEmpty else { throw HTTPResponse.refusal(400, "There is no Host header") }
    let (address, port) = (options.address, options.address.port == 0 ? port : options.address.port)
    let names = options.names.isEmpty ? address.loopbackNames(port: port) : options.names
    guard HubService.isName(host, of: names) else {
      throw HTTPResponse.refusal(403, "This hub has another name")
    }
  }

  private func send(_ answer: HTTPResponse, _ exchange: Exchange, _ connection: HTTPConnection) -> MHD_Result
  {
    (exchange.status, exchange.detail) = (answer.status, answer.detail)
    exchange.answer = nil
    exchange.request?.body = []
    count(exchange)
    connections.send(exchange.connection, byteCount: answer.body.count)
    return connection.send(answer, closes: exchange.closes || isStopping.load(ordering: .relaxed))
  }

  /// Counts a request before its answer is sent, so that whoever got the answer finds it counted.
  private func count(_ exchange: Exchange) {
    let nanoseconds = MonotonicClock.nanoseconds() - exchange.start
    metrics.count(
      method: exchange.method, status: exchange.status,
      seconds: exchange.stream == nil ? Double(nanoseconds) / 1e9 : nil)
  }

  private func answer(
    _ request: HubRequest, _ exchange: Exchange, _ connection: HTTPConnection
  ) throws -> MHD_Result {
    let route = request.route
    switch route.action {
    case .get:
      let bytes = try service.engine.get(route.name, as: exchange.open.member) { byteCount in
        guard connections.take(exchange.connection, byteCount) else {
          throw HTTPResponse.refusal(503, "Too many bodies are being sent", retryAfter: 1)
        }
      }
      guard let bytes else { throw HTTPResponse.refusal(404, "There is no such object") }
      metrics.countGet(bytes.count)
      let answer = HTTPResponse(status: 200, contentType: "application/octet-stream", body: bytes)
      return send(answer, exchange, connection)
    case .put:
      let session = exchange.open
      let member = try service.putting(
        route.name, request.body, as: session.member, isInvited: session.isInvited)
      if member != session.member { streams.wake(member.vault) }
      return write(route.name, request.body, as: member, exchange, connection)
    case .delete:
      let member = exchange.open.member
      try service.checkDeleting(route.name, as: member)
      return write(route.name, nil, as: member, exchange, connection)
    case .changes:
      let stream = EventStream(exchange.open, after: route.after, connection: connection) {
        [connections, id = exchange.connection] in connections.close(id)
      }
      guard streams.add(stream) else { throw HTTPResponse.refusal(503, "The hub stops", retryAfter: 5) }
      exchange.stream = stream
      connections.stream(exchange.connection) { stream.finish() }
      exchange.status = 200
      count(exchange)
      return connection.send(stream.connection)
    case .changeKeys:
      let answer = try service.changeKeys(request, as: exchange.open.member)
      streams.wake(exchange.open.member.vault)
      return send(answer, exchange, connection)
    case .keys: return send(try service.keys(as: exchange.open.member), exchange, connection)
    case .list:
      let list = try service.engine.list(
        after: route.after, limit: route.limit, as: exchange.open.member)
      return send(.json(200) { list.append(to: &$0) }, exchange, connection)
    case .health:
      try service.engine.check()
      return send(.text("ok"), exchange, connection)
    case .openSession: return send(try service.openSession(request), exchange, connection)
    case .createVault: return send(try service.create(request), exchange, connection)
    }
  }

  /// Stores or deletes an object, and answers once that is durable.
  private func write(
    _ name: String, _ bytes: [UInt8]?, as member: VaultMember, _ exchange: Exchange,
    _ connection: HTTPConnection
  ) -> MHD_Result {
    connection.suspend()
    exchange.request?.body = []
    let byteCount = bytes?.count
    service.engine.write(name, bytes, as: member) { [metrics] result in
      switch result {
      case .success(.stored):
        if let byteCount { metrics.countPut(byteCount) }
        exchange.answer = HTTPResponse(status: byteCount == nil ? 204 : 201)
      case .success(.same): exchange.answer = HTTPResponse(status: 200)
      case .success(.different): exchange.answer = .refusal(409, "Other bytes are stored under this name")
      case .success(.full): exchange.answer = .refusal(507, "The vault's quota is full")
      case .failure(let error): exchange.answer = .to(error)
      }
      connection.resume()
    }
    return .YES
  }

  // MARK: The log

  private func log(_ exchange: Exchange, _ nanoseconds: UInt64) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("time", RFC3339.text(Milliseconds(WallClock.nanoseconds / 1_000_000)))
    writer.member("status", exchange.status)
    writer.member("method", exchange.method)
    if let vault = exchange.request?.route.vault {
      writer.member("vault", vault.description)
    }
    writer.member("milliseconds", nanoseconds / 1_000_000)
    writer.member("client", exchange.client)
    if let detail = exchange.detail {
      writer.member("error", detail)
    }
    writer.endObject()
    writer.endLine()
    options.log(String(decoding: writer.bytes, as: UTF8.self))
  }
}

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
  var answer: HTTPResponse?
  var session: HubSession?
  var stream: EventStream?
  var status: UInt32 = 0
  /// For the log alone.
  var detail: String?

  init(target: String, connection: Int) {
    self.target = target
    self.connection = connection
  }

  /// The session of a request that needs one.
  var open: HubSession {
    guard let session else { preconditionFailure("the session was checked") }
    return session
  }
}
