/// What a memory file system was asked to do and did, in order. Plain opens and reads are not recorded. The
/// path of an operation on an open file is the name that the file has at that moment.
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
  /// One of the above that an injected fault made fail. Of a write of which a part is in place, that part
  /// stands before it as a write.
  indirect case failed(TraceOperation)

  /// One line that stays as it is: "write replicas/1.open 4096+73".
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
