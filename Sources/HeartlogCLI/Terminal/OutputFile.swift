import CHeartlogPlatform

/// Writes the output of a command to a path.
///
/// A regular file is replaced atomically and keeps its owner, mode, access list and attributes. Symbolic links are followed. Anything
/// else (a pipe, a device, a descriptor passed by a shell) is written directly.
enum OutputFile {
  /// Writes `bytes` to `path`, and creates the file if it does not exist.
  static func write(_ bytes: [UInt8], to path: String) throws {
    do {
      switch try location(of: path) {
      case .descriptor(let number): try writeThrough(bytes, to: try Handle(duplicating: number))
      case .stream: try writeThrough(bytes, to: try Handle(opening: path, O_WRONLY | O_NOCTTY))
      case .file(let file):
        try refuseStore(above: file)
        try replace(file, with: bytes)
      case .none(let file):
        try refuseStore(above: file)
        try make(file, with: bytes)
      }
    } catch let error as SystemError {
      // As on standard output: a closed pipe ends the command quietly.
      if error.number == Terminal.brokenPipe { throw OutputError.closed }
      throw failure(path, error.number)
    }
  }

  /// What a path refers to.
  private enum Location {
    /// A descriptor of this process, by its name in `/dev`.
    case descriptor(Int32)
    /// Something that is written directly.
    case stream
    /// A regular file, by a path that is not a link.
    case file(String)
    /// A file that does not exist yet, by a path that is not a link.
    case none(String)
  }

  /// As many links as Linux follows.
  private static let linksMax = 40

  private static func location(of path: String) throws -> Location {
    var end = path
    for _ in 0..<linksMax {
      if let number = descriptor(named: end) { return .descriptor(number) }
      guard let target = target(ofLink: end) else { break }
      end = target.utf8.first == UInt8(ascii: "/") ? target : "\(folder(of: end))/\(target)"
    }
    guard let found = try status(of: path) else {
      guard path.utf8.last != UInt8(ascii: "/") else { throw SystemError(number: EISDIR) }
      return .none(end)
    }
    if found.st_mode & S_IFMT == S_IFDIR { throw SystemError(number: EISDIR) }
    // The text of some links in /proc does not name their target: such a file cannot be replaced by name.
    guard found.st_mode & S_IFMT == S_IFREG, let named = try status(of: end),
      named.st_dev == found.st_dev, named.st_ino == found.st_ino
    else { return .stream }
    return .file(end)
  }

  /// The descriptor that a path names. Opening such a path would fail for a socket, and would restart at the beginning of a
  /// regular file that the shell has opened for several commands.
  private static func descriptor(named path: String) -> Int32? {
    switch path {
    case "/dev/stdin": return STDIN_FILENO
    case "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default:
      for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
        return Int32(path.dropFirst(folder.count))
      }
      return nil
    }
  }

  /// The target of a symbolic link; nil if the path is not a link.
  private static func target(ofLink path: String) -> String? {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &target, target.count)
    return count < 0
      ? nil : String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Refuses a file in the folder of a store, or in the folders that a store has there: it could replace one of the store's.
  private static func refuseStore(above file: String) throws {
    for folder in ["", "/..", "/../.."].map({ folder(of: file) + $0 }) {
      guard try status(of: "\(folder)/store") != nil, try status(of: "\(folder)/replicas") != nil else {
        continue
      }
      throw CommandError(
        .cannotCreate, "cannot write \(Quoted(file))", at: "it is inside a store",
        hint: "Name a file elsewhere.")
    }
  }

  // MARK: - Writing

  /// Writes to a stream. If it is a regular file, the shell has opened it and set its position.
  private static func writeThrough(_ bytes: [UInt8], to handle: borrowing Handle) throws {
    try handle.write(bytes)
    do { try handle.synchronize() } catch let error as SystemError {
      // Pipes, sockets and most devices cannot be synchronized.
      guard error.number == EINVAL || error.number == ENOTSUP || error.number == EROFS else { throw error }
    }
  }

  private static func make(_ file: String, with bytes: [UInt8]) throws {
    var draft = try Draft(in: folder(of: file), mode: 0o666)
    try draft.handle.write(bytes)
    try draft.handle.synchronize()
    try draft.publish(as: file, replacing: false)
    try synchronize(folder(of: file))
  }

  private static func replace(_ file: String, with bytes: [UInt8]) throws {
    // Fails if the file is not writable, even if its folder would allow replacing it.
    let old = try Handle(opening: file, O_WRONLY | O_NONBLOCK | O_NOCTTY)
    do {
      var draft = try Draft(in: folder(of: file), mode: 0o600)
      try draft.handle.takeAfter(old)
      try draft.handle.write(bytes)
      try draft.handle.synchronize()
      try draft.publish(as: file, replacing: true)
    } catch let error as SystemError {
      // The folder is not writable, or the owner cannot be kept, or something is mounted on the file.
      guard [EACCES, EPERM, EROFS, EBUSY].contains(error.number) else { throw error }
      return try overwrite(old, with: bytes)
    }
    try synchronize(folder(of: file))
  }

  /// Overwrites in place a file that cannot be replaced.
  private static func overwrite(_ old: borrowing Handle, with bytes: [UInt8]) throws {
    try old.write(bytes)
    try old.truncate(to: bytes.count)
    try old.synchronize()
  }

  /// Makes the directory entries of a folder durable.
  private static func synchronize(_ folder: String) throws {
    let handle: Handle
    do { handle = try Handle(opening: folder, O_RDONLY | O_DIRECTORY) } catch let error as SystemError {
      // The folder is writable but not readable.
      if error.number == EACCES { return }
      throw error
    }
    do { try handle.synchronize() } catch let error as SystemError {
      // Some file systems do not support fsync on a folder.
      guard error.number == EINVAL || error.number == ENOTSUP else { throw error }
    }
  }

  private static func failure(_ path: String, _ number: Int32) -> CommandError {
    if number == EISDIR {
      return CommandError(
        .cannotCreate, "cannot write \(Quoted(path))", at: "it is a folder", hint: "Name a file in it.")
    }
    return CommandError(
      [ENOSPC, EDQUOT, EFBIG, EIO].contains(number) ? .inputOutput : .cannotCreate,
      "cannot write \(Quoted(path))", at: Terminal.reason(number))
  }
}

