import Heartlog
import HeartlogFormat
import HeartlogSimulator
import HeartlogTesting
import Synchronization
import Testing

@testable import HeartlogSync

@Suite("Storage: WebDAV shares and buckets")
struct StorageTests {
  private static let writer = ReplicaID.made(1)

  private static func name(_ number: UInt64) -> String {
    let name = RunFileName(
      first: number, last: number, root: RootPrefix(word: number), content: RootPrefix(word: 1))
    return "\(FolderFile.folder(of: writer, by: writer))/\(name.text)"
  }

  private func code(_ body: () throws -> Void) -> HeartlogError.Code? {
    do { try body() } catch { return (error as? HeartlogError)?.code }
    return nil
  }

  // MARK: - Requests

  @Test(
    "a list with nothing new takes one request, with three devices and in an encrypted vault too",
    arguments: FakeStorage.Kind.allCases, [false, true])
  func requests(kind: FakeStorage.Kind, isEncrypted: Bool) throws {
    let storage = FakeStorage(kind, pageMax: 1_000)
    let clock = ManualClock()
    var options = SyncOptions()
    options.clock = { clock.milliseconds }
    options.encrypts = isEncrypted
    var stores: [FavoritesStore] = []
    var paper = ""
    for index in 0..<(isEncrypted ? 1 : 3) {
      let store = try FavoritesStore.inMemory(clock: clock, seed: UInt64(index))
      try store.library("papers").add("of-\(index)")
      stores.append(store)
    }
    for _ in 0..<4 {
      for store in stores {
        let report = try PlaceCarrier(storage.place).sync(store, options: options)
        paper = report.recoveryCode ?? paper
        clock.advance(by: 1)
      }
    }
    #expect(Set(stores.map(\.digest)).count == 1 && paper.isEmpty == !isEncrypted)
    let before = storage.requests.count
    // Each by a process of its own.
    for store in stores { _ = try PlaceCarrier(storage.place).sync(store, options: options) }
    #expect(storage.requests.count - before == stores.count, "\(storage.requests[before...].map(\.url))")
  }

  @Test("a share's folder is made when something is first put there")
  func folder() throws {
    let storage = FakeStorage(.webDAV)
    #expect(try storage.place.list(after: nil).entries.isEmpty)
    #expect(storage.requests.map(\.method) == ["PROPFIND"])
    try storage.place.put(Self.name(1), [1])
    #expect(storage.requests.map(\.method) == ["PROPFIND", "PUT", "MKCOL", "PUT"])
    storage.answer { $0.method == "MKCOL" || $0.method == "PUT" ? .success(FakeStorage.answer(409)) : nil }
    #expect(code { try storage.place.put(Self.name(2), [1]) } == .notAStore)
  }

  @Test(
    "an object is put only if there is none, whatever the server makes of conditions",
    arguments: FakeStorage.Kind.allCases, FakeStorage.Conditions.allCases)
  func conditions(kind: FakeStorage.Kind, conditions: FakeStorage.Conditions) throws {
    let storage = FakeStorage(kind, conditions)
    let place = storage.place
    try place.put(Self.name(1), [1])
    try place.put(Self.name(1), [1])
    #expect(code { try place.put(Self.name(1), [2]) } == .exists)
    // Another process knows it from its list.
    let other = storage.place
    _ = try other.list(after: nil)
    #expect(code { try other.put(Self.name(1), [2]) } == .exists)
    #expect(storage.objects == [Self.name(1): [1]])
    try other.delete(Self.name(1))
    try other.put(Self.name(1), [2])
    #expect(storage.objects == [Self.name(1): [2]])
    // A server that does not know conditions is asked once.
    let count = storage.requests.count
    try other.put(Self.name(3), [3])
    #expect(storage.requests.count == count + 1)
  }

