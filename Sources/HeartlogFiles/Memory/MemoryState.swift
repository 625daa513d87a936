#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The state of a memory file system, guarded by its mutex.
package struct MemoryState: Sendable {
  package var volume = Volume()
  /// Nil if nothing is recorded.
  package var journal: Journal?
  var trace: [TraceOperation] = []
  /// Whether operations are added to `trace`, if there is a journal.
  var keepsTrace = true
  var faults: [Fault] = []

  var machineID: [UInt8] = [UInt8]("memory".utf8)
  var processID: Int32 = 1
  var onNetwork = false
  var isReadOnly = false
  /// The bytes that all files together may have; nil for any number.
  var capacity: Int?

  /// The number of opens of each file, so that a file without a name is freed with its last open.
  var openCounts: [UInt64: Int] = [:]
  /// The open that holds each file's lock.
  var lockHolders: [UInt64: UInt64] = [:]
  var nextLockOpen: UInt64 = 1
  /// What watches of each file call.
  var watches: [UInt64: [ObjectIdentifier: @Sendable () -> Void]] = [:]
  private let root: [Volume.Name]

  /// Prevents a wrong offset from using up the machine's memory.
  static let fileBytesMax: UInt64 = 1 << 32
  /// The limit of common file systems.
  private static let nameBytesMax = 255

  init(root: String, recording: Bool) {
    let names = Self.names(root)
    self.root = names
    var directory = Volume.root
    for name in names.dropLast() {
      let inode = volume.takeInode()
      volume.linkDirectory(inode, at: Volume.Location(directory: directory, name: name))
      directory = inode
    }
    if recording { journal = Journal(base: volume) }
  }

  package mutating func closeEverything() {
    openCounts = [:]
    lockHolders = [:]
    watches = [:]
    faults = []
    trace = []
  }

  // MARK: - Paths

  private static func names(_ path: String) -> [Volume.Name] {
    var path = path
    // Much of what a simulation does, and of what tests do in a debug build.
    return path.withUTF8 { path in
      var names: [Volume.Name] = []
      var rest = UnsafeRawBufferPointer(path)
      while let start = rest.baseAddress {
        let slash = memchr(start, Int32(UInt8(ascii: "/")), rest.count)
        let count = slash.map { UnsafeRawPointer($0) - start } ?? rest.count
        let bytes = [UInt8](UnsafeRawBufferPointer(start: start, count: count))
        if bytes == [UInt8(ascii: "."), UInt8(ascii: ".")] {
          _ = names.popLast()
        } else if !bytes.isEmpty, bytes != [UInt8(ascii: ".")] {
          names.append(Volume.Name(bytes: bytes))
        }
        if slash == nil { break }
        rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...])
      }
      return names
    }
  }

  func checkedNames(_ call: SystemCall) throws(FileError) -> [Volume.Name] {
    if call.path.isEmpty { throw call.error(ENOENT) }
    var path = call.path
    let hasZero = path.withUTF8 { path in path.baseAddress.map { memchr($0, 0, path.count) != nil } ?? false }
    if hasZero { throw call.error(EINVAL) }
    let names = Self.names(call.path)
    if names.contains(where: { $0.bytes.count > Self.nameBytesMax }) { throw call.error(ENAMETOOLONG) }
    return names
  }

  private func walk(_ names: some Sequence<Volume.Name>, _ call: SystemCall) throws(FileError) -> UInt64 {
    var inode = Volume.root
    for name in names {
      guard let directory = volume.directories[inode] else { throw call.error(ENOTDIR) }
      guard let child = directory[name] else { throw call.error(ENOENT) }
      inode = child
    }
    return inode
  }

  func existing(_ call: SystemCall) throws(FileError) -> UInt64 {
    try walk(try checkedNames(call), call)
  }

  func existingFile(_ call: SystemCall) throws(FileError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] != nil { throw call.error(EISDIR) }
    return inode
  }

  func existingDirectory(_ call: SystemCall) throws(FileError) -> UInt64 {
    let inode = try existing(call)
    if volume.directories[inode] == nil { throw call.error(ENOTDIR) }
    return inode
  }

  /// Returns the directory and the name of a path, whose last component need not exist; nil for the root.
  func location(_ call: SystemCall) throws(FileError) -> Volume.Location? {
    let names = try checkedNames(call)
    guard let name = names.last else { return nil }
    let directory = try walk(names.dropLast(), call)
    if volume.directories[directory] == nil { throw call.error(ENOTDIR) }
    return Volume.Location(directory: directory, name: name)
  }

  func shown(_ names: [Volume.Name]) -> String {
    let isInside = names.starts(with: root)
    let rest = isInside ? names.dropFirst(root.count) : names[...]
    if isInside && rest.isEmpty { return "." }
    let joined = rest.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: "/")
    return isInside ? joined : "/" + joined
  }

  func shown(_ location: Volume.Location) -> String {
    shown(volume.names(of: location.directory) + [location.name])
  }

  func shown(_ inode: UInt64) -> String {
    shown(volume.names(of: inode)) + (volume.isLinked(inode) ? "" : " (removed)")
  }

  // MARK: - Records

  private var isTracing: Bool { journal != nil && keepsTrace }

  /// Whether anybody looks at the path of an operation: finding it takes longer than most operations.
  var needsPaths: Bool { isTracing || !faults.isEmpty }

  /// The operation for `record`; nil if no trace is kept.
  func traced(_ operation: @autoclosure () -> TraceOperation) -> TraceOperation? {
    isTracing ? operation() : nil
  }

  mutating func record(_ operation: TraceOperation?) {
    if let operation { trace.append(operation) }
  }

  mutating func note(_ change: @autoclosure () -> Journal.Change) {
    if journal == nil { return }
    let pages = lockPages
    let entry = Journal.Entry(change: change(), lockPages: pages)
    journal?.entries.append(entry)
  }

  package var lockPages: [UInt64: [UInt8]] {
    var pages: [UInt64: [UInt8]] = [:]
    for inode in volume.lockFiles { pages[inode] = volume.files[inode] }
    return pages
  }

  mutating func strike(
    _ kind: FaultKind, _ paths: [String], _ call: SystemCall, _ operation: TraceOperation? = nil
  ) throws(FileError) {
    guard let fault = faults.strike(kind, paths) else { return }
    if let operation { record(.failed(operation)) }
    throw call.error(fault.code)
  }

  func refuseReadOnly(_ call: SystemCall) throws(FileError) {
    if isReadOnly { throw call.error(EROFS) }
  }
}
