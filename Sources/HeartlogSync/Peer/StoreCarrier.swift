import Heartlog
import HeartlogFiles
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A carrier to another store in the same process.
public struct StoreCarrier: Carrier {
  private enum Peer: Sendable {
    /// At the path that describes the carrier.
    case closed
    case opened(FavoritesStore)
  }

  /// The path of the other store.
  public let description: String
  private let peer: Peer

  /// Creates a carrier to the store in the folder at a file URL. Each sync opens it and closes it again. If it cannot be written, it is only
  /// pulled from.
  ///
  /// - Throws: `invalid` if the URL is not a file URL. A sync throws `notAStore` if there is no store.
  public init(_ url: URL) throws(HeartlogError) {
    description = try url.filePath(of: "a store")
    peer = .closed
  }

  /// Creates a carrier to a store that is open in this process. If it is open for reading only, it is only pulled from.
  public init(_ peer: FavoritesStore) {
    self.init(peer, description: peer.path)
  }

  init(_ peer: FavoritesStore, description: String) {
    self.peer = .opened(peer)
    self.description = description
  }

  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    guard case .opened(let peer) = peer else {
      return try withPeer { (peer) throws(HeartlogError) in
        try StoreCarrier(peer).sync(store, options: options)
      }
    }
    var serving = SyncOptions()
    serving.clock = options.clock
    serving.isReadOnly = peer.isReadOnly
    let link = StoreLink(peer, serving)
    return try store.traced { () throws(HeartlogError) in
      try store.sync(over: link, options, description: description)
    }
  }

  /// Opens the store at the path for the duration of a call.
  private func withPeer<Report>(
    _ body: (FavoritesStore) throws(HeartlogError) -> Report
  ) throws(HeartlogError) -> Report {
    let opened = try FavoritesStore.openPeer(at: description)
    let result = Result { () throws(HeartlogError) in try body(opened) }
    // The error of the call is the one to report.
    do throws(HeartlogError) { try opened.close() } catch {
      _ = try result.get()
      throw error
    }
    return try result.get()
  }

  /// Runs both ends of a session, on two threads.
  ///
  /// - Returns: The report of the calling end.
  private static func hold<Report: Sendable>(
    _ options: SyncOptions,
    serving: @escaping @Sendable (any ByteChannel, SyncOptions) throws(HeartlogError) -> Report,
    calling: (any ByteChannel) throws(HeartlogError) -> Report
  ) throws(HeartlogError) -> Report {
    let (near, far) = try DescriptorChannel.pair()
    var servingOptions = SyncOptions()
    servingOptions.inactivityMillisecondsMax = options.inactivityMillisecondsMax
    servingOptions.clock = options.clock
    let served = Mutex<Result<Report, HeartlogError>?>(nil)
    let thread: WorkerThread
    do throws(HeartlogError) {
      thread = try WorkerThread { [servingOptions] in
        let result = Result { () throws(HeartlogError) in try serving(far, servingOptions) }
        served.withLock { $0 = result }
        far.close()
      }
    } catch {
      near.close()
      far.close()
      throw error
    }
    let result = Result { () throws(HeartlogError) in try calling(near) }
    near.close()
    thread.join()
    do throws(HeartlogError) { return try result.get() } catch {
      // The message to a peer has no paths. Both ends are local here, so the full error is thrown.
      if case .failure(let failure)? = served.withLock({ $0 }), error.isEcho, !failure.isEcho {
        throw failure
      }
      throw error
    }
  }
}

extension StoreCarrier: PairingCarrier {
  package func pair(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> PairingReport {
    guard case .opened(let peer) = peer else {
      return try withPeer { (peer) throws(HeartlogError) in
        try StoreCarrier(peer).pair(store, options: options)
      }
    }
    return try Self.hold(
      options,
      serving: { (channel, serving) throws(HeartlogError) in
        try PairingSession(peer, over: channel, role: .serving, options: serving).run()
      },
      calling: { (channel) throws(HeartlogError) in
        try PairingSession(store, over: channel, role: .calling, options: options).run()
      })
  }
}

extension FavoritesStore {
  /// Opens an existing store for writing, or else for reading: a damaged store or one on a read-only disk can still be pulled from.
  package static func openPeer(
    at path: String, options: StoreOptions = StoreOptions()
  ) throws(HeartlogError) -> FavoritesStore {
    var options = options
    options.createsIfMissing = false
    if Self.isWritable(path) {
      do throws(HeartlogError) {
        return try FavoritesStore(at: path, options: options)
      } catch {
        guard error.code == .readOnly else { throw error }
      }
    }
    options.access = .readOnly
    return try FavoritesStore(at: path, options: options)
  }

  private static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }
}

extension HeartlogError {
  /// Whether this error says only that the other end failed.
  var isEcho: Bool { message.hasPrefix("the peer gave up") || message.hasPrefix("the peer hung up") }
}
