/// An operation that was requested of a memory file system, in order. Opens of existing files and reads are
/// not recorded. The path of an operation on an open file is the file's name at that moment.
package enum TraceOperation: Equatable, Sendable, CustomStringConvertible {
  case createFile(path: String)
  case write(path: String, offset: UInt64, length: Int)
  case synchronizeData(path: String)
  case synchronize(path: String)
  case truncate(path: String, size: UInt64)
  case rename(from: String, to: String)
  case remove(path: String)
  case createDirectory(path: String)
  case synchronizeDirectory(path: String)
  case lock(path: String)
  case unlock(path: String)
  /// One of the above that failed because of an injected fault. If part of a write was made, that part is
  /// recorded before it as a write.
  indirect case failed(TraceOperation)

  /// One line in a stable format: "write replicas/1.open 4096+73".
  package var description: String {
    switch self {
    case .createFile(let path): "createFile \(path)"
    case .write(let path, let offset, let length): "write \(path) \(offset)+\(length)"
    case .synchronizeData(let path): "synchronizeData \(path)"
    case .synchronize(let path): "synchronize \(path)"
    case .truncate(let path, let size): "truncate \(path) \(size)"
    case .rename(let from, let to): "rename \(from) \(to)"
    case .remove(let path): "remove \(path)"
    case .createDirectory(let path): "createDirectory \(path)"
    case .synchronizeDirectory(let path): "synchronizeDirectory \(path)"
    case .lock(let path): "lock \(path)"
    case .unlock(let path): "unlock \(path)"
    case .failed(let operation): "failed \(operation)"
    }
  }
}
