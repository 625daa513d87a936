#if !canImport(Darwin)
  import CCurl
  import HeartlogFiles
  import Synchronization

  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// Requests through the system's libcurl. Connections stay open for the next request.
  package final class CurlTransport: HTTPTransport {
    private let idle = Mutex<[CurlHandle]>([])
    private let authorities: String?

    /// - Parameter authorities: A file with the certificates of the authorities to trust, as PEM; `nil` for those of the system. As other
    ///   programs do, the environment's `SSL_CERT_FILE` names it unless said otherwise.
    package init(authorities: String? = getenv("SSL_CERT_FILE").map { String(cString: $0) }) {
      self.authorities = authorities
    }

    package func perform(
      _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
    ) throws(HTTPFailure) -> HTTPAnswer {
      let handle: CurlHandle
      if let known = idle.withLock({ $0.popLast() }) { handle = known } else { handle = try CurlHandle() }
      defer { idle.withLock { $0.append(handle) } }
      return try handle.perform(request, isStream: isStream, authorities: authorities, isOver, receive)
    }
  }

  /// A request at a time, over connections that stay open between requests.
  ///
  /// Safe to send, because whoever has it took it out of the transport's list.
  private final class CurlHandle: @unchecked Sendable {
    private let curl: CurlLibrary
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer

    private static let connectMilliseconds = 10_000
    /// How often the caller is asked whether it is over, at least.
    private static let pollMilliseconds: Int32 = 100

    init() throws(HTTPFailure) {
      curl = try CurlLibrary.shared.get()
      guard let multi = curl.makeMulti() else { throw HTTPFailure(.broken, "libcurl is out of memory") }
      guard let easy = curl.makeEasy() else {
        _ = curl.endMulti(multi)
        throw HTTPFailure(.broken, "libcurl is out of memory")
      }
      self.multi = multi
      self.easy = easy
    }

    deinit {
      curl.endEasy(easy)
      _ = curl.endMulti(multi)
    }

    func perform(
      _ request: HTTPRequest, isStream: Bool, authorities: String?, _ isOver: () -> Bool,
      _ receive: ([UInt8]) -> Bool
    ) throws(HTTPFailure) -> HTTPAnswer {
      curl.resetEasy(easy)
      var headers: UnsafeMutablePointer<curl_slist>?
      defer { curl.free(headers) }
      for header in request.headers { headers = curl.append(headers, "\(header.name): \(header.value)") }
      // libcurl would add these. To large bodies the first, and wait for the answer that it asks for.
      for name in ["Expect", "Accept", "Content-Type"]
      where !request.headers.contains(where: { $0.name == name }) {
        headers = curl.append(headers, "\(name):")
      }
      set(CURLOPT_NOSIGNAL, 1)
      set(CURLOPT_FOLLOWLOCATION, 0)
      set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
      // The certificate must be valid, and its name that of the host. Both are so by default, too.
      set(CURLOPT_SSL_VERIFYPEER, 1)
      set(CURLOPT_SSL_VERIFYHOST, 2)
      // http and https, by the numbers of CURLPROTO_HTTP and CURLPROTO_HTTPS.
      set(CURLOPT_PROTOCOLS, 3)
      set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
      // A stream is slower than a byte a second. What is too silent there is seen below.
      set(CURLOPT_LOW_SPEED_LIMIT, isStream ? 0 : 1)
      set(CURLOPT_LOW_SPEED_TIME, isStream ? 0 : request.silenceSecondsMax)
      _ = heartlog_curl_set_pointer(curl.set, easy, CURLOPT_HTTPHEADER, headers)
      // Texts are copied by libcurl. A body is not: it stays where it is until the request is done.
      set(CURLOPT_URL, request.url)
      set(CURLOPT_CUSTOMREQUEST, request.method)
      if let authorities { set(CURLOPT_CAINFO, authorities) }
      let body = request.body ?? []
      return try body.withUnsafeBufferPointer { (body) throws(HTTPFailure) in
        if request.body != nil {
          set(CURLOPT_POST, 1)
          _ = heartlog_curl_set_size(curl.set, easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(body.count))
          _ = heartlog_curl_set_pointer(
            curl.set, easy, CURLOPT_POSTFIELDS,
            body.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(easy))
        }
        let silence = isStream ? UInt64(max(0, request.silenceSecondsMax)) * 1_000_000_000 : nil
        return try run(CurlReception(request, isStream: isStream), request, silence, isOver, receive)
      }
    }

    private func run(
      _ reception: CurlReception, _ request: HTTPRequest, _ silenceNanosecondsMax: UInt64?,
      _ isOver: () -> Bool, _ receive: ([UInt8]) -> Bool
    ) throws(HTTPFailure) -> HTTPAnswer {
      let context = Unmanaged.passUnretained(reception).toOpaque()
      _ = heartlog_curl_set_write(
        curl.set, easy, CURLOPT_HEADERFUNCTION,
        { @Sendable bytes, size, count, context in
          CurlReception.take(bytes, size * count, context) { $0.takeHeader($1) }
        })
      _ = heartlog_curl_set_pointer(curl.set, easy, CURLOPT_HEADERDATA, context)
      _ = heartlog_curl_set_write(
        curl.set, easy, CURLOPT_WRITEFUNCTION,
        { @Sendable bytes, size, count, context in
          CurlReception.take(bytes, size * count, context) { $0.takeBody($1) }
        })
      _ = heartlog_curl_set_pointer(curl.set, easy, CURLOPT_WRITEDATA, context)
      guard curl.add(multi, easy) == CURLM_OK else { throw HTTPFailure(.broken, "libcurl takes no request") }
      // Whatever is still under way ends here, with its connection. Nothing is received any more.
      defer {
        _ = curl.remove(multi, easy)
        withExtendedLifetime(reception) {}
      }
      let start = MonotonicClock.nanoseconds()
      var lastPart = start
      while true {
        var running: Int32 = 0
        guard curl.perform(multi, &running) == CURLM_OK else { throw HTTPFailure(.broken, "libcurl failed") }
        if let part = reception.takePart() {
          lastPart = MonotonicClock.nanoseconds()
          guard receive(part) else { return reception.answer }
        }
        if running == 0 { break }
        if let silenceNanosecondsMax, MonotonicClock.nanoseconds() - lastPart > silenceNanosecondsMax {
          throw HTTPFailure(.silent, "the stream has been silent for too long")
        }
        guard !isOver() else { throw HTTPFailure(.over, "the request was ended before it was answered") }
        if !reception.isStreaming {
          try request.checkTime(
            nanoseconds: MonotonicClock.nanoseconds() - start, received: reception.answer.body.count)
        }
        guard curl.poll(multi, nil, 0, Self.pollMilliseconds, nil) == CURLM_OK else {
          throw HTTPFailure(.broken, "libcurl failed")
        }
      }
      var left: Int32 = 0
      while let message = curl.read(multi, &left) {
        guard message.pointee.msg == CURLMSG_DONE else { continue }
        let code = message.pointee.data.result
        if let failure = reception.failure { throw failure }
        guard code == CURLE_OK else {
          throw Self.failure(code, curl.message(code).map { String(cString: $0) } ?? "")
        }
      }
      guard reception.hasHeaders else { throw HTTPFailure(.broken, "the answer ends within its headers") }
      guard reception.answer.status != 0 else { throw HTTPFailure(.broken, "the answer has no status") }
      return reception.answer
    }

    private func set(_ option: CURLoption, _ value: Int) {
      _ = heartlog_curl_set_long(curl.set, easy, option, value)
    }

    private func set(_ option: CURLoption, _ value: String) {
      value.withCString { _ = heartlog_curl_set_pointer(curl.set, easy, option, $0) }
    }

    private static func failure(_ code: CURLcode, _ message: String) -> HTTPFailure {
      let kind: HTTPFailure.Kind =
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: .unreachable
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
          CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
          CURLE_SSL_INVALIDCERTSTATUS:
          .untrusted
        case CURLE_OPERATION_TIMEDOUT: .silent
        default: .broken
        }
      return HTTPFailure(kind, message)
    }
  }

  /// What arrives of an answer. Used on the thread that performs the request.
  private final class CurlReception {
    private(set) var answer = HTTPAnswer()
    /// Whether all headers came. libcurl takes an answer without a length for whole, wherever it ends.
    private(set) var hasHeaders = false
    private(set) var failure: HTTPFailure?
    private let bytesMax: Int
    private let isStream: Bool
    /// Whether the body is handed over as it comes.
    var isStreaming: Bool { isStream && answer.isSuccess }
    private var headerBytes = 0
    /// What arrived of a stream and was not handed over yet.
    private var part: [UInt8] = []

    init(_ request: HTTPRequest, isStream: Bool) {
      bytesMax = request.bytesMax
      self.isStream = isStream
    }

    /// Calls `body` with bytes from libcurl.
    ///
    /// - Returns: How many were taken; any other count than that of the bytes ends the request.
    static func take(
      _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
      _ body: (CurlReception, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
      guard let context else { return 0 }
      let reception = Unmanaged<CurlReception>.fromOpaque(context).takeUnretainedValue()
      return body(reception, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
    }

    func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
      headerBytes += bytes.count
      guard headerBytes <= HTTPAnswer.headerBytesMax else {
        failure = HTTPFailure(.tooLarge, "the headers of the answer are too large")
        return false
      }
      let line = String(decoding: bytes, as: UTF8.self)
      if line.hasPrefix("HTTP/") {
        // An answer may come after others that only announce it.
        let words = line.split(separator: " ", maxSplits: 2)
        answer = HTTPAnswer()
        hasHeaders = false
        answer.status = words.count > 1 ? Int(words[1].filter(\.isNumber)) ?? 0 : 0
        return true
      }
      if line == "\r\n" || line == "\n" { hasHeaders = true }
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return true }
      var value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      while value.last?.isWhitespace == true { value.removeLast() }
      answer.headers[line[..<colon].lowercased()] = String(value)
      return true
    }

    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      if isStreaming {
        part += bytes
        return true
      }
      let most = answer.isSuccess ? bytesMax : HTTPAnswer.errorBytesMax
      guard answer.body.count + bytes.count <= most else {
        failure = HTTPFailure(.tooLarge, "the answer has more than \(most) bytes")
        return false
      }
      answer.body += bytes
      return true
    }

    func takePart() -> [UInt8]? {
      guard !part.isEmpty else { return nil }
      defer { part = [] }
      return part
    }
  }

  /// The functions of libcurl, which is loaded when they are first needed.
  ///
  /// Safe to send: the addresses of functions never change.
  struct CurlLibrary: @unchecked Sendable {
    let set: UnsafeMutableRawPointer
    let makeEasy: heartlog_curl_easy_init
    let resetEasy: heartlog_curl_easy_done
    let endEasy: heartlog_curl_easy_done
    let message: heartlog_curl_easy_strerror
    let append: heartlog_curl_slist_append
    let free: heartlog_curl_slist_free_all
    let makeMulti: heartlog_curl_multi_init
    let endMulti: heartlog_curl_multi_cleanup
    let add: heartlog_curl_multi_change
    let remove: heartlog_curl_multi_change
    let perform: heartlog_curl_multi_perform
    let poll: heartlog_curl_multi_poll
    let read: heartlog_curl_multi_info_read

    /// It stays loaded: libcurl has threads and state of its own.
    static let shared = Result { () throws(HTTPFailure) in try CurlLibrary() }

    /// By the names that Debian, Fedora, Alpine and others give it. All have the same interface.
    private static let names = ["libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"]

    private init() throws(HTTPFailure) {
      guard let library = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else {
        throw HTTPFailure(
          .missingLibrary,
          "libcurl is not installed, which a hub is reached with: on Debian and Ubuntu, apt install libcurl4"
        )
      }
      func address(_ name: String) throws(HTTPFailure) -> UnsafeMutableRawPointer {
        guard let address = dlsym(library, name) else {
          throw HTTPFailure(
            .missingLibrary, "the libcurl of this system is older than 7.66: it has no \(name)")
        }
        return address
      }
      func function<F>(_ name: String, _ type: F.Type) throws(HTTPFailure) -> F {
        // dlsym returns the address of a function as that of data.
        unsafeBitCast(try address(name), to: type)
      }
      let initialize = try function("curl_global_init", heartlog_curl_global_init.self)
      set = try address("curl_easy_setopt")
      makeEasy = try function("curl_easy_init", heartlog_curl_easy_init.self)
      resetEasy = try function("curl_easy_reset", heartlog_curl_easy_done.self)
      endEasy = try function("curl_easy_cleanup", heartlog_curl_easy_done.self)
      message = try function("curl_easy_strerror", heartlog_curl_easy_strerror.self)
      append = try function("curl_slist_append", heartlog_curl_slist_append.self)
      free = try function("curl_slist_free_all", heartlog_curl_slist_free_all.self)
      makeMulti = try function("curl_multi_init", heartlog_curl_multi_init.self)
      endMulti = try function("curl_multi_cleanup", heartlog_curl_multi_cleanup.self)
      add = try function("curl_multi_add_handle", heartlog_curl_multi_change.self)
      remove = try function("curl_multi_remove_handle", heartlog_curl_multi_change.self)
      perform = try function("curl_multi_perform", heartlog_curl_multi_perform.self)
      poll = try function("curl_multi_poll", heartlog_curl_multi_poll.self)
      read = try function("curl_multi_info_read", heartlog_curl_multi_info_read.self)
      // SSL, as CURL_GLOBAL_DEFAULT has it.
      guard initialize(3) == CURLE_OK else { throw HTTPFailure(.missingLibrary, "libcurl does not start") }
    }
  }
#endif