  @Test("files of others are counted, and an empty one is not here yet", arguments: FakeStorage.Kind.allCases)
  func foreign(kind: FakeStorage.Kind) throws {
    let storage = FakeStorage(kind)
    try storage.place.put(Self.name(1), [1])
    storage.replace(Self.name(2), with: [])
    storage.replace("notes & more.txt", with: [1])
    storage.replace("\(Self.name(3).dropLast(4)) (conflicted copy_2).run", with: [1])
    let list = try storage.place.list(after: nil)
    #expect(list.foreignCount == 1 && list.startsOver && !list.hasMore)
    #expect(
      Set(list.entries) == [
        ObjectList.Entry(Self.name(1), byteCount: 1), ObjectList.Entry(Self.name(2), byteCount: nil),
        ObjectList.Entry("\(Self.name(3).dropLast(4)) (conflicted copy_2).run", byteCount: 1),
      ])
    #expect(try storage.place.get(Self.name(2), bytesMax: 10) == .absent)
    // Its writer replaces it, whether it was listed or not.
    try storage.place.put(Self.name(2), [2])
    #expect(try storage.place.get(Self.name(2), bytesMax: 10) == .bytes([2]))
    // So it does with the beginning of its bytes, which is left of a put that broke off, and with nothing else.
    for listed in [false, true] {
      storage.replace(Self.name(3), with: [1, 2])
      if listed { _ = try storage.place.list(after: nil) }
      #expect(code { try storage.place.put(Self.name(3), [1, 3, 3]) } == .exists)
      try storage.place.put(Self.name(3), [1, 2, 3])
      #expect(try storage.place.get(Self.name(3), bytesMax: 10) == .bytes([1, 2, 3]))
    }
    for name in ["../x", "notes & more.txt", ""] {
      #expect(code { try storage.place.put(name, [1]) } == .invalid)
    }
  }

  // MARK: - Servers that fail

  @Test(
    "each status has its error, and is tried again if that may help",
    arguments: [
      (301, .peer, 1), (400, .peer, 1), (401, .notAdmitted, 1), (403, .notAdmitted, 1), (405, .peer, 1),
      (413, .peer, 1), (423, .timedOut, 4), (429, .timedOut, 4), (500, .timedOut, 4), (502, .timedOut, 4),
      (503, .timedOut, 4), (504, .timedOut, 4), (507, .diskFull, 1),
    ] as [(Int, HeartlogError.Code, Int)])
  func statuses(status: Int, code: HeartlogError.Code, count: Int) throws {
    let storage = FakeStorage(.webDAV)
    let text = """
      <?xml version="1.0"?><d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns"><s:message>too red\u{7F}</s:message></d:error>
      """
    storage.answer { _ in .success(FakeStorage.answer(status, text)) }
    do {
      _ = try storage.place.list(after: nil)
      Issue.record("no error")
    } catch {
      #expect(error.code == (status == 413 ? .diskFull : code), "\(error)")
      #expect(error.message.contains("(too red)") && !error.message.contains("secret"), "\(error.message)")
    }
    #expect(storage.requests.count == count)
  }

  @Test("the code of a bucket's error is shown, and a bucket that is missing")
  func bucketErrors() throws {
    let storage = FakeStorage(.s3)
    let text = "<Error><Code>NoSuchBucket</Code><Message>The bucket\n  does not exist</Message></Error>"
    storage.answer { _ in .success(FakeStorage.answer(404, text)) }
    let error = #expect(throws: HeartlogError.self) { try storage.place.list(after: nil) }
    #expect(error?.code == .notAStore)
    #expect(error?.message.contains("(NoSuchBucket: The bucket does not exist)") == true)
    storage.answer { _ in .success(FakeStorage.answer(429, headers: ["retry-after": "3600"])) }
    let busy = #expect(throws: HeartlogError.self) { try storage.place.list(after: nil) }
    #expect(busy?.message.contains("in 3600 s") == true && storage.requests.count == 2)
  }

  @Test(
    "a list that is none, or half of one, is an error",
    arguments: FakeStorage.Kind.allCases,
    ["", "<a/>", "<html><body>hello</body></html>", "{}", "<!DOCTYPE a><a/>"])
  func noList(kind: FakeStorage.Kind, text: String) throws {
    let storage = FakeStorage(kind)
    storage.answer { _ in .success(FakeStorage.answer(207, text)) }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
  }

  @Test(
    "every beginning of a list is an error, and no other one lists less", arguments: FakeStorage.Kind.allCases
  )
  func halfLists(kind: FakeStorage.Kind) throws {
    let storage = FakeStorage(kind, pageMax: 10)
    try storage.place.put(Self.name(1), [1])
    try storage.place.put(Self.name(2), [1, 2])
    let list =
      kind == .s3
      ? S3Server(address: storage.address, credentials: nil, region: "x").listRequest(page: nil)
      : WebDAVServer(address: storage.address, credentials: nil).listRequest(page: nil)
    let whole = try storage.send(list, isOver: { false })
    for count in 0..<whole.body.count - 1 {
      var half = whole
      half.body.removeSubrange(count...)
      storage.answer { [half] _ in .success(half) }
      #expect(code { _ = try storage.place.list(after: nil) } == .peer, "\(count) bytes")
    }
  }

  @Test("a bucket that lists without end, or the same page again, is an error")
  func endlessLists() throws {
    let storage = FakeStorage(.s3)
    @Sendable func page(_ next: String) -> HTTPAnswer {
      FakeStorage.answer(
        200,
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(next)</NextContinuationToken></ListBucketResult>"
      )
    }
    storage.answer { _ in .success(page("a b+/=")) }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
    let count = Mutex(0)
    storage.answer { _ in .success(page("\(count.withLock { $0 += 1; return $0 })")) }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
    storage.answer { _ in .success(page("a b+/=")) }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
    #expect(storage.requests.last?.url.contains("?continuation-token=a%20b%2B%2F%3D&list-type=2&") == true)
    storage.answer { _ in
      .success(
        FakeStorage.answer(200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"))
    }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
  }

  @Test(
    "what is too large, and half of an object, is not taken for one", arguments: FakeStorage.Kind.allCases)
  func halfObjects(kind: FakeStorage.Kind) throws {
    let storage = FakeStorage(kind)
    let (one, other) = (
      try FavoritesStore.inMemory(clock: ManualClock(), seed: 1),
      try FavoritesStore.inMemory(clock: ManualClock(), seed: 2)
    )
    try one.library("papers").add("a")
    _ = try PlaceCarrier(storage.place).sync(one, options: SyncOptions())
    let wanted = try #require(storage.objects.first { $0.key.hasSuffix(".run") })
    storage.answer { request in
      guard request.method == "GET", request.url.hasSuffix(".run") else { return nil }
      var answer = FakeStorage.answer(200)
      answer.body = Array(wanted.value.prefix(wanted.value.count / 2))
      return .success(answer)
    }
    let report = try PlaceCarrier(storage.place).sync(other, options: SyncOptions())
    #expect(report.folder?.damagedNames == [wanted.key] && report.received.commits == 0)
    storage.answer(instead: nil)
    #expect(try PlaceCarrier(storage.place).sync(other, options: SyncOptions()).received.commits == 1)
    #expect(try storage.place.get(wanted.key, bytesMax: 5) == .unreadable)
    storage.answer { _ in .failure(HTTPFailure(.tooLarge, "65 MiB")) }
    #expect(code { _ = try storage.place.list(after: nil) } == .peer)
  }

  @Test(
    "calls and answers that are lost lose nothing", arguments: FakeStorage.Kind.allCases,
    0..<2 as Range<UInt64>)
  func lostCalls(kind: FakeStorage.Kind, seed: UInt64) throws {
    let storage = FakeStorage(kind, .ignored)
    let random = SeededRandom(seed: seed)
    let clock = ManualClock()
    let stores = try (0..<3).map { try FavoritesStore.inMemory(clock: clock, seed: seed * 10 + UInt64($0)) }
    storage.answer { request in
      switch random.next() % 20 {
      case 0: .failure(HTTPFailure(.broken, "lost"))
      case 1: .success(FakeStorage.answer(503))
      case 2: .failure(HTTPFailure(.untrusted, "lost for good"))
      default: nil
      }
    }
    for round in 0..<12 {
      for (index, store) in stores.enumerated() {
        clock.advance(by: 1)
        try store.library("papers").toggle("\((round + index) % 7)")
        _ = try? PlaceCarrier(storage.place).sync(store, options: SyncOptions())
      }
    }
    storage.answer(instead: nil)
    for _ in 0..<3 {
      for store in stores {
        clock.advance(by: 1)
        _ = try PlaceCarrier(storage.place).sync(store, options: SyncOptions())
      }
    }
    #expect(Set(stores.map(\.digest)).count == 1)
  }

  // MARK: - Who sends

  /// Calculated by botocore 1.44 for the same request.
  @Test("requests to a bucket are signed")
  func signature() throws {
    let address = try StorageAddress(
      "s3://favs/of%20anna", endpoint: "https://s3.example.org:9000", region: "eu-central-1")
    let credentials = StorageCredentials(user: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI", token: "to/ken")
    let server = S3Server(address: address, credentials: credentials, region: "eu-central-1")
    func header(_ request: HTTPRequest) -> String? {
      server.authorized(request, at: 1_700_000_000_000).headers.first { $0.name == "Authorization" }?.value
    }
    var put = server.request("PUT", object: "a/b c", bytesMax: 10)
    put.body = Array("hello".utf8)
    let start =
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/eu-central-1/s3/aws4_request, "
      + "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature="
    #expect(header(put) == start + "6f6aa781b20d1b4f98fe14233a9c6b0dfac262ddadc80e85556862914060e984")
    #expect(
      header(server.listRequest(page: "x/=")) == start
        + "b5dd47f7e9ff16a4a7f79bafbbeb22f2c2000f34264565e43952ed96805ca30a")
    #expect(put.url == "https://s3.example.org:9000/favs/of%20anna/a/b%20c")
  }

  @Test("requests to a share carry the user and the password")
  func basic() throws {
    let storage = FakeStorage(.webDAV)
    _ = try storage.place.list(after: nil)
    #expect(
      storage.requests[0].headers.contains {
        $0.name == "Authorization" && $0.value == "Basic YW5uYTpzZWNyZXQ="
      })
    let open = WebDAVServer(address: storage.address, credentials: nil)
    #expect(
      !open.authorized(open.listRequest(page: nil), at: 0).headers.contains { $0.name == "Authorization" })
  }

  @Test(
    "addresses",
    arguments: [
      ("davs://Cloud.Example", "https://cloud.example"),
      ("davs://cloud.example:443/remote.php/dav/", "https://cloud.example/remote.php/dav"),
      ("dav://127.0.0.1:80/a%20b/ü", "http://127.0.0.1/a%20b/%C3%BC"),
      ("s3://favs", "https://s3.us-east-1.amazonaws.com/favs"),
      ("s3://favs/a/b", "https://s3.us-east-1.amazonaws.com/favs/a/b"),
    ])
  func addresses(text: String, location: String) throws {
    #expect(try StorageAddress(text).location == location)
  }

  @Test(
    "what is no address is refused, and a password is not repeated",
    arguments: [
      "davs://", "davs:/x", "davs://a:b@host/x", "davs://host/a//b", "davs://host/../x",
      "davs://host/%2e%2e/x",
      "davs://host/a%2Fb", "davs://host/%0a", "davs://host/%zz", "davs://host:0/x", "s3://", "s3://a_b:9/x",
      "ftp://x/y",
    ])
  func noAddresses(text: String) {
    let error = #expect(throws: HeartlogError.self) { try StorageAddress(text) }
    #expect(error?.code == .invalid && error?.message.contains("a:b") == false)
  }

  @Test(
    "endpoints",
    arguments: ["s3.example", "ftp://s3.example", "https://s3.example/x", "https://", "https://u:p@h"])
  func endpoints(text: String) throws {
    #expect(code { _ = try StorageAddress("s3://favs", endpoint: text) } == .invalid)
    #expect(code { _ = try StorageAddress("davs://host/x", endpoint: "https://h") } == .invalid)
    #expect(try StorageAddress("s3://favs", endpoint: "http://h:1/").location == "http://h:1/favs")
  }
}
