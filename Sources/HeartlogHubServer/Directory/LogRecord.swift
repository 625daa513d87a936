import Heartlog
import HeartlogFormat

/// A record of the log. The bytes of an object are not part of it: they end the record.
enum LogRecord: Hashable {
  case object(VaultID, number: UInt64, owner: ReplicaID, name: String, byteCount: Int)
  case deletion(VaultID, number: UInt64, name: String)
  case vault(VaultID, generation: UInt64)
  /// The keys from now on. What went with a removed one was deleted before.
  case keys(VaultID, AdmittedKeys)
  case invitation(VaultID, word: Digest)
  /// The end of a vault.
  case removal(VaultID)

  private var kind: UInt8 {
    switch self {
    case .object: 1
    case .deletion: 2
    case .vault: 3
    case .keys: 4
    case .invitation: 5
    case .removal: 6
    }
  }

  var vault: VaultID {
    switch self {
    case .object(let vault, _, _, _, _), .deletion(let vault, _, _), .vault(let vault, _),
      .keys(let vault, _), .invitation(let vault, _), .removal(let vault):
      vault
    }
  }

  /// Appends the record to a frame, with the bytes of its object.
  func append(to frame: inout [UInt8], bytes: [UInt8] = []) {
    let start = frame.count
    frame.append(contentsOf: [0, 0, 0, 0, kind])
    frame.append(contentsOf: vault.bytes)
    switch self {
    case .object(_, let number, let owner, let name, let byteCount):
      precondition(byteCount == bytes.count, "the bytes of the object")
      Self.append(number, to: &frame)
      frame.append(contentsOf: owner.bytes)
      Self.append(name, to: &frame)
      frame.append(contentsOf: bytes)
    case .deletion(_, let number, let name):
      Self.append(number, to: &frame)
      Self.append(name, to: &frame)
    case .vault(_, let generation): Self.append(generation, to: &frame)
    case .keys(_, let admitted):
      Self.append(admitted.keys.map(\.bytes), to: &frame)
      Self.append(admitted.removed.map(\.bytes), to: &frame)
      frame.append(contentsOf: admitted.root?.bytes ?? [])
    case .invitation(_, let word): frame.append(contentsOf: word.bytes)
    case .removal: break
    }
    let count = UInt32(frame.count - start - 4).littleEndian
    withUnsafeBytes(of: count) { count in frame.replaceSubrange(start..<start + 4, with: count) }
  }

  private static func append(_ value: UInt64, to frame: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { frame.append(contentsOf: $0) }
  }

  private static func append(_ name: String, to frame: inout [UInt8]) {
    precondition(name.utf8.count <= 255, "the length of a name")
    frame.append(UInt8(name.utf8.count))
    frame.append(contentsOf: name.utf8)
  }

  private static func append(_ values: [[UInt8]], to frame: inout [UInt8]) {
    withUnsafeBytes(of: UInt16(values.count).littleEndian) { frame.append(contentsOf: $0) }
    for value in values { frame.append(contentsOf: value) }
  }

  /// Reads the next record of a frame.
  ///
  /// - Returns: The record, and how many bytes of the frame stand before the bytes of its object.
  static func read(_ frame: inout ByteReader) throws(MalformedError) -> (record: LogRecord, offset: Int) {
    let count = Int(try frame.u32())
    let start = frame.offset
    var reader = ByteReader(try frame.take(count))
    let kind = try reader.u8()
    guard let vault = VaultID(bytes: Array(try reader.take(16))) else {
      throw MalformedError("a vault has 16 bytes")
    }
    let record: LogRecord
    switch kind {
    case 1:
      let number = try reader.u64()
      let owner = try reader.replica()
      let name = try name(&reader)
      record = .object(vault, number: number, owner: owner, name: name, byteCount: reader.remaining)
      return (record, start + reader.offset)
    case 2: record = .deletion(vault, number: try reader.u64(), name: try name(&reader))
    case 3: record = .vault(vault, generation: try reader.u64())
    case 4: record = .keys(vault, try keys(&reader))
    case 5: record = .invitation(vault, word: try reader.digest())
    case 6: record = .removal(vault)
    default: throw MalformedError("a record of kind \(kind)")
    }
    try reader.end()
    return (record, start + count)
  }

  private static func name(_ reader: inout ByteReader) throws(MalformedError) -> String {
    let bytes = try reader.take(Int(try reader.u8()))
    guard let name = String(validating: bytes, as: UTF8.self) else {
      throw MalformedError("a name that is not UTF-8")
    }
    return name
  }

  private static func key(_ reader: inout ByteReader) throws(MalformedError) -> PublicKey {
    guard let key = PublicKey(bytes: try reader.take(PublicKey.byteCount)) else {
      throw MalformedError("a key has 32 bytes")
    }
    return key
  }

  private static func keys(_ reader: inout ByteReader) throws(MalformedError) -> AdmittedKeys {
    var (keys, removed): ([PublicKey], [ReplicaID]) = ([], [])
    for _ in 0..<(try count(&reader)) { keys.append(try key(&reader)) }
    for _ in 0..<(try count(&reader)) { removed.append(try reader.replica()) }
    var root: VaultRoot?
    if !reader.isAtEnd {
      root = VaultRoot(bytes: Array(try reader.take(VaultRoot.byteCount)))
      guard root != nil else { throw MalformedError("a root that is not whole") }
    }
    return AdmittedKeys(keys, root: root, removed: removed)
  }

  private static func count(_ reader: inout ByteReader) throws(MalformedError) -> Int {
    let bytes = try reader.take(2)
    return Int(bytes[0]) + Int(bytes[1]) << 8
  }
}
