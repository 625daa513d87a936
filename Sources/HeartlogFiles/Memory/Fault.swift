/// The operations that a memory file system can be told to fail.
package enum FaultKind: Equatable, Sendable, CaseIterable {
  /// Opening a file that exists.
  case open
  /// Making one.
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
}

/// A failure that waits for its moment.
struct Fault: Sendable {
  var kind: FaultKind
  var pathSuffix: String?
  /// Matching operations that still pass.
  var skip: Int
  /// Matching operations that fail after those.
  var times: Int
  var code: Int32
  /// Of a write, the bytes that are put in place all the same.
  var partialBytes: Int?
}

extension [Fault] {
  /// Counts the operation against the first fault that it matches; that fault where it strikes now.
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
