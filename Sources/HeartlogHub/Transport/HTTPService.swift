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
      var transport: (authorities: String?, transport: CurlTransport)?
      // A request is over when the other program hangs up. It sends nothing while it waits.
      let isOver = { Self.hasEnded }
      while case .request(let request, let isStream, let authorities)? = try? channel.readFrame(isOver: {
        false
      }) {
        let used =
          if let transport, transport.authorities == authorities { transport.transport } else {
            CurlTransport(authorities: authorities)
          }
        transport = (authorities, used)
        let answer: HTTPFrame
        do throws(HTTPFailure) {
          if isStream {
            answer = .answer(
              try used.stream(request, isOver: isOver) { part in
                (try? channel.write(.part(part), isOver: isOver)) != nil
              })
          } else {
            answer = .answer(try used.send(request, isOver: isOver))
          }
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
