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
    let path = directory.identityPath
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      if error.isNotFound || error.isNotDirectory {
        throw StorageError(.notAStore, "there is no store at \(directory.path)", file: directory.path)
      }
      throw StorageError(error)
    }
    let bytes = try onFiles { () throws(FileError) in try file.bytes(16_384, at: 0) }
    return try decode(bytes, file: path)
  }

  static func decode(_ bytes: [UInt8], file: String) throws(StorageError) -> StoreIdentity {
    let damaged = StorageError(.corrupt, "the store's identity is damaged", file: file)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw damaged }
    guard text.hasPrefix("heartlog ") else {
      throw StorageError(.notAStore, "this file does not belong to a Heartlog store", file: file)
    }
    guard let cut = text.range(ofLast: "checksum "), text.hasSuffix("\n") else { throw damaged }
    let covered = String(text[..<cut])
    guard text[cut...] == "checksum \(checksum(covered))\n" else { throw damaged }
    var lines = covered.split(separator: "\n", omittingEmptySubsequences: false).dropLast()[...]
    func value(_ key: String) throws(StorageError) -> String {
      guard let line = lines.popFirst(), line.hasPrefix(key + " ") else { throw damaged }
      return String(line.dropFirst(key.count + 1))
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
      laterLines: lines.map(String.init))
  }

  /// Whether `name` may be the name of a replica.
  static func isName(_ name: String) -> Bool {
    name.utf8.count <= SegmentHeader.nameBytesMax
      && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

extension String {
  /// Where the last occurrence of `text` starts.
  fileprivate func range(ofLast text: String) -> Index? {
    var found: Index?
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(text) { found = index }
      index = self.index(after: index)
    }
    return found
  }
}
