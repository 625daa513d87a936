import HeartlogFormat

/// A bucket that is asked as Amazon S3 is.
struct S3Server: StorageServer {
  let address: StorageAddress
  let credentials: StorageCredentials?
  let region: String
  /// A condition on a file that another request is about to write.
  let passingStatuses: Set<Int> = [409, 500]
  let folderRequest: HTTPRequest? = nil

  var credentialsHint: String {
    "an access key, from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or from ~/.aws/credentials"
  }

  private var bucket: String { address.origin.url + StorageAddress.path(Array(address.folders.prefix(1))) }
  /// What the keys of the objects begin with.
  private var prefix: String { address.folders.dropFirst().map { "\($0)/" }.joined() }

  private static let pageMax = 1_000

  /// ListObjectsV2.
  func listRequest(page: String?) -> HTTPRequest {
    var query = "list-type=2&max-keys=\(Self.pageMax)&prefix=\(Self.value(prefix))"
    // The parameters are sorted, as the signature wants them.
    if let page { query = "continuation-token=\(Self.value(page))&\(query)" }
    return HTTPRequest("GET", "\(bucket)?\(query)", bytesMax: StorageLimits.listBytesMax)
  }

  func page(_ body: [UInt8]) throws(MalformedError) -> StoragePage {
    let document = try XMLElement.document(body)
    guard document.localName == "ListBucketResult" else { throw MalformedError("no ListBucketResult") }
    var page = StoragePage()
    for object in document.children where object.localName == "Contents" {
      guard let key = object.child("Key")?.text, key.hasPrefix(prefix),
        let size = (object.child("Size")?.text).flatMap({ UInt64($0) })
      else { throw MalformedError("an object without a key or a size") }
      page.add(String(key.dropFirst(prefix.count)), byteCount: size)
    }
    if document.child("IsTruncated")?.text == "true" {
      guard let next = document.child("NextContinuationToken")?.text else {
        throw MalformedError("a page without the next one")
      }
      page.next = next
    }
    return page
  }

  func request(_ method: String, object: String, bytesMax: Int) -> HTTPRequest {
    HTTPRequest(method, "\(address.location)/\(object.percentEncoded)", bytesMax: bytesMax)
  }

  /// A value in a query.
  private static func value(_ text: String) -> String {
    text.percentEncoded.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
  }

  /// By a signature, version 4: "Authenticating Requests (AWS Signature Version 4)" in the reference of Amazon S3.
  ///
  /// libcurl can make it as well. This one serves all transports.
  func authorized(_ request: HTTPRequest, at time: Milliseconds) -> HTTPRequest {
    guard let credentials else { return request }
    var request = request
    let (day, timestamp) = Self.timestamp(time)
    let contentHash = SHA256Hasher.digest(of: request.body ?? []).description
    var signed = [
      ("host", address.origin.host), ("x-amz-content-sha256", contentHash), ("x-amz-date", timestamp),
    ]
    if let token = credentials.token { signed.append(("x-amz-security-token", token)) }
    let names = signed.map(\.0).joined(separator: ";")
    let target = request.url.dropFirst(address.origin.url.count)
      .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let canonical =
      "\(request.method)\n\(target[0])\n\(target.count > 1 ? target[1] : "")\n"
      + signed.map { "\($0.0):\($0.1)\n" }.joined() + "\n\(names)\n\(contentHash)"
    let scope = "\(day)/\(region)/s3/aws4_request"
    let message =
      "AWS4-HMAC-SHA256\n\(timestamp)\n\(scope)\n\(SHA256Hasher.digest(of: Array(canonical.utf8)))"
    var key = Array("AWS4\(credentials.secret)".utf8)
    for part in [day, region, "s3", "aws4_request", message] { key = HMAC.sha256(of: part.utf8, key: key) }
    request.headers += signed.dropFirst().map { (name: $0.0, value: $0.1) }
    request.headers.append(
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(credentials.user)/\(scope), SignedHeaders=\(names), Signature=\(Hexadecimal.text(key))"
      ))
    return request
  }

  /// A time as `YYYYMMDD` and `YYYYMMDDThhmmssZ`.
  private static func timestamp(_ time: Milliseconds) -> (day: String, time: String) {
    let digits = RFC3339.text(RFC3339.clamped(time)).filter(\.isNumber).prefix(14)
    let day = String(digits.prefix(8))
    return (day, "\(day)T\(digits.dropFirst(8))Z")
  }
}
