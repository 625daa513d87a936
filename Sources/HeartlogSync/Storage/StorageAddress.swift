import HeartlogFormat

/// The address of storage: `davs://host[:port][/path]`, `dav://…` without TLS, or `s3://bucket[/prefix]`.
package struct StorageAddress: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    case webDAV
    case s3(region: String)
  }

  /// The address as it was given.
  package let description: String
  package let kind: Kind
  package let origin: HTTPOrigin
  /// Where the bucket is; `nil` for Amazon's own and for a share.
  let endpoint: String?
  /// The folders on the way to the objects, without escapes. At S3, the first one is the bucket.
  package let folders: [String]

  /// What tells these objects from all others, however the address was written.
  package var location: String { origin.url + Self.path(folders) }

  /// A path, with escapes.
  static func path(_ folders: [String]) -> String { folders.map { "/\($0.percentEncoded)" }.joined() }

  /// The schemes, for messages.
  package static let schemes = ["davs:", "dav:", "s3:"]

  /// Parses an address.
  ///
  /// - Parameters:
  ///   - endpoint: `http[s]://host[:port]`, where the buckets are; `nil` for those of Amazon.
  ///   - region: Of the bucket.
  /// - Throws: `invalid` if the text is no such address, or if there is a user or a password, which the error does not contain.
  package init(
    _ text: String, endpoint: String? = nil, region: String = "us-east-1"
  ) throws(HeartlogError) {
    let malformed = HeartlogError(
      .invalid, "not the address of storage: it has the form davs://host/path or s3://bucket/prefix")
    var parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty else { throw malformed }
    guard !parts[2].contains("@") else {
      throw HeartlogError(
        .invalid, "the address contains a user or a password: leave them out, and keep them in a file")
    }
    var folders: [String] = []
    var rest = parts.count > 3 ? parts.removeLast()[...] : ""
    while rest.last == "/" { rest.removeLast() }
    for part in rest.isEmpty ? [] : rest.split(separator: "/", omittingEmptySubsequences: false) {
      guard let folder = part.percentDecoded, !["", ".", ".."].contains(folder), !folder.contains("/"),
        folder.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
      else { throw malformed }
      folders.append(folder)
    }
    var host = String(parts[2])
    self.endpoint = endpoint
    var isEncrypted = parts[0] != "dav:"
    switch parts[0] {
    case "dav:", "davs:":
      guard endpoint == nil else {
        throw HeartlogError(.invalid, "an endpoint is for the address of a bucket only: s3://bucket/prefix")
      }
      kind = .webDAV
    case "s3:":
      guard HTTPOrigin(host, isEncrypted: true) != nil, !host.contains(":"),
        HTTPOrigin("\(region).example", isEncrypted: true) != nil
      else { throw malformed }
      kind = .s3(region: region)
      folders.insert(host, at: 0)
      host = "s3.\(region).amazonaws.com"
      if let endpoint {
        let origin = endpoint.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard origin.count == 3 || origin.count == 4 && origin[3].isEmpty,
          ["http:", "https:"].contains(origin[0]), origin[1].isEmpty
        else {
          throw HeartlogError(.invalid, "not an endpoint: it has the form https://host[:port]")
        }
        isEncrypted = origin[0] == "https:"
        host = origin[2]
      }
    default: throw malformed
    }
    guard let origin = HTTPOrigin(host, isEncrypted: isEncrypted) else { throw malformed }
    self.origin = origin
    self.folders = folders
    description = text
  }
}

/// Who is known to a server.
public struct StorageCredentials: Hashable, Sendable, CustomStringConvertible {
  let user: String
  let secret: String
  let token: String?

  /// Creates credentials.
  ///
  /// - Parameters:
  ///   - user: The user of a WebDAV share, or the access key id of a bucket.
  ///   - secret: The password, or the secret access key.
  ///   - token: The session token of temporary access to a bucket.
  public init(user: String, secret: String, token: String? = nil) {
    self.user = user
    self.secret = secret
    self.token = token
  }

  /// The user alone.
  public var description: String { user }
}
