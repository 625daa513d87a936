import HeartlogEvents
import HeartlogFiles

/// The file `ended` in the folder of a stream of which two histories were found: behind this commit nothing of it is read.
struct StreamEnd: Equatable, Sendable {
  /// The last commit that both histories have; 0 for none.
  let commit: UInt64

  static let name = "ended"

  func encoded() -> [UInt8] {
    let text = "heartlog \(StoreIdentity.formatVersion)\nended \(commit)\n"
    return Array((text + "checksum \(Self.checksum(text))\n").utf8)
  }

  private static func checksum(_ text: String) -> String {
    HybridTimestamp(rawValue: Array(text.utf8).withUnsafeBytes { Checksum.of($0, seed: 0) }).description
  }

  /// Where a stream ends; nil for one that goes on.
  ///
  /// - Throws: `corrupt` for a file that is damaged: reading on would bring a history back that was set aside.
  static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(StorageError) -> StreamEnd? {
    let path = "\(directory.streamPath(replica))/\(name)"
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      if error.isNotFound { return nil }
      throw StorageError(error)
    }
    let bytes = try onFiles { () throws(FileError) in try file.bytes(4_096, at: 0) }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    guard lines.count == 3, lines[1].hasPrefix("ended "), let commit = UInt64(lines[1].dropFirst(6)),
      StreamEnd(commit: commit).encoded() == bytes
    else { throw StorageError(.corrupt, "the end of a stream is damaged", file: path, offset: 0) }
    return StreamEnd(commit: commit)
  }
}
