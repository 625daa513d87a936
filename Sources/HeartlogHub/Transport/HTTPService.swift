#if !canImport(Darwin)
  import Heartlog
  import HeartlogShipping

  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// What `heartlog-http` does: performs the requests that it reads from its standard input, one after the other, until that ends.
  package enum HTTPService {
    package static func run() {
      let channel = DescriptorChannel(input: 0, output: 1)
      let transport = CurlTransport()
      // A request is over when the other program hangs up. It sends nothing while it waits.
      let isOver = { Self.hasEnded }
      while case .request(let request, let isStream)? = try? channel.readFrame(isOver: { false }) {
        let answer: HTTPFrame
        do throws(HTTPFailure) {
          answer = .answer(
            try transport.perform(request, isStream: isStream, isOver: isOver) { part in
              (try? channel.write(.part(part), isOver: isOver)) != nil
            })
        } catch { answer = .failure(error) }
        guard (try? channel.write(answer, isOver: isOver)) != nil else { return }
      }
    }

    private static var hasEnded: Bool {
      var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
      return poll(&input, 1, 0) > 0
    }
  }
#endif
