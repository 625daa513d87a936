import HeartlogEvents
import HeartlogFiles

/// All streams of a store as one log, read without a lock: commits in the total order, streams merged.
package final class MergedLog {
  private let directory: StoreDirectory
  private let identity: StoreIdentity
  private let lock: StoreLock
  private var streams: [ReplicaID: Stream] = [:]
  private var meter: ProgressMeter
  private var seenPage: StoreLock.Page?
  /// Those whose files are open, the one that was read last at the end.
  private var openStreams: [Stream] = []

  /// Commits that follow each other in the total order, all of one stream.
  package struct Run {
    package enum Commits {
      case one(Commit)
      /// Those at some places of a block, which is the same object for all runs of it.
      case several(MergedBlock, places: Range<Int>)
    }

    package let commits: Commits
    /// What `lastTime` would be behind the commit of the stream in front of these.
    package let timeBefore: Milliseconds
  }

  private final class Stream {
    let reader: StreamReader
    /// Until the reader's next end.
    var frames: ReadAhead?
    /// What was read and is not handed out yet, the next one last. Blocks stay blocks.
    var ahead: [Ahead] = []
    /// Nothing more was there when it was last looked at.
    var isAtEnd = false
    var finding: Finding?
    var name = ""
    /// At the last commit that was handed out.
    var time = StreamTime()

    init(_ reader: StreamReader) { self.reader = reader }
  }

  private enum Ahead {
    case commit(Commit)
    /// A block, from its next commit on.
    case block(MergedBlock)

    var position: CommitPosition {
      switch self {
      case .commit(let commit): commit.position
      case .block(let block): block.content.position(at: block.next)
      }
    }
  }

  package init(
    at path: String, on fileSystem: any FileSystem, progress: LogProgress? = nil
  ) throws(StorageError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    lock = try StoreLock(directory)
    meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
  }

  /// The replica that writes this store.
  package var own: ReplicaID { identity.replica }

  /// The streams met so far, sorted by replica.
  package var replicas: [ReplicaID] { streams.keys.sorted() }

  /// What the replica of a stream is called, as far as its segments were read.
  package func name(of replica: ReplicaID) -> String? {
    replica == identity.replica ? identity.name : streams[replica]?.name
  }

  /// What is not as it was written, as far as it was read.
  package var findings: [Finding] {
    streams.sorted { $0.key < $1.key }.compactMap(\.value.finding)
  }

  /// The time of the commit that `next` gave last: the latest wall time of its stream up to it; 0 before the first.
  package private(set) var lastTime: Milliseconds = 0

  /// The next commit in the total order; nil where there is none at the moment.
  ///
  /// After nil it may be asked again: what has come since follows. Only what is there at the same time is in order.
  package func next() throws(StorageError) -> Commit? {
    guard let run = try nextRun(commitsMax: 1) else { return nil }
    switch run.commits {
    case .one(let commit): return commit
    case .several(let block, let places): return block.commit(at: places.lowerBound)
    }
  }

  /// As many commits as are at hand and follow each other in the total order, all of one stream; nil where there is none at the moment.
  ///
  /// - Parameter commitsMax: the most to be handed out.
  package func nextRun(commitsMax: Int = .max) throws(StorageError) -> Run? {
    try storageErrors {
      if streams.values.allSatisfy({ $0.isAtEnd && $0.ahead.isEmpty }) {
        guard try lookForMore() else { return nil }
      }
      for stream in streams.values where stream.ahead.isEmpty && !stream.isAtEnd { try fill(stream) }
      var first: (stream: Stream, position: CommitPosition)?
      // Where another stream goes on.
      var end: CommitPosition?
      for stream in streams.values {
        guard let position = stream.ahead.last?.position else { continue }
        if let found = first, found.position < position {
          end = end.map { min($0, position) } ?? position
        } else {
          end = first?.position
          first = (stream, position)
        }
      }
      return first.map { take(from: $0.stream, upTo: end, commitsMax: commitsMax) }
    }
  }

  /// Hands out the next commits of a stream, those in front of `end`.
  private func take(from stream: Stream, upTo end: CommitPosition?, commitsMax: Int) -> Run {
    let timeBefore = stream.time.latest
    switch stream.ahead[stream.ahead.count - 1] {
    case .commit(let commit):
      stream.ahead.removeLast()
      stream.time.pass(commit.wallTime)
      lastTime = stream.time.latest
      return Run(commits: .one(commit), timeBefore: timeBefore)
    case .block(let block):
      let content = block.content
      let commits = content.columns.commits
      let first = block.next
      let most = min(commitsMax, content.places.upperBound - first)
      var last = first + most
      if let end {
        last = first + 1
        while last < first + most, content.position(at: last) < end { last += 1 }
      }
      for place in first..<last { stream.time.pass(commits.wallTimes[place]) }
      lastTime = stream.time.latest
      block.next = last
      if last == content.places.upperBound { stream.ahead.removeLast() }
      return Run(commits: .several(block, places: first..<last), timeBefore: timeBefore)
    }
  }

  /// Starts another round over the streams.
  ///
  /// - Returns: false where nothing changed since the last round.
  private func lookForMore() throws -> Bool {
    let page = lock.page()
    if let seenPage, seenPage == page, page.generation != 0 { return false }
    seenPage = page
    var replicas = Set(try directory.replicas())
    // The own stream may be gone altogether, which only the lock's page can tell.
    replicas.insert(identity.replica)
    for replica in replicas where streams[replica] == nil {
      streams[replica] = Stream(StreamReader(directory, replica: replica))
    }
    for stream in streams.values { stream.isAtEnd = false }
    return true
  }

  private func fill(_ stream: Stream) throws {
    let isOwn = stream.reader.replica == identity.replica
    defer { keepOpen(stream) }
    let restsOften = streams.count > OpenFileBudget.streamsMax
    // Where a file is opened for each look, a look is to bring more than one commit.
    let wanted = restsOften ? Self.commitsAhead : 1
    let frames = stream.frames ?? ReadAhead(stream.reader, page: isOwn ? lock.page() : StoreLock.Page())
    stream.frames = frames
    var found: [Ahead] = []
    var count = 0
    defer { stream.ahead = found.reversed() }
    while count < wanted {
      let read = try frames.next()
      switch read.next {
      case .frame(let frame, let cursor):
        stream.name = cursor.header.replicaName
        stream.finding = nil
        meter.advance(cursor, to: read.offset)
        if case .block(let block) = frame {
          found.append(.block(MergedBlock(block)))
          count += block.commitCount
          // A block gives enough to do meanwhile. A reader that rests must not be at work.
          if !restsOften { frames.readAhead() }
        } else if let commits = frame.commits?.commits {
          found += commits.map { .commit($0) }
          count += commits.count
        }
      case .end(let end):
        stream.isAtEnd = true
        stream.frames = nil
        switch end {
        case .whole: stream.finding = nil
        case .unfinished(let finding), .corrupt(let finding): stream.finding = finding
        }
        return
      }
    }
  }

  private static let commitsAhead = 256

  /// Notes that a stream was read; those that were not read for longest give their files back.
  private func keepOpen(_ stream: Stream) {
    if openStreams.last === stream { return }
    openStreams.removeAll { $0 === stream }
    openStreams.append(stream)
    if openStreams.count > OpenFileBudget.streamsMax { openStreams.removeFirst().reader.rest() }
  }
}

