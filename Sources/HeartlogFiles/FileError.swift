import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A system call that failed.
public struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was tried, as a verb: "open", "write", "synchronize".
  public var operation: String
  public var path: String
  /// The `errno`.
  public var code: Int32

  public init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// "cannot write /x/y: No space left on device"
  public var description: String {
    "cannot \(operation) \(path): \(Self.message(of: code))"
  }

  public var isNotFound: Bool { code == ENOENT }
  /// A file stands where a folder was expected.
  public var isNotDirectory: Bool { code == ENOTDIR }
  public var alreadyExists: Bool { code == EEXIST }
  public var isDiskFull: Bool { code == ENOSPC || code == EDQUOT }
  public var isReadOnly: Bool { code == EROFS || code == EACCES || code == EPERM }

  private static func message(of code: Int32) -> String {
    // The longest message of any C library is well below this; a longer one would be cut.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, heartlog_error_message(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}
