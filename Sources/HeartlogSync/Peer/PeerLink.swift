import Heartlog
import HeartlogFiles

/// The way to a store that answers: a channel, or the store itself in this process. One thread uses it.
protocol PeerLink: Sendable {
  func answer(_ heads: Message.Heads) throws(HeartlogError) -> Message.Answer

  /// Asks for runs, which `next` returns in this order.
  func request(_ wants: [Message.Want]) throws(HeartlogError)

  /// The next run that was asked for, or that the rest of its stream cannot be read.
  func next() throws(HeartlogError) -> Message

  func give(_ message: Message) throws(HeartlogError)

  /// What became of everything that was given. Nothing that was asked for may be left.
  func confirm() throws(HeartlogError) -> Message.Done

  /// Bytes that came and went so far.
  var bytes: (read: UInt64, written: UInt64) { get }

  /// What only the other end knows: the commits that it could not sign.
  func unsent() throws(HeartlogError) -> [SyncReport.SkippedStream]
}

/// A store at the other end of a channel.
struct ChannelLink: PeerLink {
  let link: MonitoredChannel
  let reader: MessageReader
  let writer: MessageWriter

  init(_ channel: any ByteChannel, _ options: SyncOptions) {
    link = MonitoredChannel(channel, options: options)
    reader = MessageReader(link)
    writer = MessageWriter(link)
  }

  func answer(_ heads: Message.Heads) throws(HeartlogError) -> Message.Answer {
    try write(.heads(heads))
    guard case .answer(let answer) = try reader.read(.answer, answering: heads.heads.count) else {
      throw .peer("a message out of turn")
    }
    return answer
  }

  func request(_ wants: [Message.Want]) throws(HeartlogError) { try write(.wants(wants)) }

  func next() throws(HeartlogError) -> Message { try reader.read(.run, .unreadable) }

  func give(_ message: Message) throws(HeartlogError) { try write(message) }

  func confirm() throws(HeartlogError) -> Message.Done {
    try write(.last)
    guard case .done(let done) = try reader.read(.done) else { throw .peer("a message out of turn") }
    return done
  }

  var bytes: (read: UInt64, written: UInt64) { (link.bytesRead, link.bytesWritten) }

  func unsent() -> [SyncReport.SkippedStream] { [] }

  /// Writes a message.
  ///
  /// - Throws: what the other end said or printed last, if it hung up.
  func write(_ message: Message) throws(HeartlogError) {
    do throws(HeartlogError) { try writer.write(message) } catch {
      guard error.code == .inputOutput else { throw error }
      while try reader.readUnlessAtEnd(Message.Kind.allCases) != nil {}
      throw error
    }
  }
}

/// A store in the same process.
final class StoreLink: PeerLink {
  private struct State {
    var host: PeerHost
    /// What was asked for, and the last commit of each that was given.
    var wants: [(want: Message.Want, after: UInt64)] = []
    var bytes: (read: UInt64, written: UInt64) = (0, 0)
  }

  private let state: Monitor<State>

  init(_ store: FavoritesStore, _ options: SyncOptions) {
    state = Monitor(State(host: PeerHost(store, options)))
  }

  func answer(_ heads: Message.Heads) throws(HeartlogError) -> Message.Answer {
    try state.withLock { (state) throws(HeartlogError) in
      let answer = try state.host.answer(heads)
      do throws(HeartlogError) { try state.host.agreeOnVault() } catch {
        // Two vaults that do not go together: the calling end finds the same.
        guard error.code == .otherVault else { throw error }
      }
      return answer
    }
  }

  func request(_ wants: [Message.Want]) {
    state.withLock { $0.wants += wants.map { ($0, $0.commits.lowerBound - 1) } }
  }

  func next() throws(HeartlogError) -> Message {
    try state.withLock { (state) throws(HeartlogError) in
      guard let (want, after) = state.wants.first else { preconditionFailure("nothing was asked for") }
      let message = try state.host.next(want, after: after)
      if case .run(let run) = message {
        state.bytes.read += UInt64(run.body.count)
        state.wants[0].after = run.lastCommit
        if run.lastCommit < want.commits.upperBound { return message }
      }
      state.wants.removeFirst()
      return message
    }
  }

  func give(_ message: Message) throws(HeartlogError) {
    try state.withLock { (state) throws(HeartlogError) in
      if case .run(let run) = message { state.bytes.written += UInt64(run.body.count) }
      try state.host.take(message)
    }
  }

  func confirm() throws(HeartlogError) -> Message.Done {
    try state.withLock { (state) throws(HeartlogError) in
      switch try state.host.confirm() {
      case .done(let done): return done
      case .failed(_, let sentence): throw .peer(sentence)
      default: preconditionFailure("a host confirms or fails")
      }
    }
  }

  var bytes: (read: UInt64, written: UInt64) { state.withLock { $0.bytes } }

  func unsent() throws(HeartlogError) -> [SyncReport.SkippedStream] {
    try state.withLock { (state) throws(HeartlogError) in
      try state.host.report().skipped.filter { $0.cause == .unsent && $0.replica == state.host.replica }
    }
  }
}
