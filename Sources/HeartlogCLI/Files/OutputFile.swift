#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Writes a file that is there whole, or not at all.
enum OutputFile {
  /// Puts `bytes` in place of what is at `path`.
  static func replace(_ path: String, with bytes: [UInt8]) throws(CommandError) {
    let temporary = "\(path).\(getpid()).tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failure(path, errno) }
    let number = write(bytes, to: descriptor) ?? (fsync(descriptor) == 0 ? nil : errno)
    close(descriptor)
    if let number {
      unlink(temporary)
      throw failure(path, number)
    }
    guard rename(temporary, path) == 0 else {
      let number = errno
      unlink(temporary)
      throw failure(path, number)
    }
  }

  /// Nil, or the errno that stopped it.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count, let base = bytes.baseAddress {
        #if canImport(Darwin)
          let written = Darwin.write(descriptor, base + done, bytes.count - done)
        #elseif canImport(Musl)
          let written = Musl.write(descriptor, base + done, bytes.count - done)
        #else
          let written = Glibc.write(descriptor, base + done, bytes.count - done)
        #endif
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return written < 0 ? errno : EIO }
        done += written
      }
      return nil
    }
  }

  private static func failure(_ path: String, _ number: Int32) -> CommandError {
    CommandError(
      number == ENOSPC || number == EIO ? .inputOutput : .cannotCreate, "cannot write \(Quoted(path))",
      at: String(cString: strerror(number)))
  }
}
