import Heartlog
import HeartlogFiles

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
  private let carrier: ObjectCarrier

  public var description: String { carrier.description }

  /// Creates a carrier through the folder at a file URL, which must exist when `sync` is called.
  ///
  /// - Throws: `invalid` if the URL is not a file URL.
  public convenience init(_ url: URL) throws(HeartlogError) { self.init(try url.filePath(of: "a folder")) }

  package init(_ path: String, on fileSystem: any FileSystem = POSIXFileSystem(readers: .everybody)) {
    self.path = path
    carrier = ObjectCarrier(DirectoryObjects(path, on: fileSystem))
  }

  /// Receives what other devices wrote to the folder, and writes what the folder lacks.
  ///
  /// Files of other devices cannot do harm: a file that is not whole is left alone and counted in the report.
  ///
  /// - Throws: `HeartlogError`; `notAStore` if the folder does not exist, `invalid` if it is a store's own
  ///   directory or inside one, `readOnly` and `inputOutput` from its files, and what the store throws.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try carrier.sync(streams: store, options: options)
  }
}
