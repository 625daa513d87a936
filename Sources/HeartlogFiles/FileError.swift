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
  /// The operation that failed, as a verb: "open", "write", "synchronize".
  package var operation: String
  package var path: String
  /// The `errno`, or `notAFile`.
  package var code: Int32

  package init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// A phrase such as "cannot write /x/y: No space left on device".
  package var description: String {
    "cannot \(operation) \(path): \(Self.message(of: code))"
  }

  /// Another process holds a lock.
  package var isBusy: Bool { code == EWOULDBLOCK }
  package var isNotFound: Bool { code == ENOENT }
  /// A component of the path is a file where a directory was expected.
  package var isNotDirectory: Bool { code == ENOTDIR }
  package var alreadyExists: Bool { code == EEXIST }
  /// No space is left on the disk or in the user's quota, or the file would exceed a size limit.
  package var isDiskFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
  package var isReadOnlyFileSystem: Bool { code == EROFS }
  package var isReadOnly: Bool { code == EROFS || code == EACCES || code == EPERM }

  /// The code for a pipe, a socket or a device where a regular file was expected.
  package static let notAFile: Int32 = -1

  /// The code for a directory with more names than are read: see `directoryNamesMax`.
  package static let tooManyNames: Int32 = -2

  /// A directory, a pipe, a socket or a device where a regular file was expected.
  package var isNotAFile: Bool { code == EISDIR || code == Self.notAFile }

  private static func message(of code: Int32) -> String {
    if code == notAFile { return "it is a pipe, a socket or a device, and no file" }
    if code == tooManyNames { return "more than \(directoryNamesMax) files are there" }
    // The messages of all C libraries are well below this length; a longer one would be truncated.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, heartlog_error_message(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}
