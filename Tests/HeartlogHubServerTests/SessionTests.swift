import HeartlogFormat
import HeartlogHTTPServer
import Testing

@testable import HeartlogHubServer

@Suite struct SessionTests {
  /// The second test case of RFC 4231.
  @Test func messagesAreAuthenticatedAsInTheRFC() {
    let digest = HMAC.sha256(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(
      Hexadecimal.text(digest) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func aNonceIsGoodForOneSessionForAMinute() throws {
    let hub = try TestHub(.sqlite)
    defer { hub.close() }
    let service = HubService(engine: hub.engine, invitations: nil)
    let (key, vault) = (TestVault.newKey(), VaultID.new())
    #expect(
      try hub.engine.createVault(vault, keys: AdmittedKeys([key.publicKey]), invitation: nil))
    var generator = SystemRandomNumberGenerator()
    func open(_ nonce: HubNonce, host: String = "hub") throws {
      let signature = try key.signature(of: nonce.message(vault: vault, host: host))
      var body = JSONWriter()
      body.beginObject()
      body.member("vault", vault.description)
      body.member("key", key.publicKey.description)
      body.member("nonce", Hexadecimal.text(nonce.bytes))
      body.member("signature", Hexadecimal.text(signature.bytes))
      body.endObject()
      _ = try service.openSession(
        HubRequest(route: HubRoute(action: .openSession), host: "hub", body: body.bytes))
    }
    func refusal(_ nonce: HubNonce, host: String = "hub") -> HTTPResponse? {
      do { try open(nonce, host: host) } catch { return error as? HTTPResponse }
      return nil
    }
    func time(_ answer: HTTPResponse?) throws -> UInt64? {
      try JSONValue.parse(answer?.body ?? [])["time"]?.int64.map(UInt64.init)
    }
    let now = WallClock.seconds
    for seconds in [now - 50, now, now + 50] {
      let nonce = HubNonce(at: seconds, using: &generator)
      #expect(nonce.seconds == seconds && refusal(nonce) == nil)
      let again = refusal(nonce)
      #expect(try again?.status == 401 && time(again) != nil)
    }
    for seconds in [now - 70, now + 70, 0, .max] {
      let refused = refusal(HubNonce(at: seconds, using: &generator))
      #expect(try refused?.status == 401 && (time(refused) ?? 0) >= now)
    }
    #expect(refusal(HubNonce(at: now, using: &generator), host: "elsewhere")?.status == 403)
  }
}
