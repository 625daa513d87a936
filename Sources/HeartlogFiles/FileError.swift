import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A system call that failed.
package struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was tried, as a verb: "open", "write", "synchronize".
  package var operation: String
  package var path: String
  /// The `errno`.
  package var code: Int32

  package init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// "cannot write /x/y: No space left on device"
  package var description: String {
    "cannot \(operation) \(path): \(Self.message(of: code))"
  }

  package var isNotFound: Bool { code == ENOENT }
  /// A file stands where a folder was expected.
  package var isNotDirectory: Bool { code == ENOTDIR }
  package var alreadyExists: Bool { code == EEXIST }
  /// No room is left, on the disk, of the user's share, or below a limit on the size of a file.
  package var isDiskFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
  package var isReadOnly: Bool { code == EROFS || code == EACCES || code == EPERM }

  /// The code of what is no regular file where one was expected: a pipe, a socket or a device.
  package static let notAFile: Int32 = -1

  /// A folder, a pipe, a socket or a device stands where a file was expected.
  package var isNotAFile: Bool { code == EISDIR || code == Self.notAFile }

  private static func message(of code: Int32) -> String {
    if code == notAFile { return "it is a pipe, a socket or a device, and no file" }
    // The longest message of any C library is well below this; a longer one would be cut.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, heartlog_error_message(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}
