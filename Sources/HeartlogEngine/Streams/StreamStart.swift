import HeartlogFiles
import HeartlogFormat

/// Creates readers in the middle of streams. A position is accepted only if the stream before it is unchanged.
///
/// If the position's segment still exists, its last frame before the position is compared: the seed of its body checksum depends on
/// segment and offset. If the segment was sealed since, the tree is compared.
struct StreamStart {
  let directory: StoreDirectory

  /// Returns a reader for each position.
  ///
  /// - Throws: `otherHistory` if a position is not in its stream; `otherLog` if that stream was ended before it, or if no position
  ///   belongs to a stream of this store: then the positions come from another store.
  func readers(
    at positions: [StreamPosition], own: ReplicaID
  ) throws(HeartlogError) -> [(reader: StreamReader, moved: StreamPosition?)] {
    do {
      var readers: [(reader: StreamReader, moved: StreamPosition?)] = []
      for position in positions {
        let found = try reader(at: position)
        if readers.count >= OpenFileBudget.streamsMax { found.reader.rest() }
        readers.append(found)
      }
      return readers
    } catch {
      guard error.mismatch == .otherHistory, try !directory.knowsStream(ofAny: positions, own: own) else {
        throw error
      }
      throw HeartlogError(.otherLog, error.message, file: error.file, commits: error.commits)
    }
  }

  /// Returns a reader at a position.
  ///
  /// - Returns: The reader, which is after the position's commit. If the position's location has changed, so that its tree had to be
  ///   compared, also the position with its new location.
  /// - Throws: `otherHistory` if the position is not in the stream; `otherLog` if that was ended before it.
  private func reader(at position: StreamPosition) throws(HeartlogError) -> (
    reader: StreamReader, moved: StreamPosition?
  ) {
    do {
      return try heartlogErrors {
        let listing = try directory.listing(of: position.replica)
        guard !listing.segments.isEmpty else {
          if try directory.dropped().contains(position.replica) {
            throw refusal(of: position, "its stream was dropped", .otherLog)
          }
          throw refusal(of: position, "its stream is missing")
        }
        let end = listing.hasEnd ? try StreamEnd.read(of: position.replica, in: directory) : nil
        if let end, end.commit < position.commit.rawValue {
          throw refusal(of: position, "its stream was ended at commit \(end.commit)", .otherLog)
        }
        let location = try location(of: position, in: listing)
        let moved = location == nil ? try foundByTree(position) : nil
        return (
          StreamReader(directory, behind: position.tail, at: location, listing: listing, end: end), moved
        )
      }
    } catch {
      // Reading from the start finds the damage and reports it.
      guard error.code == .corrupt || error.code == .invalid else { throw error }
      throw refusal(of: position, error.message)
    }
  }

  /// As `reader`, but returns nil if the position is not in a segment that still exists.
  func readerInSegment(at position: StreamPosition) throws(HeartlogError) -> StreamReader? {
    do {
      return try heartlogErrors {
        let listing = try directory.listing(of: position.replica)
        let end = listing.hasEnd ? try StreamEnd.read(of: position.replica, in: directory) : nil
        guard let location = try location(of: position, in: listing) else { return nil }
        return StreamReader(directory, behind: position.tail, at: location, listing: listing, end: end)
      }
    } catch {
      guard error.mismatch == .otherLog || error.mismatch == .otherHistory || error.code == .corrupt else {
        throw error
      }
      return nil
    }
  }

  /// Returns the segment of a position, with the cursor at the next frame to read; nil if another segment has replaced it.
  private func location(
    of position: StreamPosition, in listing: StoreDirectory.StreamListing
  ) throws -> (cursor: SegmentCursor, segment: SegmentFile)? {
    let location = position.location
    guard let segment = listing.segments.first(where: { $0.firstCommit == location.firstCommit }) else {
      return nil
    }
    let path = directory.path(of: segment, in: position.replica)
    guard let file = try ifPresent(directory.fileSystem.open(path, .read)) else { return nil }
    let found = try directory.header(of: file, path: path)
    // A damaged copy is reported when the segment is read from its start.
    guard found.damagedCopy == nil else {
      throw refusal(of: position, "the header of its segment is damaged")
    }
    guard found.header.id == location.segment else { return nil }
    guard found.header.replica == position.replica, found.header.firstCommit == location.firstCommit else {
      throw refusal(of: position, "its segment belongs to another stream")
    }
    let cursor = SegmentCursor(file: file, path: path, header: found.header, offset: location.frameOffset)
    guard let frame = try wholeFrame(at: location, cursor, file),
      frame.bodyChecksum == location.frameChecksum,
      frame.frameBytes == location.frameBytes, frame.firstCommit <= position.commit,
      frame.firstCommit.rawValue + UInt64(frame.commitCount) > position.commit.rawValue
    else { throw refusal(of: position, "its last commit is missing") }
    // If the frame has commits after the position, it is read again for them.
    if frame.firstCommit.rawValue + UInt64(frame.commitCount) == position.tail.next.rawValue {
      cursor.pass(frame)
    }
    return (cursor, segment)
  }

  /// Returns the header of a position's frame; nil if the frame is incomplete. The body is also checked in a tail, which may have
  /// been cut and is not large. `verify` reads everything.
  private func wholeFrame(
    at location: StreamPosition.Location, _ cursor: SegmentCursor, _ file: any OpenFile
  ) throws -> FrameHeader? {
    // The same read gets the frames that follow.
    if cursor.header.kind == .open, location.frameBytes <= Self.readFrameBytesMax {
      guard case .frame(let frame) = try cursor.look() else { return nil }
      return frame
    }
    guard try file.size() >= location.frameOffset + location.frameBytes else { return nil }
    return try cursor.header(at: location.frameOffset)
  }

  private static let readFrameBytesMax: UInt64 = 32 << 10

  /// Compares the tree of a stream up to a position with the position's tree, starting from the nearest frontier in a segment header.
  ///
  /// - Returns: The position with the location where its last commit was found.
  private func foundByTree(_ position: StreamPosition) throws -> StreamPosition {
    let merkleCache = try MerkleCache(directory, replica: position.replica, before: position.commit)
    try merkleCache.advance(to: position.commit.rawValue)
    guard merkleCache.tree == position.tree else {
      throw refusal(of: position, "its stream has different commits before it")
    }
    return StreamPosition(
      tail: position.tail, at: position.time, tree: position.tree,
      location: try merkleCache.streamPosition(at: position.time)?.location ?? position.location)
  }

  private func refusal(
    of position: StreamPosition, _ reason: String, _ mismatch: HeartlogError.PositionMismatch = .otherHistory
  ) -> HeartlogError {
    HeartlogError(
      mismatch, "a position is not in this log: \(reason)",
      file: directory.streamPath(position.replica), commits: position.commit...position.commit)
  }
}
