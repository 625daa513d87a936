import HeartlogFormat
import HeartlogFiles

/// A reader that starts in the middle of a stream, with the stream's tree before its position.
///
/// The header and the first block of a sealed segment contain everything needed about the commits before it:
/// heads, numbers and frontier.
struct VerifiedReader {
  let reader: StreamReader
  var tree: MerkleTree

  /// Starts at the last sealed segment at or before `segment`, or at the start of the stream if there is none.
  init(_ directory: StoreDirectory, replica: ReplicaID, to segment: SegmentFile) throws {
    let segments = try directory.servingSegments(of: replica).serving
    guard let start = segments.last(where: { $0.firstCommit <= segment.firstCommit && $0.state == .sealed }),
      let tail = try Self.tail(before: start, in: directory, replica: replica)
    else {
      reader = StreamReader(directory, replica: replica)
      tree = MerkleTree()
      return
    }
    reader = StreamReader(directory, replica: replica, from: tail.0)
    tree = try MerkleTree(size: tail.1.treeSize, frontier: tail.1.frontier)
  }

  private static func tail(
    before segment: SegmentFile, in directory: StoreDirectory, replica: ReplicaID
  ) throws -> (StreamTail, SegmentHeader)? {
    let path = directory.path(of: segment, in: replica)
    let file = try directory.fileSystem.open(path, .read)
    let header = try directory.header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: header)
    while case .frame(let frame) = try cursor.look() {
      if frame.kind == FrameHeader.Kind.block {
        let block = try cursor.withBody(of: frame) { body in
          try BlockEncoding.decodeColumns(
            body, replica: replica, firstCommit: frame.firstCommit, commitCount: Int(frame.commitCount))
        }
        return (StreamTail(before: header, seen: block.headsAtStart), header)
      }
      cursor.pass(frame)
    }
    return nil
  }
}
