import Heartlog

/// One end of a sync between two stores over a channel. The protocol is specified in docs/shipping.md.
///
/// Each run is stored as it arrives. A session that breaks off loses nothing, and the next one continues from
/// there.
package struct SyncSession: Sendable {
  /// The role of an end; it decides which end asks.
  package enum Role: Sendable {
    /// Asks, receives and gives.
    case calling
    /// Answers.
    case serving
  }

  private let store: FavoritesStore
  private let role: Role
  private let options: SyncOptions
  private let link: ChannelLink

  /// Creates one end, which can run once.
  ///
  /// - Parameters:
  ///   - store: the store at this end.
  ///   - channel: the channel to the other end; the caller closes it after `run` has returned.
  ///   - role: one end calls, and the other serves.
  ///   - options: options for the sync.
  package init(
    _ store: FavoritesStore, over channel: any ByteChannel, role: Role,
    options: SyncOptions = SyncOptions()
  ) {
    self.store = store
    self.role = role
    self.options = options
    link = ChannelLink(channel, options)
  }

  /// Runs the session. If its deadline comes first, or it is cancelled, the report says what is left.
  ///
  /// - Throws: `HeartlogError`; `timedOut` if the peer is silent, `peer` if it sends something that may not come there, `inputOutput` if the
  ///   channel breaks, and what the store throws. Both stores are sound after any of these.
  package func run() throws(HeartlogError) -> SyncReport {
    do throws(HeartlogError) {
      return try store.traced { () throws(HeartlogError) in
        switch role {
        case .calling: try call()
        case .serving: try serve()
        }
      }
    } catch {
      // Whoever gave up is not told.
      if !error.isEcho { link.writer.writeFailure(error) }
      throw error
    }
  }

  private func call() throws(HeartlogError) -> SyncReport {
    let report = try store.sync(over: link, options, description: "the peer")
    if report.unfinished != nil {
      link.writer.writeFailure(.endedEarly)
    } else if let refused = report.refused {
      link.writer.writeFailure(.dialogue, refused)
    }
    return report
  }

  private func serve() throws(HeartlogError) -> SyncReport {
    var host = PeerHost(store, options)
    var isGreeted = false
    do throws(HeartlogError) {
      while let message = try link.reader.readUnlessAtEnd(
        isGreeted ? [.heads, .wants, .facts, .run, .last] : [.heads])
      {
        isGreeted = true
        switch message {
        case .heads(let heads):
          try link.write(.answer(try host.answer(heads)))
          try host.agreeOnVault()
        case .wants(let wants):
          for want in wants {
            try host.give(want) { (message) throws(HeartlogError) in try link.write(message) }
          }
        case .last:
          let answer = try host.confirm()
          try link.write(answer)
          if case .failed = answer { return try host.report() }
        default: try host.take(message)
        }
      }
      guard isGreeted, !host.hasUnconfirmed else { throw .hungUp }
    } catch {
      guard error.isEarlyEnd else { throw error }
      link.writer.writeFailure(error)
      var report = try host.report()
      report.unfinished = SyncReport.Unfinished()
      return report
    }
    var report = try host.report()
    report.received.bytes = link.bytes.read
    report.sent.bytes = link.bytes.written
    return report
  }
}

extension FavoritesStore {
  /// Exchanges commits with the store at the other end of a link.
  func sync(
    over link: any PeerLink, _ options: SyncOptions, description: String
  ) throws(HeartlogError) -> SyncReport {
    let peer = PeerPlace(link, self, options, description: description)
    var pass = SyncPass(store: self, place: peer, options: options, memory: .init())
    return try pass.run(with: peer)
  }
}
