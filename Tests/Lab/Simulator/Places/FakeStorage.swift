import Heartlog
import HeartlogFormat
import HeartlogSync
import Synchronization

/// A server of files in memory, behind a transport: a WebDAV share, or a bucket that is asked as Amazon S3 is.
///
/// Tests may look into it, change it as anybody could, and answer in its place.
package final class FakeStorage: HTTPTransport {
  package enum Kind: CaseIterable, Sendable {
    case webDAV
    case s3
  }

  /// What a server does where a file is to be made only if there is none.
  package enum Conditions: CaseIterable, Sendable {
    case kept
    case ignored
    case refused
  }

  private struct State {
    /// By the names of the objects.
    var objects: [String: [UInt8]] = [:]
    var hasFolder: Bool
    var requests: [HTTPRequest] = []
  }

  package let address: StorageAddress
  private let kind: Kind
  private let conditions: Conditions
  /// The most objects in a page of a list of a bucket.
  private let pageMax: Int
  private let state: Mutex<State>
  private let instead = Mutex<(@Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>?)?>(nil)

  package init(_ kind: Kind, _ conditions: Conditions = .kept, pageMax: Int = 2) {
    self.kind = kind
    self.conditions = conditions
    self.pageMax = pageMax
    let text = kind == .s3 ? "s3://favorites/of%20anna" : "davs://cloud.example/dav/of%20anna"
    guard let address = try? StorageAddress(text) else { preconditionFailure("\(text) is an address") }
    self.address = address
    state = Mutex(State(hasFolder: kind == .s3))
  }

  package var place: StoragePlace { place(at: address) }

  package func place(at address: StorageAddress) -> StoragePlace {
    StoragePlace(
      address, credentials: StorageCredentials(user: "anna", secret: "secret"), over: self, time: .none)
  }

  package var objects: [String: [UInt8]] { state.withLock { $0.objects } }
  package var requests: [HTTPRequest] { state.withLock { $0.requests } }

  /// Replaces the bytes of a file, or puts it. `nil` removes it.
  package func replace(_ name: String, with bytes: [UInt8]?) {
    state.withLock { $0.objects[name] = bytes }
  }

  /// Answers a request in place of the server; `nil` to let the server answer.
  package func answer(instead body: (@Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>?)?) {
    instead.withLock { $0 = body }
  }

  package static func answer(
    _ status: Int, _ text: String = "", headers: [String: String] = [:]
  ) -> HTTPAnswer {
    var answer = HTTPAnswer()
    answer.status = status
    answer.body = Array(text.utf8)
    answer.headers = headers
    return answer
  }

  package func perform(
    _ request: HTTPRequest, isStream: Bool, isOver: () -> Bool, receive: ([UInt8]) -> Bool
  ) throws(HTTPFailure) -> HTTPAnswer {
    state.withLock { $0.requests.append(request) }
    guard !isOver() else { throw HTTPFailure(.over, "over") }
    let answer =
      if let other = instead.withLock({ $0?(request) }) { try other.get() } else { self.answer(to: request) }
    guard !answer.isSuccess || answer.body.count <= request.bytesMax else {
      throw HTTPFailure(.tooLarge, "too large")
    }
    return answer
  }

  // MARK: - Answers

  private func answer(to request: HTTPRequest) -> HTTPAnswer {
    let base = address.location + "/"
    let isOnFolder = kind == .webDAV && request.url == base
    if kind == .s3, request.url.contains("?") { return list(request.url) }
    guard request.url.hasPrefix(base) else { return Self.answer(400) }
    guard var name = request.url.dropFirst(base.count).percentDecoded else { return Self.answer(400) }
    if kind == .webDAV { name = String(name.map { $0 == "_" ? "/" : $0 }) }
    return state.withLock { state in
      switch request.method {
      case "PROPFIND" where isOnFolder:
        return state.hasFolder ? Self.answer(207, Self.multistatus(state.objects)) : Self.answer(404)
      case "MKCOL" where isOnFolder:
        defer { state.hasFolder = true }
        return Self.answer(state.hasFolder ? 405 : 201)
      case "GET":
        guard let bytes = state.objects[name] else { return Self.answer(404) }
        var answer = Self.answer(200)
        answer.body = bytes
        return answer
      case "PUT":
        guard state.hasFolder else { return Self.answer(409) }
        if request.headers.contains(where: { $0.name == "If-None-Match" }) {
          if conditions == .refused { return Self.answer(501) }
          if conditions == .kept, state.objects[name] != nil { return Self.answer(412) }
        }
        state.objects[name] = request.body ?? []
        return Self.answer(201)
      case "DELETE": return Self.answer(state.objects.removeValue(forKey: name) == nil ? 404 : 204)
      default: return Self.answer(405)
      }
    }
  }

  /// As Apache writes it: with two prefixes for one namespace.
  private static func multistatus(_ objects: [String: [UInt8]]) -> String {
    let path = "/dav/of%20anna/"
    func response(_ name: String, _ properties: String) -> String {
      """
      <D:response xmlns:lp1="DAV:"><D:href>\(path)\(name.percentEncoded)</D:href><D:propstat><D:prop>\(properties)</D:prop>
      <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
      """
    }
    let files = objects.sorted { $0.key < $1.key }.map { name, bytes in
      response(
        String(name.map { $0 == "/" ? "_" : $0 }),
        "<lp1:resourcetype/><lp1:getcontentlength>\(bytes.count)</lp1:getcontentlength>")
    }
    return """
      <?xml version="1.0" encoding="utf-8"?>
      <D:multistatus xmlns:D="DAV:">
      \(response("", "<lp1:resourcetype><D:collection/></lp1:resourcetype>"))
      \(files.joined())
      </D:multistatus>
      """
  }

  private func list(_ url: String) -> HTTPAnswer {
    let values = url.split(separator: "?")[1].split(separator: "&").map { $0.split(separator: "=") }
    let after = values.first { $0[0] == "continuation-token" }?[1].percentDecoded ?? ""
    guard values.contains(where: { $0.count == 2 && $0[0] == "prefix" && $0[1] == "of%20anna%2F" }) else {
      return Self.answer(400)
    }
    let names = objects.keys.filter { $0 > after }.sorted()
    let page = names.prefix(pageMax)
    let entries = page.map { name in
      "<Contents><Key>of anna/\(name.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;"))</Key><Size>\(objects[name]?.count ?? 0)</Size></Contents>"
    }
    let isLast = page.count == names.count
    let next = isLast ? "" : "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>"
    return Self.answer(
      200,
      "<ListBucketResult><IsTruncated>\(!isLast)</IsTruncated>\(next)\(entries.joined())</ListBucketResult>")
  }
}

extension RetryTiming {
  /// Does not wait.
  package static let none = RetryTiming(pause: { _, _ in }, random: { 0.5 })
}
