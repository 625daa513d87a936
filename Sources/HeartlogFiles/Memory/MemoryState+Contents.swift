#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension MemoryState {
  mutating func read(
    _ inode: UInt64, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, _ call: SystemCall
  ) throws(FileError) -> Int {
    if Int64(exactly: offset) == nil { throw call.error(EFBIG) }
    if !faults.isEmpty { try strike(.read, [shown(inode)], call) }
    let bytes = volume.files[inode] ?? []
    guard let start = Int(exactly: offset), start < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - start)
    bytes.withUnsafeBytes { source in
      UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
    }
    return count
  }

  mutating func write(
    _ inode: UInt64, _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ call: SystemCall
  ) throws(FileError) {
    try refuseReadOnly(call)
    let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow, end <= Self.fileBytesMax, let start = Int(exactly: offset) else {
      throw call.error(EFBIG)
    }
    let path = needsPaths ? shown(inode) : ""
    if let fault = faults.strike(.write, [path]) {
      if let partial = fault.partialBytes, partial > 0 {
        put(UnsafeRawBufferPointer(rebasing: bytes.prefix(partial)), inode, at: start, path)
      }
      record(traced(.failed(.write(path: path, offset: offset, length: bytes.count))))
      throw call.error(fault.code)
    }
    let fitting = bytes.prefix(
      freeBytes.map { max(0, (volume.files[inode]?.count ?? 0) + $0 - start) } ?? bytes.count)
    if !fitting.isEmpty { put(UnsafeRawBufferPointer(rebasing: fitting), inode, at: start, path) }
    if fitting.count < bytes.count { throw call.error(ENOSPC) }
  }

  /// The bytes that all files have together.
  var fileBytes: Int { volume.files.present.reduce(0) { $0 + $1.count } }

  var freeBytes: Int? {
    capacity.map { $0 - fileBytes }
  }

  private mutating func put(_ bytes: UnsafeRawBufferPointer, _ inode: UInt64, at offset: Int, _ path: String)
  {
    note(.write(inode, offset: offset, bytes: [UInt8](bytes)))
    volume.write(bytes, to: inode, at: offset)
    record(traced(.write(path: path, offset: UInt64(offset), length: bytes.count)))
  }

  mutating func synchronize(_ inode: UInt64, dataOnly: Bool, _ call: SystemCall) throws(FileError) {
    if journal == nil && faults.isEmpty { return }
    let path = needsPaths ? shown(inode) : ""
    let operation = traced(dataOnly ? .synchronizeData(path: path) : .synchronize(path: path))
    do throws(FileError) {
      try strike(dataOnly ? .synchronizeData : .synchronize, [path], call, operation)
    } catch {
      note(.failedSynchronize(inode))
      throw error
    }
    note(.synchronize(inode))
    record(operation)
  }

  mutating func truncate(_ inode: UInt64, to size: UInt64, _ call: SystemCall) throws(FileError) {
    try refuseReadOnly(call)
    guard size <= Self.fileBytesMax, let count = Int(exactly: size) else { throw call.error(EFBIG) }
    let operation = traced(.truncate(path: shown(inode), size: size))
    if !faults.isEmpty { try strike(.truncate, [shown(inode)], call, operation) }
    note(.truncate(inode, size: count))
    volume.truncate(inode, to: count)
    record(operation)
  }
}
