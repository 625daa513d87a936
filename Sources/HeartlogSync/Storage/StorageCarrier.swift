import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A carrier through storage that a person already has: a WebDAV share, or a bucket that is asked as Amazon S3 is.
///
/// The address of a share is `davs://host[:port]/path`, or `dav://` without TLS, that of a bucket `s3://bucket[/prefix]`. A share's folder is
/// made when something is first put there. Storage sends no notifications, and many servers limit requests: sync every few minutes at most. The layout is specified in "Storage" in docs/shipping.md.
public final class StorageCarrier: InvitingCarrier {
  private let address: StorageAddress
  private let place: StoragePlace
  private let carrier: PlaceCarrier

  public var description: String { place.description }

  /// Creates a carrier through the storage at an address.
  ///
  /// - Parameters:
  ///   - url: The address.
  ///   - credentials: Who is known to the server; `nil` for a place that is open to all.
  ///   - endpoint: Where the bucket is, as `https://host[:port]`; `nil` for Amazon's own.
  ///   - region: The region of the bucket.
  /// - Throws: `invalid` if a URL is not such an address, or if there is a user or a password in it.
  public convenience init(
    _ url: URL, credentials: StorageCredentials?, endpoint: URL? = nil, region: String = "us-east-1"
  ) throws(HeartlogError) {
    let address = try StorageAddress(url.absoluteString, endpoint: endpoint?.absoluteString, region: region)
    self.init(address, credentials: credentials)
  }

  package init(_ address: StorageAddress, credentials: StorageCredentials?) {
    self.address = address
    place = StoragePlace(address, credentials: credentials, over: systemTransport(), time: .system)
    carrier = PlaceCarrier(place)
  }

  package func address(of vault: VaultID) -> (place: String, endpoint: String?) {
    (address.description, address.endpoint)
  }

  /// Receives what other devices put there, and puts what is missing.
  ///
  /// What a server sends can do no harm: an object that is not whole, or was not signed by the device it is said to be of, is left alone.
  ///
  /// - Throws: `HeartlogError`; `notAdmitted` if the server refuses the credentials, `notAStore` if there is no such bucket or share, `diskFull`
  ///   if it is full, `timedOut` if the server does not serve now, `inputOutput` if the connection failed, `peer` if the answers are none,
  ///   and what the store throws.
  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    do throws(HeartlogError) {
      return try carrier.sync(store, through: place.ending { options.isOver }, options: options)
    } catch {
      guard error.isEarlyEnd else { throw error }
      return .unfinished(options)
    }
  }
}
