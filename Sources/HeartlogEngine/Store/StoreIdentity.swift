import HeartlogFiles
import HeartlogFormat

/// The contents of the file `store`: the replica that writes the store, and its folder and machine.
package struct StoreIdentity: Equatable, Sendable {
  package var replica: ReplicaID
  /// The user-visible name of this replica; at most 127 bytes without control characters.
  package var name: String
  var location: Location
  /// Nil in a store that has no key, or was made before there were vaults and was not written since.
  package var vault: VaultMembership?
  /// Lines of a later version, kept unchanged.
  var laterLines: [String] = []

  /// The location of a store. A copied or restored folder has another one.
  struct Location: Equatable, Sendable {
    var machine: Digest
    var inode: UInt64
    /// Nanoseconds since 1970; 0 if unknown.
    var birthTime: Int64

    static func of(_ directory: StoreDirectory) throws(HeartlogError) -> Location {
      let machine = SHA256Hasher.digest(of: directory.fileSystem.machineID)
      let info = try directory.fileSystem.info(directory.path)
      return Location(machine: machine, inode: info?.inode ?? 0, birthTime: info?.birthTimeNanoseconds ?? 0)
    }

    func isSame(as other: Location) -> Bool {
      machine == other.machine && inode == other.inode
        && (birthTime == other.birthTime || birthTime == 0 || other.birthTime == 0)
    }
  }

  package func encoded() -> [UInt8] {
    var lines = [
      "replica \(replica)", "name \(name)", "machine \(location.machine)", "inode \(location.inode)",
      "birth \(location.birthTime)",
    ]
    lines += vault?.lines ?? []
    lines += laterLines
    return ChecksummedText.encoded(lines)
  }

  /// Reads the identity of the store at `directory`.
  static func read(_ directory: StoreDirectory) throws(HeartlogError) -> StoreIdentity {
    try readWithFile(directory).identity
  }

  /// Reads the identity and leaves its file open: while it is open, its inode number is not reused.
  static func readWithFile(
    _ directory: StoreDirectory
  ) throws(HeartlogError) -> (identity: StoreIdentity, file: any OpenFile) {
    let path = directory.identityPath
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      guard error.isNotFound || error.isNotDirectory else { throw error }
      try directory.refuseEvicted()
      if error.isNotFound, try isMissing(in: directory) { throw missing(path) }
      throw HeartlogError(.notAStore, "there is no store at \(directory.path)", file: directory.path)
    }
    let bytes = try file.bytes(bytesMax, at: 0)
    do { return (try decode(bytes, file: path), file) } catch {
      // In a folder with a store's other files, this file was the store's, whatever it contains now.
      guard error.code == .notAStore, try directory.hasStoreFiles() else { throw error }
      throw damaged(path)
    }
  }

  static let bytesMax = 16_384

  /// Whether there are streams but no file `store`, which is created before the first stream.
  static func isMissing(in directory: StoreDirectory) throws(HeartlogError) -> Bool {
    guard try !directory.replicas().isEmpty else { return false }
    return try directory.fileSystem.info(directory.identityPath) == nil
  }

  static func missing(_ file: String) -> HeartlogError {
    HeartlogError(.corrupt, "the file that identifies the writer is missing", file: file)
  }

  private static func damaged(_ file: String) -> HeartlogError {
    HeartlogError(.corrupt, "the store's identity is damaged", file: file)
  }

  package static func decode(_ bytes: [UInt8], file: String) throws(HeartlogError) -> StoreIdentity {
    guard bytes.starts(with: ChecksummedText.start) else {
      throw HeartlogError(.notAStore, "this file does not belong to a Heartlog store", file: file)
    }
    guard let text = ChecksummedText(bytes) else { throw damaged(file) }
    try text.checkVersion(of: "a store", file: file)
    var rest = text.lines[...]
    func value(_ key: String) throws(HeartlogError) -> String {
      guard let line = rest.popFirst(), let value = ChecksummedText.value(of: key, in: line) else {
        throw damaged(file)
      }
      return value
    }
    guard let replica = ReplicaID(try value("replica")) else { throw damaged(file) }
    let name = try value("name")
    guard let machine = Digest(try value("machine")), let inode = UInt64(try value("inode")),
      let birth = Int64(try value("birth")), isName(name)
    else { throw damaged(file) }
    let vault: VaultMembership?
    do { vault = try VaultMembership(&rest) } catch { throw damaged(file) }
    return StoreIdentity(
      replica: replica, name: name, location: Location(machine: machine, inode: inode, birthTime: birth),
      vault: vault, laterLines: rest.compactMap { String(validating: $0, as: UTF8.self) })
  }

  static func checkName(_ name: String) throws(HeartlogError) {
    guard isName(name) else {
      throw HeartlogError(
        .invalid, "a name has at most \(SegmentHeader.nameBytesMax) bytes and no control characters")
    }
  }

  /// Whether `name` is a valid replica name.
  static func isName(_ name: String) -> Bool {
    name.utf8.count <= SegmentHeader.nameBytesMax
      && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

extension CommitLog {
  /// Creates an empty store at `path`, and the missing folders above it.
  ///
  /// If the folder exists, it must be empty or contain only the remains of an interrupted creation.
  ///
  /// - Parameter vault: The vault that the store belongs to; a new one if nil.
  /// - Throws: `exists` if a store or something else is already there.
  package static func create(
    at path: String, on fileSystem: any FileSystem, name: String, vault: VaultMembership? = nil,
    options: StorageOptions = StorageOptions()
  ) throws(HeartlogError) {
    try StoreIdentity.checkName(name)
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    try directory.refuseEvicted()
    try fileSystem.createParents(of: path)
    guard try !fileSystem.isOnNetwork(directory.parent) else {
      throw HeartlogError(.readOnly, LogAccess.networkReason, file: path)
    }
    try makeFolder(directory)
    try checkIsFree(directory)
    try directory.closeToOthers()
    let lock = try StoreLock(directory, options)
    try lock.acquire(waitingAtMost: options.lockMillisecondsMax)
    defer { lock.release() }
    // Another process may have created a store in the meantime.
    let leftovers = try checkIsFree(directory)
    if try fileSystem.info(directory.replicasPath) == nil {
      try fileSystem.createDirectory(directory.replicasPath)
    }
    for name in leftovers { try fileSystem.remove("\(path)/\(name)") }
    // The identity is written last: if it exists, everything else does.
    try fileSystem.synchronizeDirectory(path)
    var generator = options.generator
    let key = try DeviceKeys(directory, options).makeKey()
    let identity = StoreIdentity(
      replica: key?.publicKey.replica ?? .random(using: &generator), name: name,
      location: try StoreIdentity.Location.of(directory),
      vault: key.map { _ in vault ?? VaultMembership(.random(using: &generator)) })
    try directory.replaceFile(directory.identityPath, with: identity.encoded(), suffix: generator.next())
  }

  private static func makeFolder(_ directory: StoreDirectory) throws(HeartlogError) {
    let fileSystem = directory.fileSystem
    do throws(HeartlogError) { try fileSystem.createDirectory(directory.path) } catch {
      guard error.alreadyExists else { throw error }
    }
    try fileSystem.synchronizeNames(above: directory.path)
  }

  /// Checks that the folder contains nothing but the remains of an interrupted creation. Returns its
  /// unfinished files.
  @discardableResult
  private static func checkIsFree(_ directory: StoreDirectory) throws(HeartlogError) -> [String] {
    let path = directory.path
    let entries: [String]
    do { entries = try directory.fileSystem.entries(of: path) } catch {
      if error.isNotDirectory { throw HeartlogError(.exists, "\(path) is a file", file: path) }
      throw error
    }
    if entries.contains("store") {
      throw HeartlogError(.exists, "there is already a store at \(path)", file: path)
    }
    if try StoreIdentity.isMissing(in: directory) { throw StoreIdentity.missing(directory.identityPath) }
    let unfinished = entries.filter { $0.hasPrefix("store.tmp-") }
    guard entries.allSatisfy({ ["lock", "replicas", "keys"].contains($0) || unfinished.contains($0) }) else {
      throw HeartlogError(.exists, "the folder \(path) is not empty", file: path)
    }
    return unfinished
  }
}

/// The format of the files `store` and `ended`: lines of text, the first with the format version, the last with a checksum of the
/// others.
struct ChecksummedText {
  let version: Int
  /// The lines between the version and the checksum. Bytes, not characters: a name may begin with a mark that combines with the space
  /// before it.
  let lines: [ArraySlice<UInt8>]

  static let formatVersion = 1
  /// The start of every such file, in any version.
  static let start = Array("heartlog ".utf8)

  /// Parses a file; nil if it is damaged.
  init?(_ bytes: [UInt8]) {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, let last = lines.popLast(),
      let covered = String(validating: bytes[..<last.startIndex], as: UTF8.self),
      Array(last) == Array(Self.checksumLine(of: covered).utf8), let first = lines.first,
      let version = Self.version(in: first)
    else { return nil }
    self.version = version
    self.lines = Array(lines.dropFirst())
  }

  static func encoded(_ lines: [String]) -> [UInt8] {
    let text = (["heartlog \(formatVersion)"] + lines).map { $0 + "\n" }.joined()
    return Array((text + checksumLine(of: text) + "\n").utf8)
  }

  /// The length of the last line, including its line feed.
  static let checksumLineBytes = "checksum 0123456789abcdef\n".utf8.count

  private static func checksumLine(of text: String) -> String {
    let checksum = Array(text.utf8).withUnsafeBytes { XXH3.hash($0, seed: 0) }
    return "checksum \(HybridTimestamp(rawValue: checksum))"
  }

  /// The version in a first line; nil if there is none.
  static func version(in line: ArraySlice<UInt8>) -> Int? {
    value(of: "heartlog", in: line).flatMap { Int($0) }.flatMap { $0 >= 1 ? $0 : nil }
  }

  /// The rest of a line after `key` and a space; nil if the line has another key.
  static func value(of key: String, in line: ArraySlice<UInt8>) -> String? {
    let start = Array("\(key) ".utf8)
    guard line.starts(with: start) else { return nil }
    return String(validating: line.dropFirst(start.count), as: UTF8.self)
  }

  /// Checks that this version can read the file.
  ///
  /// - Parameter what: The kind of contents, with its article.
  /// - Throws: `newerFormat`.
  func checkVersion(of what: String, file: String) throws(HeartlogError) {
    guard version <= Self.formatVersion else {
      throw HeartlogError(
        .newerFormat,
        "\(what) of format version \(version); this Heartlog reads versions up to \(Self.formatVersion)",
        file: file)
    }
  }
}
