import Heartlog
import HeartlogFiles

/// A channel over file descriptors: pipes, sockets, or the two ends of a terminal.
///
/// The blocking mode of the descriptors is left unchanged, because other processes may share them. Writing to
/// a peer that is gone raises no signal.
package final class DescriptorChannel: ByteChannel {
  private let input: Int32
  private let output: Int32
  private let isSocket: Bool
  private let closes: Bool

  /// The number of bytes that POSIX guarantees a ready pipe accepts: a write of this size never blocks.
  private static let pipeBytesMax = min(4_096, Int(PIPE_BUF))

  /// Creates a channel over two open descriptors.
  ///
  /// - Parameters:
  ///   - input: the descriptor to read from. May be the same as `output`.
  ///   - output: the descriptor to write to.
  ///   - closes: whether `close` closes the descriptors.
  package init(input: Int32, output: Int32, closes: Bool = true) {
    self.input = input
    self.output = output
    self.closes = closes
    var status = stat()
    isSocket = fstat(output, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    #if canImport(Darwin)
      var on: Int32 = 1
      if isSocket { setsockopt(output, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size)) }
    #endif
  }

  /// Creates two channels that are each other's peer.
  package static func pair() throws(HeartlogError) -> (DescriptorChannel, DescriptorChannel) {
    let (one, other) = try descriptorPair()
    return (DescriptorChannel(input: one, output: one), DescriptorChannel(input: other, output: other))
  }

  /// Creates a pair of connected sockets that child processes do not inherit.
  static func descriptorPair() throws(HeartlogError) -> (Int32, Int32) {
    var pair: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
      let type = SOCK_STREAM | SOCK_CLOEXEC
    #else
      let type = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else {
      throw HeartlogError(channel: "make", errno)
    }
    for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return (pair[0], pair[1])
  }

  package func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    guard try isReady(input, Int16(POLLIN), milliseconds) else { return nil }
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      // The buffer behind the base address holds `count` bytes.
      result = systemRead(input, buffer.baseAddress, count)
      filled = max(0, result)
    }
    guard result < 0 else { return bytes }
    switch errno {
    case EAGAIN, EINTR: return nil
    case ECONNRESET: return []
    default: throw HeartlogError(channel: "read from", errno)
    }
  }

  package func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    guard try isReady(output, Int16(POLLOUT), milliseconds) else { return 0 }
    let (count, number) = bytes.withUnsafeBytes { isSocket ? send($0) : writeToPipe($0) }
    guard count < 0 else { return count }
    switch number {
    case EAGAIN, EINTR: return 0
    case EPIPE, ECONNRESET: throw .hungUp
    default: throw HeartlogError(channel: "write to", number)
    }
  }

  package func close() {
    guard closes else { return }
    systemClose(output)
    if input != output { systemClose(input) }
  }

  private func send(_ bytes: UnsafeRawBufferPointer) -> (count: Int, errno: Int32) {
    #if canImport(Darwin)
      let flags = Int32(MSG_DONTWAIT)
    #else
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #endif
    let count = systemSend(output, bytes.baseAddress, bytes.count, flags)
    return (count, errno)
  }

  private func writeToPipe(_ bytes: UnsafeRawBufferPointer) -> (count: Int, errno: Int32) {
    BrokenPipe.withoutSignal {
      let count = systemWrite(output, bytes.baseAddress, min(bytes.count, Self.pipeBytesMax))
      return (count, errno)
    }
  }

  /// Whether `descriptor` can be used without waiting. This includes a descriptor whose peer hung up: the
  /// read or write then reports it.
  private func isReady(_ descriptor: Int32, _ events: Int16, _ milliseconds: Int) throws(HeartlogError)
    -> Bool
  {
    var waiting = pollfd(fd: descriptor, events: events, revents: 0)
    let count = poll(&waiting, 1, Int32(clamping: milliseconds))
    if count < 0, errno != EINTR {
      throw HeartlogError(channel: "wait for", errno)
    }
    guard count > 0, waiting.revents & Int16(POLLNVAL) == 0 else {
      if count > 0 { throw HeartlogError(.inputOutput, "the channel to the peer is closed") }
      return false
    }
    return true
  }
}

extension HeartlogError {
  /// An error for a system call on a channel that failed.
  fileprivate init(channel operation: String, _ number: Int32) {
    self.init(
      .inputOutput,
      HeartlogError(operation: operation, path: "the channel to the peer", code: number).description
    )
  }
}

// Free functions for the system calls that are hidden by methods of the same names.

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, buffer, count)
}

private func systemSend(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int
{
  send(descriptor, buffer, count, flags)
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }

/// Writes to a pipe with no reader, without the SIGPIPE that would end the process.
enum BrokenPipe {
  /// Runs `body`, a system call that returns its errno, and consumes the SIGPIPE it may have raised. The
  /// signal handling of the process is unchanged.
  static func withoutSignal(_ body: () -> (count: Int, errno: Int32)) -> (count: Int, errno: Int32) {
    var signals = sigset_t()
    var before = sigset_t()
    var pending = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    sigpending(&pending)
    let wasPending = sigismember(&pending, SIGPIPE) == 1
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    let result = body()
    if result.count < 0, result.errno == EPIPE, !wasPending {
      sigpending(&pending)
      var taken: Int32 = 0
      // SIGPIPE is sent to the thread that wrote, so it is already pending here.
      if sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &taken) }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return result
  }
}
