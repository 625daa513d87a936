import HeartlogFormat
import HeartlogFiles

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
      let info = try heartlogErrors { try directory.fileSystem.info(directory.path) }
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
      guard error.isNotFound || error.isNotDirectory else { throw HeartlogError(error) }
      try directory.refuseEvicted()
      if error.isNotFound, try isMissing(in: directory) { throw missing(path) }
      throw HeartlogError(.notAStore, "there is no store at \(directory.path)", file: directory.path)
    }
    let bytes = try heartlogErrors { try file.bytes(bytesMax, at: 0) }
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
    return try heartlogErrors {
      try directory.fileSystem.info(directory.identityPath) == nil
    }
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