/// A system call that failed.
private struct SystemError: Error {
  let number: Int32

  /// The result of a system call.
  @discardableResult
  static func check(_ result: Int32) throws -> Int32 {
    guard result >= 0 else { throw SystemError(number: errno) }
    return result
  }
}

/// The status of a file, with links followed; nil if it does not exist.
private func status(of path: String) throws -> stat? {
  var status = stat()
  if stat(path, &status) == 0 { return status }
  guard errno == ENOENT else { throw SystemError(number: errno) }
  return nil
}

private func status(of descriptor: Int32) throws -> stat {
  var status = stat()
  try SystemError.check(fstat(descriptor, &status))
  return status
}

/// An open file, closed at the end of its lifetime.
private struct Handle: ~Copyable {
  let descriptor: Int32

  init(taking descriptor: Int32) { self.descriptor = descriptor }

  init(opening path: String, _ flags: Int32) throws {
    var descriptor: Int32
    // Opening a pipe waits for a reader.
    repeat { descriptor = open(path, flags | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
    self.descriptor = try SystemError.check(descriptor)
  }

  init(duplicating descriptor: Int32) throws {
    self.descriptor = try SystemError.check(fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) throws {
    if let number = bytes.withUnsafeBytes({ Terminal.writeAll($0, to: descriptor) }) {
      throw SystemError(number: number)
    }
  }

  func truncate(to count: Int) throws { try SystemError.check(ftruncate(descriptor, off_t(count))) }

  func synchronize() throws { try SystemError.check(heartlog_synchronize(descriptor)) }

  /// Copies the owner, mode and attributes of another file.
  func takeAfter(_ old: borrowing Handle) throws {
    let wanted = try status(of: old.descriptor)
    let own = try status(of: descriptor)
    if own.st_uid != wanted.st_uid || own.st_gid != wanted.st_gid {
      try SystemError.check(fchown(descriptor, wanted.st_uid, wanted.st_gid))
    }
    // After the owner, because changing it clears the set-id bits; before the access list, because the mode is part of it.
    try SystemError.check(fchmod(descriptor, wanted.st_mode & 0o7777))
    try SystemError.check(heartlog_copy_attributes(old.descriptor, descriptor))
  }
}

/// A temporary file that replaces another one when it is complete, and is removed otherwise.
private struct Draft: ~Copyable {
  let handle: Handle
  private let folder: String
  /// Nil for a file without a name, which vanishes if the process is killed.
  private var name: String?

  init(in folder: String, mode: mode_t) throws {
    self.folder = folder
    let unnamed = heartlog_open_unnamed(folder, mode)
    if unnamed >= 0 {
      handle = Handle(taking: unnamed)
      return
    }
    guard errno == ENOTSUP else { throw SystemError(number: errno) }
    let name = Self.name(in: folder)
    handle = Handle(
      taking: try SystemError.check(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)))
    self.name = name
  }

  deinit { if let name { unlink(name) } }

  /// Moves the file to its final path.
  mutating func publish(as file: String, replacing: Bool) throws {
    if name == nil {
      if !replacing, heartlog_link_unnamed(handle.descriptor, file) == 0 { return }
      // Only a file with a name can replace another one.
      let name = Self.name(in: folder)
      try SystemError.check(heartlog_link_unnamed(handle.descriptor, name))
      self.name = name
    }
    guard let name else { return }
    try SystemError.check(rename(name, file))
    self.name = nil
  }

  /// A short name that does not depend on the name of the file, which may be as long as names can be.
  private static func name(in folder: String) -> String {
    "\(folder)/.heartlog-\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp"
  }
}
