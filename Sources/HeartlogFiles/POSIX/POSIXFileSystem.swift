import CHeartlogPlatform
import HeartlogFormat

/// The file system of the operating system.
package struct POSIXFileSystem: FileSystem {
  /// Who may access the files and directories that are created, subject to the process's umask.
  package enum Readers: Sendable {
    /// Only the owner: modes 0600 and 0700. What root creates is given to the owner of the containing directory, who could not
    /// read it otherwise.
    case owner
    /// Everybody: modes 0644 and 0755.
    case everybody
  }

  private let readers: Readers
  private let namesMax: Int

  package init(readers: Readers = .owner, namesMax: Int = directoryNamesMax) {
    self.readers = readers
    self.namesMax = namesMax
  }

  package func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    let call = SystemCall(mode == .createNew ? "create" : "open", path)
    let flags =
      switch mode {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    // Without `O_NONBLOCK`, opening a pipe instead of a file would block.
    let descriptor = try call.run { heartlog_open($0, flags | O_NONBLOCK, readers == .owner ? 0o600 : 0o644) }
    let file = POSIXOpenFile(descriptor: descriptor, path: path)
    if mode == .createNew, readers == .owner { try Self.giveToOwner(ofFolderOf: path, descriptor, call) }
    switch try file.status().st_mode & S_IFMT {
    case S_IFREG: return file
    // The system also opens directories for reading, and only the first read fails.
    case S_IFDIR: throw call.error(EISDIR)
    default: throw call.error(HeartlogError.notAFile)
    }
  }

  package func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    let call = SystemCall("rename", path)
    if newPath.utf8.contains(0) { throw call.error(EINVAL) }
    try call.run { (from: UnsafePointer<CChar>) in
      newPath.withCString { to in systemRename(from, to) }
    }
  }

  package func remove(_ path: String) throws(HeartlogError) {
    try SystemCall("remove", path).run { unlink($0) }
  }

  package func removeDirectory(_ path: String) throws(HeartlogError) {
    try SystemCall("remove", path).run { rmdir($0) }
  }

  package func createDirectory(_ path: String) throws(HeartlogError) {
    let call = SystemCall("create", path)
    try call.run { mkdir($0, readers == .owner ? 0o700 : 0o755) }
    guard readers == .owner, geteuid() == 0 else { return }
    let descriptor = try call.run { heartlog_open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) }
    defer { close(descriptor) }
    try Self.giveToOwner(ofFolderOf: path, descriptor, call)
  }

  package func createDirectoryForEverybody(_ path: String) throws(HeartlogError) {
    try SystemCall("create", path).run { mkdir($0, 0o755) }
  }

  /// Changes the owner of what root has just created to that of the containing directory.
  static func giveToOwner(ofFolderOf path: String, _ descriptor: Int32, _ call: SystemCall)
    throws(HeartlogError)
  {
    guard geteuid() == 0 else { return }
    var folder = stat()
    try SystemCall("inspect", PathParts.parent(of: path)).run(withPath: { stat($0, &folder) })
    var made = stat()
    try call.run { fstat(descriptor, &made) }
    // Some file systems assign everything to one user.
    guard made.st_uid != folder.st_uid else { return }
    try call.run { fchown(descriptor, folder.st_uid, folder.st_gid) }
  }

  package func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    let call = SystemCall("synchronize", path)
    let descriptor = try call.run { heartlog_open($0, O_RDONLY | O_DIRECTORY, 0) }
    defer { close(descriptor) }
    try call.run { heartlog_synchronize(descriptor) }
  }

  package func entries(of directory: String) throws(HeartlogError) -> [String] {
    let call = SystemCall("list", directory)
    let descriptor = try call.run { heartlog_open($0, O_RDONLY | O_DIRECTORY, 0) }
    var opened = fdopendir(descriptor)
    while opened == nil, errno == EINTR { opened = fdopendir(descriptor) }
    guard let stream = opened else {
      let code = errno
      close(descriptor)
      throw call.error(code)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      // Only errno distinguishes the end from an error.
      errno = 0
      guard let entry = readdir(stream) else {
        if errno == EINTR { continue }
        break
      }
      // The name ends with a zero byte inside the record; the declared array may extend beyond the record.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
      let characters = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      guard let name = String(validatingCString: characters), name != ".", name != ".." else { continue }
      guard names.count < namesMax else { throw call.error(HeartlogError.tooManyNames) }
      names.append(name)
    }
    let code = errno
    if code != 0 { throw call.error(code) }
    return names.sorted { $0.bytesPrecede($1) }
  }

  package func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    var found = heartlog_file_info()
    do throws(HeartlogError) {
      try SystemCall("inspect", path).run { heartlog_file_info($0, &found) }
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
    return FileInfo(
      kind: found.is_file != 0 ? .file : found.is_directory != 0 ? .directory : .other,
      size: found.size, inode: found.inode, birthTimeNanoseconds: found.birth_time_nanoseconds,
      owner: found.owner, permissions: UInt16(truncatingIfNeeded: found.permissions))
  }

  package func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(HeartlogError) -> Bool {
    let call = SystemCall("restrict", path)
    let descriptor: Int32
    do throws(HeartlogError) {
      // Without `O_NONBLOCK`, opening a FIFO would wait for a writer.
      let flags = O_RDONLY | O_NONBLOCK | (followingLink ? 0 : O_NOFOLLOW)
      descriptor = try call.run { heartlog_open($0, flags, 0) }
    } catch {
      // A symbolic link, or a file that not even its owner may read.
      if error.isNotFound || error.systemCode == ELOOP || error.code == .readOnly { return true }
      throw error
    }
    defer { close(descriptor) }
    var status = stat()
    try call.run { fstat(descriptor, &status) }
    guard status.st_uid == owner, status.st_mode & 0o077 != 0 else { return true }
    do throws(HeartlogError) { try call.run { fchmod(descriptor, status.st_mode & 0o700) } } catch {
      guard error.code == .readOnly || error.systemCode == ENOTSUP || error.systemCode == ENOSYS else {
        throw error
      }
      return false
    }
    try call.run { fstat(descriptor, &status) }
    return status.st_mode & 0o077 == 0
  }

  package func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    try POSIXLockFile.open(path)
  }

  package func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool {
    try SystemCall("inspect", path).run { heartlog_is_on_network($0) } == 1
  }

  /// The text of /etc/machine-id on Linux, the 16 bytes of the host's UUID on macOS, and empty elsewhere.
  package var machineID: [UInt8] {
    // Both are shorter: 32 hexadecimal digits and a line feed, or 16 bytes.
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      #if canImport(Darwin)
        let count = heartlog_host_identity(buffer.baseAddress, buffer.count)
        return [UInt8](buffer.prefix(count))
      #else
        guard let file = try? open("/etc/machine-id", .read),
          let count = try? file.read(into: buffer, at: 0)
        else { return [] }
        return [UInt8](buffer.prefix(count).prefix { $0 > UInt8(ascii: " ") })
      #endif
    }
  }

  package var processID: Int32 { heartlog_process_id() }

  package var userID: UInt32 { geteuid() }

  package func writeRefusal(at path: String) -> HeartlogError? {
    do throws(HeartlogError) {
      try SystemCall("write", path).run { faccessat(AT_FDCWD, $0, W_OK, AT_EACCESS) }
      return nil
    } catch {
      return error
    }
  }

  package func freeBytes(at path: String) -> UInt64? {
    var status = statvfs()
    do throws(HeartlogError) { try SystemCall("inspect", path).run { statvfs($0, &status) } } catch {
      return nil
    }
    return UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }

  /// Linux lists the locks in /proc/locks, as `1: FLOCK  ADVISORY  WRITE 4711 08:01:1048590 0 EOF`; a waiter has `->` after the number.
  /// The device is not compared: two locked files with the same inode number on two file systems are rare, and the answer is only shown.
  package func lockHolder(of path: String) -> LockHolder? {
    #if canImport(Darwin)
      return nil
    #else
      guard let inode = try? info(path)?.inode, let file = try? open("/proc/locks", .read),
        let bytes = try? file.bytes(Self.locksBytesMax, at: 0)
      else { return nil }
      for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count >= 6, words[1] == "FLOCK", words[5].hasSuffix(":\(inode)"),
          let process = Int32(words[4]), process > 0
        else { continue }
        return holder(process)
      }
      return nil
    #endif
  }

  /// Linux describes a process in /proc/<process>/stat as `4711 (heartlog) S …`. A name may contain parentheses and spaces.
  private func holder(_ process: Int32) -> LockHolder {
    guard let file = try? open("/proc/\(process)/stat", .read), let bytes = try? file.bytes(1_024, at: 0),
      let start = bytes.firstIndex(of: UInt8(ascii: "(")), let end = bytes.lastIndex(of: UInt8(ascii: ")")),
      start < end, end + 2 < bytes.count
    else { return LockHolder(process: process) }
    let name = String(decoding: bytes[(start + 1)..<end].filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
    return LockHolder(
      process: process, name: name,
      isStopped: [UInt8(ascii: "T"), UInt8(ascii: "t")].contains(bytes[end + 2]))
  }

  private static let locksBytesMax = 1 << 20

  package func isRunning(_ process: Int32) -> Bool {
    // 0 and negative numbers stand for groups of processes.
    guard process > 0 else { return false }
    return kill(process, 0) == 0 || errno == EPERM
  }

  /// The number of files that the process may have open at a time, according to its present limit.
  package static var openFilesMax: Int { Int(clamping: heartlog_open_files_max()) }
}