/// A block of a merged log, which is handed out run by run.
package final class MergedBlock {
  /// The block as it was read.
  package let content: ColumnBlock
  /// The place of the next commit.
  fileprivate(set) var next: Int
  private lazy var assembly = CommitAssembly(content)
  private var sought: (library: String, id: String, places: [Int])?

  init(_ content: ColumnBlock) {
    self.content = content
    next = content.places.lowerBound
  }

  /// The places of the commits that have an event of an item, rising. Looked up once for all runs.
  package func places(ofItem id: String, in library: String) -> [Int] {
    if let sought, sought.id.hasSameBytes(as: id), sought.library.hasSameBytes(as: library) {
      return sought.places
    }
    let places = content.places(ofItem: id, in: library)
    sought = (library, id, places)
    return places
  }

  /// Puts the commit at a place together, which lies behind those that were put together before.
  package func commit(at place: Int) -> Commit { assembly.commit(at: place) }
}

extension StoreDirectory {
  /// The size of all segments together, in bytes.
  func logBytes() throws(StorageError) -> UInt64 {
    var total: UInt64 = 0
    for replica in try replicas() {
      for segment in try segments(of: replica) {
        let path = "\(streamPath(replica))/\(segment.name)"
        total += try onFiles { () throws(FileError) in try fileSystem.info(path)?.size ?? 0 }
      }
    }
    return total
  }
}
