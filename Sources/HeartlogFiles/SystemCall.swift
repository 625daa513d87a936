#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One thing tried on one path: what an error of it will say.
struct SystemCall {
  let operation: String
  let path: String

  init(_ operation: String, _ path: String) {
    self.operation = operation
    self.path = path
  }

  func error(_ code: Int32) -> FileError {
    FileError(operation: operation, path: path, code: code)
  }

  /// Makes the call, again where a signal interrupted it, and throws where it returns -1.
  @discardableResult
  func run<Result: SignedInteger>(_ call: () -> Result) throws(FileError) -> Result {
    while true {
      let result = call()
      if result != -1 { return result }
      let code = errno
      if code != EINTR { throw error(code) }
    }
  }

  /// As `run`, with the path as C reads it. A path with a zero byte would name another file there.
  @discardableResult
  func run<Result: SignedInteger>(
    withPath call: (UnsafePointer<CChar>) -> Result
  ) throws(FileError) -> Result {
    if path.withCString(strlen) != path.utf8.count { throw error(EINVAL) }
    return try run { path.withCString(call) }
  }
}
