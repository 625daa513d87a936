/// The operations for which a memory file system can inject a failure.
package enum FaultKind: Equatable, Sendable, CaseIterable {
  /// Opening a file that exists.
  case open
  /// Creating a file.
  case createFile
  case read
  case write
  case synchronizeData
  case synchronize
  case truncate
  case rename
  case remove
  case createDirectory
  case synchronizeDirectory
  case entries
  /// `openLock`.
  case openLock
  /// `tryLock`.
  case lock
  /// `watch` of a lock file.
  case watch
}

/// A failure to be injected.
struct Fault: Sendable {
  var kind: FaultKind
  var pathSuffix: String?
  /// The number of matching operations that still succeed.
  var skip: Int
  /// The number of matching operations that fail after those.
  var times: Int
  var code: Int32
  /// For a write, the number of bytes that are written before it fails.
  var partialBytes: Int?
}

extension [Fault] {
  /// Counts the operation against the first fault that matches it, and returns that fault if the operation
  /// must fail.
  mutating func strike(_ kind: FaultKind, _ paths: [String]) -> Fault? {
    let match = firstIndex { fault in
      fault.kind == kind
        && (fault.pathSuffix.map { suffix in paths.contains { $0.hasSuffix(suffix) } } ?? true)
    }
    guard let match else { return nil }
    if self[match].skip > 0 {
      self[match].skip -= 1
      return nil
    }
    let fault = self[match]
    self[match].times -= 1
    if self[match].times == 0 { remove(at: match) }
    return fault
  }
}
