#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Functions on file descriptors that may be terminals.
enum Terminal {
  static let brokenPipe = EPIPE

  static func sink(descriptor: Int32, environment: [String: String]) -> Output.Sink {
    let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    return Output.Sink(
      write: { write($0, to: descriptor) },
      isTerminal: isatty(descriptor) == 1,
      width: { width(of: descriptor) ?? columns })
  }

  /// The columns that the terminal reports.
  private static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes all of `bytes`. Returns nil, or the errno of the failure.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      // `rest` is a slice of `bytes`, which has a base address because it is not empty.
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
        // The pipe is non-blocking: wait until it accepts more.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      default: return errno
      }
    }
    return nil
  }
}

extension Terminal {
  /// Opens placeholders for standard input, output and error if they are closed. Otherwise the next file that is opened,
  /// perhaps one of the store, would get such a number and be used as a standard stream.
  static func occupyStandardDescriptors() {
    // With the opposite access mode, so that reading and writing fail as on a closed descriptor.
    for (descriptor, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // open uses the lowest free number, and all lower ones are in use.
      _ = open("/dev/null", mode)
    }
  }

  static func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

  /// The host name; empty if it is unknown.
  static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(validating: bytes, as: UTF8.self) ?? ""
  }
}
