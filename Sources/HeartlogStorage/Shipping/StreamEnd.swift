import HeartlogFormat
import HeartlogFiles

/// The file `ended` in the folder of a stream with two histories: the stream is not read after this commit.
package struct StreamEnd: Equatable, Sendable {
  /// The last commit that both histories have in common; 0 for none.
  let commit: UInt64

  static let name = "ended"

  package func encoded() -> [UInt8] { ChecksummedText.encoded(["ended \(commit)"]) }

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  /// Reads the end of a stream; nil if the stream continues.
  ///
  /// - Throws: `corrupt` for a damaged file: reading on would bring back a history that was set aside. `newerFormat`.
  package static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> StreamEnd?
  {
    let path = path(of: replica, in: directory)
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      if error.isNotFound { return nil }
      throw HeartlogError(error)
    }
    let bytes = try heartlogErrors { try file.bytes(bytesMax, at: 0) }
    let damaged = HeartlogError(.corrupt, "the end of a stream is damaged", file: path, offset: 0)
    guard let text = ChecksummedText(bytes) else { throw damaged }
    try text.checkVersion(of: "the end of a stream", file: path)
    guard let line = text.lines.first,
      let commit = ChecksummedText.value(of: "ended", in: line).flatMap({ UInt64($0) }),
      StreamEnd(commit: commit).encoded() == bytes
    else { throw damaged }
    return StreamEnd(commit: commit)
  }

  static let bytesMax = 4_096
}
