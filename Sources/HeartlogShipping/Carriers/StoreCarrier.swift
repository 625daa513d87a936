import Dispatch
import Heartlog
import Synchronization

/// A carrier to another store in the same process: both ends of a dialogue run here, on two threads.
public struct StoreCarrier: Carrier {
  public let description: String
  private let peer: any ShippedStreams
  private let isReadOnly: Bool

  /// Creates a carrier to `peer`.
  ///
  /// - Parameters:
  ///   - peer: the other store.
  ///   - description: the name of the peer as shown to people: its folder.
  ///   - isReadOnly: whether the peer cannot be written; it is then only pulled from.
  public init(_ peer: FavoritesStore, description: String, isReadOnly: Bool = false) {
    self.init(streams: peer, description: description, isReadOnly: isReadOnly)
  }

  init(streams peer: any ShippedStreams, description: String, isReadOnly: Bool = false) {
    self.peer = peer
    self.description = description
    self.isReadOnly = isReadOnly
  }

  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try SyncAttempts.hold(options) { (attempts) throws(HeartlogError) in
      try hold(store, options: options, attempts: attempts)
    }
  }

  /// Holds one dialogue.
  func hold(
    _ store: any ShippedStreams, options: SyncOptions, attempts: SyncAttempts
  ) throws(HeartlogError) -> SyncReport {
    let (near, far) = try DescriptorChannel.pair()
    var serving = SyncOptions()
    serving.isReadOnly = isReadOnly
    serving.inactivityMillisecondsMax = options.inactivityMillisecondsMax
    serving.clock = options.clock
    let session = SyncSession(
      streams: peer, over: far, role: .serving, options: serving, attempts: SyncAttempts(serving.progress))
    let served = Mutex<Result<SyncReport, HeartlogError>?>(nil)
    let group = DispatchGroup()
    DispatchQueue(label: "heartlog.sync.serving").async(group: group) {
      let result = Result { () throws(HeartlogError) in try session.run() }
      served.withLock { $0 = result }
      far.close()
    }
    let result = Result { () throws(HeartlogError) in
      try SyncSession(streams: store, over: near, role: .calling, options: options, attempts: attempts).run()
    }
    near.close()
    group.wait()
    do throws(HeartlogError) {
      var report = try result.get()
      // Only the peer knows what it could not sign.
      if case .success(let served)? = served.withLock({ $0 }) {
        report.skipped += served.skipped.filter { $0.cause == .unsent && $0.replica == peer.replica }
      }
      return report
    } catch {
      // The dialogue does not tell the peer about paths. Both ends are local here, so the full error is
      // thrown.
      if case .failure(let failure)? = served.withLock({ $0 }), error.isEcho, !failure.isEcho {
        throw failure
      }
      throw error
    }
  }
}

extension HeartlogError {
  /// Whether this error says only that the other end failed.
  var isEcho: Bool { message.hasPrefix("the peer gave up") || message.hasPrefix("the peer hung up") }
}
