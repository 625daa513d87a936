import Heartlog
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// How a kind of server is asked for files: "Storage" in docs/shipping.md.
protocol StorageServer: Sendable {
  var address: StorageAddress { get }
  /// Where this program takes credentials from, for messages.
  var credentialsHint: String { get }
  /// Statuses after which the same request may succeed a moment later, beside those of all servers.
  var passingStatuses: Set<Int> { get }

  /// Asks for the list of all files, or for its next page.
  func listRequest(page: String?) -> HTTPRequest
  /// Reads a page of the list.
  func page(_ body: [UInt8]) throws(MalformedError) -> StoragePage
  /// A request on an object, by its name.
  func request(_ method: String, object: String, bytesMax: Int) -> HTTPRequest
  /// Makes the folder, where a server has folders.
  var folderRequest: HTTPRequest? { get }
  /// The request with what shows who sends it.
  func authorized(_ request: HTTPRequest, at time: Milliseconds) -> HTTPRequest
}

/// A page of a list.
struct StoragePage {
  private(set) var entries: [ObjectList.Entry] = []
  private(set) var foreignCount = 0
  /// What the next page is asked for with; `nil` if this is the last one.
  var next: String?

  mutating func add(_ name: String, byteCount: UInt64) {
    if ObjectPath.isObjectOrCopy(name) {
      // Some servers make a file before its bytes have come.
      entries.append(ObjectList.Entry(name, byteCount: byteCount == 0 ? nil : byteCount))
    } else {
      foreignCount += 1
    }
  }
}

