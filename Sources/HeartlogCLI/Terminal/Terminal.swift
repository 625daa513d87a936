#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What the system knows about a file descriptor that people may be looking at.
enum Terminal {
  static let brokenPipe = EPIPE

  static func sink(descriptor: Int32, environment: [String: String]) -> Output.Sink {
    let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    return Output.Sink(
      write: { write($0, to: descriptor) },
      isTerminal: isatty(descriptor) == 1,
      width: { width(of: descriptor) ?? columns })
  }

  /// The columns that the terminal says it has.
  private static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes all of `bytes`; nil, or the errno that stopped it.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      // `rest` is a slice of `bytes`, whose base is there since it is not empty.
      let slice = UnsafeRawBufferPointer(rebasing: rest)
      #if canImport(Darwin)
        let count = Darwin.write(descriptor, slice.baseAddress, slice.count)
      #elseif canImport(Musl)
        let count = Musl.write(descriptor, slice.baseAddress, slice.count)
      #else
        let count = Glibc.write(descriptor, slice.baseAddress, slice.count)
      #endif
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Somebody made the pipe non-blocking: wait until it takes more.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      default: return errno
      }
    }
    return nil
  }
}

extension Terminal {
  /// Puts something unusable in the place of standard input, output and error where they are closed: else the next
  /// file opened, one of the store's perhaps, would get the number, and be read or printed to.
  static func occupyStandardDescriptors() {
    // The wrong way round, so that reading and writing fail as they would on what is closed.
    for (descriptor, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number: the ones before it are taken by now.
      _ = open("/dev/null", mode)
    }
  }

  static func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

  /// What this machine calls itself; empty where it does not.
  static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(validating: bytes, as: UTF8.self) ?? ""
  }
}
