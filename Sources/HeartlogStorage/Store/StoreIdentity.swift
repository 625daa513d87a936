import HeartlogEvents
import HeartlogFiles

/// What the file `store` says: who writes here, and in which folder on which machine.
public struct StoreIdentity: Equatable, Sendable {
  public var replica: ReplicaID
  /// What people call this replica; at most 127 bytes without control characters.
  public var name: String
  var place: Place
  /// Lines of a later version, kept as they are.
  var laterLines: [String] = []

  /// Where a store stands: a copy or a restored folder stands elsewhere.
  struct Place: Equatable, Sendable {
    var machine: Digest
    var inode: UInt64
    /// Nanoseconds since 1970, 0 where unknown.
    var birthTime: Int64

    static func of(_ directory: StoreDirectory) throws(StorageError) -> Place {
      let machine = SHA256Hasher.digest(of: directory.fileSystem.machineID)
      let info = try onFiles { () throws(FileError) in try directory.fileSystem.info(directory.path) }
      return Place(machine: machine, inode: info?.inode ?? 0, birthTime: info?.birthTimeNanoseconds ?? 0)
    }

    func isSame(as other: Place) -> Bool {
      machine == other.machine && inode == other.inode
        && (birthTime == other.birthTime || birthTime == 0 || other.birthTime == 0)
    }
  }

  static let formatVersion = 1

  func encoded() -> [UInt8] {
    var text = "heartlog \(Self.formatVersion)\nreplica \(replica)\nname \(name)\nmachine \(place.machine)\n"
    text += "inode \(place.inode)\nbirth \(place.birthTime)\n"
    for line in laterLines { text += line + "\n" }
    text += "checksum \(Self.checksum(text))\n"
    return Array(text.utf8)
  }

  private static func checksum(_ text: String) -> String {
    let checksum = Array(text.utf8).withUnsafeBytes { Checksum.of($0, seed: 0) }
    return HybridTimestamp(rawValue: checksum).description
  }

  /// Reads the identity of the store at `directory`.
  static func read(_ directory: StoreDirectory) throws(StorageError) -> StoreIdentity {
    try readWithFile(directory).identity
  }

  /// Reads it, and leaves its file open: as long as it is, no later one has its inode.
  static func readWithFile(
    _ directory: StoreDirectory
  ) throws(StorageError) -> (identity: StoreIdentity, file: any OpenFile) {
    let path = directory.identityPath
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      if error.isNotFound || error.isNotDirectory {
        throw StorageError(.notAStore, "there is no store at \(directory.path)", file: directory.path)
      }
      throw StorageError(error)
    }
    let bytes = try onFiles { () throws(FileError) in try file.bytes(16_384, at: 0) }
    return (try decode(bytes, file: path), file)
  }

  static func decode(_ bytes: [UInt8], file: String) throws(StorageError) -> StoreIdentity {
    let damaged = StorageError(.corrupt, "the store's identity is damaged", file: file)
    guard bytes.starts(with: Array("heartlog ".utf8)) else {
      throw StorageError(.notAStore, "this file does not belong to a Heartlog store", file: file)
    }
    // Bytes, not characters: a name may begin with a mark that combines with the space before it.
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, let last = lines.popLast(),
      let covered = String(validating: bytes[..<last.startIndex], as: UTF8.self),
      Array(last) == Array("checksum \(checksum(covered))".utf8)
    else { throw damaged }
    var rest = lines[...]
    func value(_ key: String) throws(StorageError) -> String {
      let start = Array("\(key) ".utf8)
      guard let line = rest.popFirst(), line.starts(with: start),
        let value = String(validating: line.dropFirst(start.count), as: UTF8.self)
      else { throw damaged }
      return value
    }
    guard let version = Int(try value("heartlog")), version >= 1 else { throw damaged }
    guard version <= formatVersion else {
      throw StorageError(
        .newerFormat,
        "a store of format version \(version), this Heartlog reads up to \(formatVersion)", file: file)
    }
    guard let replica = ReplicaID(try value("replica")) else { throw damaged }
    let name = try value("name")
    guard let machine = Digest(try value("machine")), let inode = UInt64(try value("inode")),
      let birth = Int64(try value("birth")), isName(name)
    else { throw damaged }
    return StoreIdentity(
      replica: replica, name: name, place: Place(machine: machine, inode: inode, birthTime: birth),
      laterLines: rest.compactMap { String(validating: $0, as: UTF8.self) })
  }

  /// Whether `name` may be the name of a replica.
  static func isName(_ name: String) -> Bool {
    name.utf8.count <= SegmentHeader.nameBytesMax
      && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