/// Calls `rename(2)`, which is hidden by the method of the same name.
private func systemRename(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 {
  rename(from, to)
}

final class POSIXOpenFile: OpenFile {
  private let descriptor: Int32
  private let path: String

  private let bytesPerCallMax: Int

  /// - Parameter bytesPerCallMax: Less than any system's limit for one call: Linux stops at 2 GiB less a page, Apple refuses more than
  ///   2 GiB.
  init(descriptor: Int32, path: String, bytesPerCallMax: Int = 1 << 30) {
    self.descriptor = descriptor
    self.path = path
    self.bytesPerCallMax = bytesPerCallMax
  }

  deinit { close(descriptor) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    let call = SystemCall("read", path)
    var done = 0
    while done < buffer.count {
      let position = try Self.position(offset, plus: done, call)
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...].prefix(bytesPerCallMax))
      let count = try call.run { pread(descriptor, rest.baseAddress, rest.count, position) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    let call = SystemCall("write", path)
    var done = 0
    while done < bytes.count {
      let position = try Self.position(offset, plus: done, call)
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(bytesPerCallMax))
      let count = try call.run { pwrite(descriptor, rest.baseAddress, rest.count, position) }
      // No system returns 0 for a regular file, but it must not cause an endless loop.
      if count == 0 { throw call.error(EIO) }
      done += count
    }
  }

  func synchronizeData() throws(HeartlogError) {
    try SystemCall("synchronize", path).run { heartlog_synchronize_data(descriptor) }
  }

  func synchronize() throws(HeartlogError) {
    try SystemCall("synchronize", path).run { heartlog_synchronize(descriptor) }
  }

  func truncate(to size: UInt64) throws(HeartlogError) {
    let call = SystemCall("truncate", path)
    let position = try Self.position(size, plus: 0, call)
    try call.run { ftruncate(descriptor, position) }
  }

  func size() throws(HeartlogError) -> UInt64 {
    UInt64(clamping: try status().st_size)
  }

  func inode() throws(HeartlogError) -> UInt64 {
    UInt64(try status().st_ino)
  }

  func map() throws(HeartlogError) -> FileMapping {
    let call = SystemCall("map", path)
    guard let size = Int(exactly: try status().st_size) else { throw call.error(EFBIG) }
    return try FileMapping(descriptor: descriptor, size: size, call)
  }

  func status() throws(HeartlogError) -> stat {
    var status = stat()
    try SystemCall("inspect", path).run { fstat(descriptor, &status) }
    return status
  }

  /// Converts to the system's signed 64-bit offsets.
  private static func position(
    _ offset: UInt64, plus done: Int, _ call: SystemCall
  ) throws(HeartlogError) -> off_t {
    let (sum, overflow) = offset.addingReportingOverflow(UInt64(done))
    guard !overflow, let position = off_t(exactly: sum) else { throw call.error(EFBIG) }
    return position
  }
}

/// A system call on a path, with what its error message needs.
package struct SystemCall {
  let operation: String
  let path: String

  package init(_ operation: String, _ path: String) {
    self.operation = operation
    self.path = path
  }

  package func error(_ code: Int32) -> HeartlogError {
    HeartlogError(operation: operation, path: path, code: code)
  }

  /// Makes the call, repeats it if a signal interrupted it, and throws if it returns -1.
  @discardableResult
  func run<Result: SignedInteger>(_ call: () -> Result) throws(HeartlogError) -> Result {
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
  ) throws(HeartlogError) -> Result {
    if path.withCString(strlen) != path.utf8.count { throw error(EINVAL) }
    return try run { path.withCString(call) }
  }
}
