import HeartlogFormat

/// A share of a server that knows WebDAV (RFC 4918): Nextcloud, ownCloud, Apache, many NAS devices.
///
/// All objects are in one folder, so that one request lists them: the slashes of a name become underscores.
struct WebDAVServer: StorageServer {
  let address: StorageAddress
  let credentials: StorageCredentials?
  let passingStatuses: Set<Int> = [423, 500]

  var credentialsHint: String {
    "a user and a password, from ~/.netrc or from HEARTLOG_WEBDAV_USER and HEARTLOG_WEBDAV_PASSWORD"
  }

  private static let question = """
    <?xml version="1.0" encoding="utf-8"?>\
    <propfind xmlns="DAV:"><prop><getcontentlength/><resourcetype/></prop></propfind>
    """

  /// The whole list is one page.
  func listRequest(page: String?) -> HTTPRequest {
    var request = HTTPRequest("PROPFIND", "\(address.location)/", bytesMax: StorageLimits.listBytesMax)
    request.headers = [("Depth", "1"), ("Content-Type", "application/xml; charset=utf-8")]
    request.body = Array(Self.question.utf8)
    return request
  }

  /// Reads a multistatus document. Names of properties are those of the namespace `DAV:`, whatever their prefixes.
  func page(_ body: [UInt8]) throws(MalformedError) -> StoragePage {
    let document = try XMLElement.document(body)
    guard document.localName == "multistatus" else { throw MalformedError("no multistatus") }
    var page = StoragePage()
    for response in document.children where response.localName == "response" {
      guard let path = response.child("href")?.text.collapsed.percentDecoded else {
        throw MalformedError("a response without a name")
      }
      let properties = response.children.filter { $0.localName == "propstat" }.first { part in
        part.child("status")?.text.split(separator: " ").dropFirst().first == "200"
      }?.child("prop")
      // The folder itself, and others in it, whose names end with a slash at most servers.
      let isFolder = properties?.child("resourcetype")?.child("collection") != nil
      guard !isFolder, let name = path.split(separator: "/").last, !path.hasSuffix("/") else { continue }
      page.add(Self.object(name), byteCount: UInt64(properties?.child("getcontentlength")?.text ?? "") ?? 0)
    }
    return page
  }

  func request(_ method: String, object: String, bytesMax: Int) -> HTTPRequest {
    let name = String(object.map { $0 == "/" ? "_" : $0 })
    return HTTPRequest(method, "\(address.location)/\(name.percentEncoded)", bytesMax: bytesMax)
  }

  var folderRequest: HTTPRequest? {
    HTTPRequest("MKCOL", "\(address.location)/", bytesMax: StorageLimits.answerBytesMax)
  }

  /// By the user and the password (RFC 7617).
  func authorized(_ request: HTTPRequest, at time: Milliseconds) -> HTTPRequest {
    guard let credentials else { return request }
    var request = request
    let text = Base64.text(Array("\(credentials.user):\(credentials.secret)".utf8))
    request.headers.append(("Authorization", "Basic \(text)"))
    return request
  }

  /// The name of an object, from that of its file. What another program added to it may have underscores.
  private static func object(_ name: Substring) -> String {
    let folders = name.hasPrefix("\(ObjectPath.keysFolder)_") ? 1 : 2
    return name.split(separator: "_", maxSplits: folders, omittingEmptySubsequences: false).joined(
      separator: "/")
  }
}