/// Objects at a server of files.
///
/// It has no numbers for its changes, so each list has everything. What it sends is not believed: what is in an object is for others to verify.
package struct StoragePlace: Place {
  private let server: any StorageServer
  private let client: HTTPClient
  private let memory = Memory()
  private var isOver: @Sendable () -> Bool = { false }

  /// What is known of the server.
  private final class Memory: Sendable {
    /// Whether it cannot make a file only if there is none.
    let refusesConditions = Flag()
    /// The objects that it listed last, and those that were put since.
    let names = Mutex<Set<String>>([])
  }

  package var description: String { server.address.description }
  package var address: String? { server.address.location }

  package init(
    _ address: StorageAddress, credentials: StorageCredentials?, over transport: any HTTPTransport,
    time: RetryTiming
  ) {
    server =
      switch address.kind {
      case .webDAV: WebDAVServer(address: address, credentials: credentials)
      case .s3(let region): S3Server(address: address, credentials: credentials, region: region)
      }
    client = HTTPClient(transport, time: time, host: "the server \(address.origin.host)")
  }

  /// The same place, whose calls end early once `isOver` returns true. It is called several times a second.
  func ending(_ isOver: @escaping @Sendable () -> Bool) -> StoragePlace {
    var place = self
    place.isOver = isOver
    return place
  }

  package func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    var entries: [ObjectList.Entry] = []
    var foreignCount = 0
    var next: String?
    var pageCount = 0
    repeat {
      let answer = try send(
        server.listRequest(page: next), accepting: server.folderRequest == nil ? [] : [404])
      // It is made when something is put there.
      guard answer.status != 404 else { break }
      let page: StoragePage
      do throws(MalformedError) { page = try server.page(answer.body) } catch {
        throw HeartlogError(.peer, "\(client.host) sent something that is no list of files: \(error)")
      }
      pageCount += 1
      guard page.next == nil || page.next != next && pageCount < StorageLimits.pagesMax else {
        throw HeartlogError(.peer, "\(client.host) sent the same page of a list twice, or a list without end")
      }
      entries += page.entries
      foreignCount += page.foreignCount
      guard entries.count + foreignCount <= 2 * directoryNamesMax else {
        throw HeartlogError(.inputOutput, "cannot list \(description): there are too many files")
      }
      next = page.next
    } while next != nil
    entries.sort { $0.name < $1.name }
    let names = Set(entries.lazy.map(\.name))
    memory.names.withLock { $0 = names }
    return ObjectList(
      entries, cursor: PlaceCursor(hashing: entries), startsOver: true, foreignCount: foreignCount)
  }

  package func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    let answer = try send(
      try request("GET", name, bytesMax: bytesMax), accepting: [404, 410, HTTPAnswer.tooLarge])
    return switch answer.status {
    case 404, 410: .absent
    case HTTPAnswer.tooLarge: .unreadable
    default: answer.body.isEmpty ? .absent : .bytes(answer.body)
    }
  }

  /// Puts an object. Some servers ignore the condition that there is none, so one that was listed is looked at first.
  package func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) {
    if memory.names.withLock({ $0.contains(name) }), try isThere(name, bytes) { return }
    var request = try request("PUT", name, bytesMax: StorageLimits.answerBytesMax)
    request.headers.append(("Content-Type", "application/octet-stream"))
    request.body = bytes
    var answer = try put(request)
    if [404, 409].contains(answer.status), let folder = server.folderRequest {
      try makeFolder(folder)
      answer = try put(request)
    }
    if answer.status == 412 {
      if try isThere(name, bytes) { return }
      // An empty file stands there, or the beginning of this one: a server made it before the bytes came that never came.
      answer = try sendUnchecked(request)
    }
    try check(answer, request)
    memory.names.withLock { _ = $0.insert(name) }
  }

  /// Whether an object is there with these bytes.
  ///
  /// - Throws: `exists` if it has others.
  private func isThere(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) -> Bool {
    switch try get(name, bytesMax: bytes.count) {
    case .bytes(bytes): true
    // What is left of a put that broke off.
    case .bytes(let found) where bytes.starts(with: found): false
    case .absent: false
    default: throw HeartlogError(.exists, "\(name) exists already, with other bytes")
    }
  }

  package func delete(_ name: String) throws(HeartlogError) {
    _ = try send(
      try request("DELETE", name, bytesMax: StorageLimits.answerBytesMax), accepting: [404, 410])
    memory.names.withLock { _ = $0.remove(name) }
  }

  // MARK: - Requests

  /// - Throws: `invalid` for a name that would be another path.
  private func request(
    _ method: String, _ name: String, bytesMax: Int
  ) throws(HeartlogError) -> HTTPRequest {
    guard ObjectPath.isObjectOrCopy(name) else {
      throw HeartlogError(.invalid, "\(name) is no name of an object")
    }
    return server.request(method, object: name, bytesMax: bytesMax)
  }

  /// Sends a PUT, on the condition that there is no such file if the server knows conditions.
  private func put(_ request: HTTPRequest) throws(HeartlogError) -> HTTPAnswer {
    if !memory.refusesConditions.isRaised {
      var conditional = request
      conditional.headers.append(("If-None-Match", "*"))
      let answer = try sendUnchecked(conditional)
      guard answer.status == 501 else { return answer }
      memory.refusesConditions.raise()
    }
    return try sendUnchecked(request)
  }

  private func makeFolder(_ request: HTTPRequest) throws(HeartlogError) {
    // Another device may have made it meanwhile.
    let answer = try send(request, accepting: [405, 409])
    guard answer.status != 409 else {
      throw HeartlogError(
        .notAStore, "\(client.host) has no folder in which \(description) could be: make that first")
    }
  }

  private func send(
    _ request: HTTPRequest, accepting accepted: Set<Int> = []
  ) throws(HeartlogError) -> HTTPAnswer {
    let answer = try sendUnchecked(request, mayExceed: accepted.contains(HTTPAnswer.tooLarge))
    if !accepted.contains(answer.status) { try check(answer, request) }
    return answer
  }

  /// - Parameter mayExceed: Whether an answer that is larger than asked for is one with the status 413.
  private func sendUnchecked(
    _ request: HTTPRequest, mayExceed: Bool = false
  ) throws(HeartlogError) -> HTTPAnswer {
    try client.trying(isOver, alsoAfter: server.passingStatuses) { () throws(HTTPFailure) in
      try client.attempt(
        server.authorized(request, at: StoreOptions.systemTime()), mayExceed: mayExceed, isOver)
    }
  }

  /// - Throws: The error that the status of an answer stands for, if it is no success.
  private func check(_ answer: HTTPAnswer, _ request: HTTPRequest) throws(HeartlogError) {
    guard !answer.isSuccess else { return }
    let host = client.host
    let reason = Self.reason(answer)
    switch answer.status {
    case 401, 403:
      throw HeartlogError(
        .notAdmitted, "\(host) refuses \(request.method)\(reason): it takes \(server.credentialsHint)")
    case 404: throw HeartlogError(.notAStore, "there is no \(description)\(reason)")
    case 405, 501:
      throw HeartlogError(
        .peer, "\(host) does not know \(request.method)\(reason): it is no server for \(description)")
    case 413, 507: throw HeartlogError(.diskFull, "\(host) has no more room\(reason)")
    case 500: throw HeartlogError(.timedOut, "\(host) does not serve now\(reason)")
    default: throw client.error(answer, to: request.method, reason: reason)
    }
  }

  /// What the server says is wrong, in parentheses; empty if it says nothing that is understood.
  private static func reason(_ answer: HTTPAnswer) -> String {
    guard let document = try? XMLElement.document(answer.body) else { return "" }
    let parts = ["code", "message"].compactMap { name in
      document.children.first { $0.localName.lowercased() == name }?.text.collapsed
    }.filter { !$0.isEmpty }
    return parts.isEmpty ? "" : " (\(HTTPClient.visible(parts.joined(separator: ": "))))"
  }
}

/// "Storage" in docs/shipping.md.
enum StorageLimits {
  static let listBytesMax = 64 << 20
  static let pagesMax = 10_000
  static let answerBytesMax = 65_536
}
