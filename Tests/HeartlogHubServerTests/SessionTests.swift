import HeartlogFormat
import Testing

@testable import HeartlogHubServer

@Suite struct SessionTests {
  /// The second test case of RFC 4231.
  @Test func messagesAreAuthenticatedAsInTheRFC() {
    let digest = HMAC.sha256(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(
      Hexadecimal.text(digest) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func aChallengeIsGoodForItsHostForAMinute() {
    let key = ChallengeKey(secret: RandomBytes.next(32))
    let challenge = key.challenge(for: "hub.example:8080", at: 1_000_000)
    for seconds in [999_940, 1_000_000, 1_000_060] as [UInt64] {
      #expect(key.admits(challenge, for: "Hub.Example:8080", at: seconds))
    }
    #expect(!key.admits(challenge, for: "hub.example:8080", at: 1_000_061))
    #expect(!key.admits(challenge, for: "hub.example:8080", at: 0))
    #expect(!key.admits(challenge, for: "elsewhere", at: 1_000_000))
    #expect(
      !ChallengeKey(secret: RandomBytes.next(32)).admits(challenge, for: "hub.example:8080", at: 1_000_000))
    for place in 0..<32 {
      var bytes = challenge.bytes
      bytes[place] ^= 1
      #expect(!key.admits(HubChallenge(bytes)!, for: "hub.example:8080", at: 1_000_000), "byte \(place)")
    }
    #expect(key.challenge(for: "hub.example:8080", at: 1_000_000) != challenge)
  }
}
