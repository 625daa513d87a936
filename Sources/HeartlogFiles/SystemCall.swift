#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A system call on a path, with what its error message needs.
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

  /// Makes the call, repeats it if a signal interrupted it, and throws if it returns -1.
  @discardableResult
  func run<Result: SignedInteger>(_ call: () -> Result) throws(FileError) -> Result {
    while true {
      let result = call()
      if result != -1 { return result }
      let code = errno
      if code != EINTR { throw error(code) }
    }
  }

  /// As `run`, with the path as a C string. A path with a zero byte is rejected, because it would name
  /// another file in C.
  @discardableResult
  func run<Result: SignedInteger>(
    withPath call: (UnsafePointer<CChar>) -> Result
  ) throws(FileError) -> Result {
    if path.withCString(strlen) != path.utf8.count { throw error(EINVAL) }
    return try run { path.withCString(call) }
  }
}
