import CHeartlogPlatform
import HeartlogFormat

/// A system call that failed.
extension HeartlogError {
  /// - Parameters:
  ///   - operation: The operation that failed, as a verb: "open", "write", "synchronize".
  ///   - code: The `errno`, or `notAFile` or `tooManyNames`.
  package init(operation: String, path: String, code: Int32) {
    let kind: Code =
      switch code {
      case ENOSPC, EDQUOT, EFBIG: .diskFull
      case EROFS, EACCES, EPERM: .readOnly
      default: .inputOutput
      }
    self.init(kind, file: path, systemCode: code) {
      "cannot \(operation) \(path): \(Self.message(of: code))"
    }
  }

  /// Another process holds a lock.
  package var isBusy: Bool { systemCode == EWOULDBLOCK }
  package var isNotFound: Bool { systemCode == ENOENT }
  /// A component of the path is a file where a directory was expected.
  package var isNotDirectory: Bool { systemCode == ENOTDIR }
  package var alreadyExists: Bool { systemCode == EEXIST }
  package var isReadOnlyFileSystem: Bool { systemCode == EROFS }

  /// The code for a pipe, a socket or a device where a regular file was expected.
  package static let notAFile: Int32 = -1

  /// The code for a directory with more names than are read: see `directoryNamesMax`.
  package static let tooManyNames: Int32 = -2

  /// A directory, a pipe, a socket or a device where a regular file was expected.
  package var isNotAFile: Bool { systemCode == EISDIR || systemCode == Self.notAFile }

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

/// The parts of a path.
package enum PathParts {
  /// The part after the last slash.
  package static func name(of path: String) -> Substring {
    path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
  }

  /// The path of the folder that contains what is at a path.
  package static func parent(of path: String) -> String {
    let path = withoutSlashes(path)
    let parent = path.dropLast(name(of: path).count + 1)
    return parent.isEmpty ? path.hasPrefix("/") ? "/" : "." : String(parent)
  }

  /// The path without the slashes at its end.
  package static func withoutSlashes(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
