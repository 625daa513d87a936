#if !canImport(Darwin)
  import CHeartlogPlatform
  import Heartlog
  import HeartlogFiles
  import HeartlogShipping
  import Synchronization

  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// Requests through `heartlog-http`, a program of its own that has libcurl: a statically linked program cannot load a library safely.
  package final class ProcessTransport: HTTPTransport {
    private let program: String
    private let idle = Mutex<[ChildProcess]>([])

    /// Whether this program cannot load libraries.
    package static var isNeeded: Bool { heartlog_is_static() != 0 }

    /// - Parameter program: Where `heartlog-http` is; `nil` for beside this program.
    package init(program: String? = nil) {
      self.program = program ?? Self.besideThisProgram
    }

    deinit { for child in idle.withLock({ $0 }) { _ = child.finish() } }

    package func perform(
      _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
    ) throws(HTTPFailure) -> HTTPAnswer {
      let child: ChildProcess
      if let known = idle.withLock({ $0.popLast() }) { child = known } else { child = try start() }
      // A child that did not answer is in the middle of a request: it ends with its channel.
      var isIdle = false
      defer {
        if isIdle { idle.withLock { $0.append(child) } } else { _ = child.finish(waiting: 0) }
      }
      let channel = child.channel
      try channel.write(
        .request(request, isStream: isStream), isOver: isOver)
      while true {
        switch try channel.readFrame(isOver: isOver) {
        case .part(let bytes)?:
          guard !receive(bytes) else { continue }
          // Only a success is handed over in parts.
          var answer = HTTPAnswer()
          answer.status = 200
          return answer
        case .answer(let answer)?:
          isIdle = true
          return answer
        case .failure(let failure)?:
          isIdle = true
          throw failure
        case .request?, nil:
          if isOver() { throw .interrupted }
          throw HTTPFailure(.broken, "\(program) ended without an answer")
        }
      }
    }

    private func start() throws(HTTPFailure) -> ChildProcess {
      do throws(HeartlogError) { return try ChildProcess([program]) } catch {
        throw HTTPFailure(
          .missingLibrary, "\(error.message). heartlog reaches hubs with it; it is installed beside heartlog")
      }
    }

    private static var besideThisProgram: String {
      let name = "heartlog-http"
      guard let path = realpath("/proc/self/exe", nil) else { return name }
      defer { free(path) }
      return "\(PathParts.parent(of: String(cString: path)))/\(name)"
    }
  }
#endif
