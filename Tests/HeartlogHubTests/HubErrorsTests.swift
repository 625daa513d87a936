import Heartlog
import HeartlogSync
import HeartlogTesting
import Synchronization
import Testing

@testable import HeartlogSync

@Suite("What goes wrong at a hub")
struct HubErrorsTests {
  private func error(
    _ answer: Result<HTTPAnswer, HTTPFailure>, for part: String = "objects?"
  ) throws -> (error: HeartlogError?, requests: Int) {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    let before = place.hub.requests.count
    place.hub.answer { $0.url.contains(part) ? answer : nil }
    do { _ = try objects.list(after: nil) } catch { return (error, place.hub.requests.count - before) }
    return (nil, place.hub.requests.count - before)
  }

  @Test(
    "each status has its error, with the sentence of the hub",
    arguments: [
      (400, .peer), (403, .notAdmitted), (404, .peer), (405, .peer), (409, .peer), (413, .peer), (500, .peer),
      (429, .timedOut), (503, .timedOut), (507, .diskFull),
    ] as [(Int, HeartlogError.Code)])
  func statuses(status: Int, code: HeartlogError.Code) throws {
    let (error, requests) = try error(.success(FakeHub.answer(status, "{\"error\": \"too\\u001b[31m red\"}")))
    #expect(error?.code == code)
    #expect(error?.message.utf8.allSatisfy { $0 >= 0x20 } == true)
    if ![404, 405].contains(status) { #expect(error?.message.contains("too[31m red") == true) }
    #expect(requests == (code == .timedOut ? 4 : 1))
  }

  @Test(
    "each failure of the connection has its error, and is tried again if that may help",
    arguments: [
      (.unreachable, .inputOutput, 4), (.silent, .timedOut, 4), (.broken, .inputOutput, 4),
      (.untrusted, .inputOutput, 1), (.tooLarge, .peer, 1), (.missingLibrary, .inputOutput, 1),
    ] as [(HTTPFailure.Kind, HeartlogError.Code, Int)])
  func failures(kind: HTTPFailure.Kind, code: HeartlogError.Code, count: Int) throws {
    let (error, requests) = try error(.failure(HTTPFailure(kind, "because")))
    #expect(error?.code == code && requests == count)
  }

  @Test("a hub that is away for a moment is reached by the next try")
  func passes() throws {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    let left = Mutex(3)
    place.hub.answer { _ in
      left.withLock { left in
        left -= 1
        guard left >= 0 else { return nil }
        return left == 1 ? .success(FakeHub.answer(503)) : .failure(HTTPFailure(.unreachable, "refused"))
      }
    }
    #expect(try objects.list(after: nil).entries.isEmpty)
  }

  @Test("a session opens although the answers to its first proofs are lost", arguments: 1...3)
  func lostAnswers(count: Int) throws {
    let place = try FakeHubPlace()
    let carrier = try place.carrier()
    let store = try FavoritesStore.inMemory(clock: ManualClock())
    _ = try carrier.sync(store, options: SyncOptions())
    place.hub.restart()
    let proofs = Mutex<Set<[UInt8]>>([])
    place.hub.answer { [hub = place.hub] request in
      guard request.method == "POST", let body = request.body,
        proofs.withLock({ proofs in proofs.insert(body).inserted && proofs.count <= count })
      else { return nil }
      _ = hub.serve(request)
      return .failure(HTTPFailure(.broken, "the answer was lost"))
    }
    _ = try carrier.sync(store, options: SyncOptions())
    #expect(proofs.withLock { $0.count } == count + 1)
  }

  @Test(
    "a pause that the hub asks for is kept, and a long one is told instead", arguments: [2, 5, 6, 3_600, -1])
  func retryAfter(seconds: Int) throws {
    let hub = FakeHub()
    let pauses = Mutex<[Int]>([])
    let time = RetryTiming(
      pause: { milliseconds, _ in pauses.withLock { $0.append(milliseconds) } }, random: { 1 })
    let carrier = HubCarrier(try HubAddress(FakeHub.base), over: hub, time: time)
    hub.answer { _ in .success(FakeHub.answer(429, headers: ["retry-after": "\(seconds)"])) }
    let store = try FavoritesStore.inMemory(clock: ManualClock())
    let error = #expect(throws: HeartlogError.self) { try carrier.sync(store, options: SyncOptions()) }
    #expect(error?.code == .timedOut)
    if seconds > 0 { #expect(error?.message.contains("in \(seconds) s") == true) }
    let expected = seconds > 5 ? [] : [100, 200, 400].map { max($0, seconds * 1_000) }
    #expect(pauses.withLock { $0 } == expected)
  }

  @Test("a redirect is not followed, and named")
  func redirect() throws {
    let (error, requests) = try error(
      .success(FakeHub.answer(302, headers: ["location": "https://evil.example/\u{7}x"])))
    #expect(error?.code == .peer && requests == 1)
    #expect(error?.message.contains("https://evil.example/x") == true)
  }

  @Test(
    "an answer that is no list is refused",
    arguments: [
      "", "x", "[]", "{}", "{\"objects\": []}",
      "{\"objects\": [1], \"cursor\": \"1-1\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [[\"a/b/c\"]], \"cursor\": \"1-1\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [[\"a/b/c\", -1]], \"cursor\": \"1-1\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [[\"a/b/c\", 1.5]], \"cursor\": \"1-1\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [], \"cursor\": \"1 1\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [], \"cursor\": \"\", \"startsOver\": false, \"hasMore\": false}",
      "{\"objects\": [], \"cursor\": \"1-1\", \"startsOver\": false, \"hasMore\": true}",
      "{\"objects\": [], \"cursor\": \"1-1\", \"startsOver\": 0, \"hasMore\": false}",
      "\u{feff}{", String(repeating: "[", count: 10_000),
    ])
  func garbage(text: String) throws {
    let (error, _) = try error(.success(FakeHub.answer(200, text)))
    #expect(error?.code == .peer)
  }

  @Test("a session that is none is refused")
  func garbageSession() throws {
    let place = try FakeHubPlace()
    let devices = try Devices(1)
    for text in ["", "{}", "{\"session\": \"a\\r\\nHost: x\"}", "{\"session\": \"\"}"] {
      place.hub.answer { $0.url.contains("/sessions") ? .success(FakeHub.answer(200, text)) : nil }
      let carrier = try place.carrier()
      let error = #expect(throws: HeartlogError.self) { try carrier.sync(devices[0], options: SyncOptions()) }
      #expect(error?.code == .peer)
    }
  }

  @Test(
    "a device whose clock is another one than the hub's opens a session at the second try",
    arguments: [3_600, -86_400])
  func otherClock(seconds: Int) throws {
    let place = try FakeHubPlace()
    let devices = try Devices(1)
    place.hub.state.withLock { $0.secondsAhead = seconds }
    _ = try place.carrier().sync(devices[0], options: SyncOptions())
    let before = place.hub.requests.count
    _ = try place.carrier().sync(devices[0], options: SyncOptions())
    #expect(place.hub.requests.count - before == 3)
    place.hub.state.withLock { $0.secondsAhead = 0 }
    _ = try place.carrier().sync(devices[0], options: SyncOptions())
    #expect(place.hub.requests.count - before == 5)
  }

  @Test("a nonce that is refused is replaced, once")
  func refusedNonce() throws {
    let place = try FakeHubPlace()
    let devices = try Devices(1)
    let left = Mutex(1)
    place.hub.answer { request in
      guard request.url.contains("/sessions"),
        left.withLock({
          $0 -= 1; return $0 >= 0
        })
      else { return nil }
      return .success(FakeHub.answer(401))
    }
    _ = try place.carrier().sync(devices[0], options: SyncOptions())
    place.hub.answer { $0.url.contains("/sessions") ? .success(FakeHub.answer(401)) : nil }
    let carrier = try place.carrier()
    let error = #expect(throws: HeartlogError.self) { try carrier.sync(devices[0], options: SyncOptions()) }
    #expect(error?.code == .notAdmitted)
  }
}

@Suite("Pauses before a hub is tried again")
struct HubPausesTests {
  @Test("double up to the largest, and are shortened by up to a half")
  func pauses() {
    for (random, factor) in [(0.0, 1.0), (1.0, 0.5)] {
      var pauses = Backoff()
      let expected = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
      for pause in expected { #expect(pauses.next { random } == Int(Double(pause) * factor)) }
      pauses.reset()
      #expect(pauses.next { random } == Int(1_000 * factor))
    }
  }
}
