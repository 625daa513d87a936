import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// `flock` belongs to the open file description: each `open` here makes its own, so that two stores in one
/// process exclude each other as two processes do.
///
/// Unchecked: the pointer is fixed for the object's life, and the words are only touched atomically.
final class POSIXLockFile: LockFile, @unchecked Sendable {
  private let path: String
  /// -1 where there is no file.
  private let descriptor: Int32
  /// `lockPageBytes` of shared mapping; nil where there is no byte to map. The file is never shortened, which
  /// would make touching it a fault.
  private let page: UnsafeMutableRawPointer?
  /// Why it cannot be written, 0 where it can.
  private let refusal: Int32

  private init(path: String, descriptor: Int32, page: UnsafeMutableRawPointer?, refusal: Int32) {
    self.path = path
    self.descriptor = descriptor
    self.page = page
    self.refusal = refusal
  }

  deinit {
    if let page { munmap(page, lockPageBytes) }
    if descriptor >= 0 { close(descriptor) }
  }

  static func open(_ path: String) throws(FileError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    do throws(FileError) {
      let descriptor = try call.run { heartlog_open($0, O_RDWR | O_CREAT, 0o644) }
      return try map(descriptor, path, refusal: 0)
    } catch {
      guard error.isReadOnly else { throw error }
      do throws(FileError) {
        let descriptor = try call.run { heartlog_open($0, O_RDONLY, 0) }
        return try map(descriptor, path, refusal: error.code)
      } catch let second {
        guard second.isNotFound else { throw second }
        return POSIXLockFile(path: path, descriptor: -1, page: nil, refusal: error.code)
      }
    }
  }

  private static func map(
    _ descriptor: Int32, _ path: String, refusal: Int32
  ) throws(FileError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    do throws(FileError) {
      if refusal == 0 { try fill(descriptor, call) }
      var page: UnsafeMutableRawPointer?
      // The bytes behind the end of a short file read as zeros in its last page; a file of none has no page.
      if try size(of: descriptor, call) > 0 {
        let protection = refusal == 0 ? PROT_READ | PROT_WRITE : PROT_READ
        page = mmap(nil, lockPageBytes, protection, MAP_SHARED, descriptor, 0)
        if page == MAP_FAILED { throw call.error(errno) }
      }
      return POSIXLockFile(path: path, descriptor: descriptor, page: page, refusal: refusal)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Writes the zeros that a new file lacks: a mapped hole on a full disk would be a fault at the first store.
  /// Under the lock, so that nobody's words are written over; whoever holds it longer has filled the page before.
  private static func fill(_ descriptor: Int32, _ call: SystemCall) throws(FileError) {
    if try size(of: descriptor, call) >= lockPageBytes { return }
    try call.run { flock(descriptor, LOCK_EX) }
    defer { _ = flock(descriptor, LOCK_UN) }
    var size = try size(of: descriptor, call)
    let zeros = [UInt8](repeating: 0, count: lockPageBytes)
    while size < lockPageBytes {
      let count = try call.run { pwrite(descriptor, zeros, lockPageBytes - size, off_t(size)) }
      if count == 0 { throw call.error(EIO) }
      size += count
    }
  }

  private static func size(of descriptor: Int32, _ call: SystemCall) throws(FileError) -> Int {
    var status = stat()
    try call.run { fstat(descriptor, &status) }
    return Int(status.st_size)
  }

  func tryLock() throws(FileError) -> Bool {
    let call = SystemCall("lock", path)
    if refusal != 0 { throw call.error(refusal) }
    do throws(FileError) {
      try call.run { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.code == EWOULDBLOCK { return false }
      throw error
    }
  }

  func unlock() {
    if descriptor >= 0 { _ = flock(descriptor, LOCK_UN) }
  }

  func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < lockPageWords)
    guard let page else { return 0 }
    return heartlog_load_acquire(page.assumingMemoryBound(to: UInt64.self) + word)
  }

  func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < lockPageWords && refusal == 0)
    guard let page else { return }
    heartlog_store_release(page.assumingMemoryBound(to: UInt64.self) + word, value)
  }
}
