import Heartlog
import HeartlogFiles
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A carrier through a folder that a file-syncing program, a USB stick or rsync moves from device to device.
///
/// There is no dialogue: each device writes files for the others, changes none, and removes only its own and
/// those of devices that write no more. The
/// format is specified in "The folder" in docs/shipping.md.
public final class FolderCarrier: Carrier {
  /// The path of the folder.
  public let path: String
  let carrier: PlaceCarrier

  public var description: String { "folder:\(path)" }

  /// Creates a carrier through the folder at a file URL, which must exist when `sync` is called.
  ///
  /// - Throws: `invalid` if the URL is not a file URL.
  public convenience init(_ url: URL) throws(HeartlogError) { self.init(try url.filePath(of: "a folder")) }

  package init(_ path: String, on fileSystem: any FileSystem = POSIXFileSystem(readers: .everybody)) {
    self.path = path
    carrier = PlaceCarrier(DirectoryPlace(path, on: fileSystem))
  }

  /// Receives what other devices wrote to the folder, and writes what the folder lacks.
  ///
  /// Files of other devices cannot do harm: a file that is not whole is left alone and counted in the report.
  ///
  /// - Throws: `HeartlogError`; `notAStore` if the folder does not exist, `invalid` if it is a store's own
  ///   directory or inside one, `readOnly` and `inputOutput` from its files, and what the store throws.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try carrier.sync(store, options: options)
  }
}

/// A carrier through a place.
package final class PlaceCarrier: Sendable {
  private let place: any Place
  /// What earlier syncs found out, so that a carrier that is reused repeats no work.
  private let memory = Mutex(SyncPass.Memory())

  package init(_ place: any Place) { self.place = place }

  /// Receives what other devices put, and puts what is missing.
  ///
  /// - Parameter other: the same place, if its calls are made on behalf of this sync.
  /// - Throws: `HeartlogError`: what the place and `store` throw.
  package func sync(
    _ store: FavoritesStore, through other: (any Place)? = nil, options: SyncOptions
  ) throws(HeartlogError) -> SyncReport {
    var pass = SyncPass(
      store: store, place: other ?? place, options: options, memory: memory.withLock { $0 })
    let report = Result { () throws(HeartlogError) in
      try store.traced { () throws(HeartlogError) in try pass.run() }
    }
    memory.withLock { $0.take(pass.memory, deleted: pass.deleted) }
    return try report.get()
  }

  /// The position after the objects that syncs have seen; `nil` before the first sync.
  package var cursor: PlaceCursor? { memory.withLock { $0.catalogue.cursor } }
}
