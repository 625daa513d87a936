import Heartlog
import HeartlogHub
import HeartlogFormat
import Synchronization
import Testing

@testable import HeartlogHubServer

@Suite struct SessionTests {
  private static let member = VaultMember(
    vault: VaultID(String(repeating: "1", count: 32))!,
    key: PublicKey(bytes: [UInt8](repeating: 1, count: 32))!)

  private static func token(_ number: Int) -> Digest { SHA256Hasher.digest(of: Array("\(number)".utf8)) }

  private static func challenge(_ number: UInt8) -> HubChallenge {
    HubChallenge([UInt8](repeating: number, count: 32))!
  }

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

  @Test func aChallengeOpensOneSession() {
    let sessions = MemorySessions()
    #expect(sessions.open(Self.token(1), for: Self.member, with: Self.challenge(1)))
    #expect(!sessions.open(Self.token(2), for: Self.member, with: Self.challenge(1)))
    #expect(sessions.session(Self.token(1))?.member == Self.member && sessions.session(Self.token(2)) == nil)
  }

  @Test func aKeyHasSoManySessionsAndTheOldestEnds() {
    let now = Mutex<UInt64>(0)
    let sessions = MemorySessions { now.withLock { $0 } }
    for number in 0...HubLimits.sessionsMax {
      #expect(sessions.open(Self.token(number), for: Self.member, with: Self.challenge(UInt8(number))))
    }
    #expect(sessions.session(Self.token(0)) == nil && sessions.session(Self.token(1)) != nil)
    now.withLock { $0 = UInt64(HubLimits.sessionSeconds) * 1_000_000_000 }
    #expect(sessions.session(Self.token(1)) == nil)
    #expect(sessions.open(Self.token(0), for: Self.member, with: Self.challenge(0)))
    #expect(sessions.session(Self.token(0)) != nil)
  }

  @Test func moreSessionsThanThereIsRoomForEndTheOldest() {
    let sessions = MemorySessions(sessionsMax: 2)
    for number in 1...3 {
      let member = VaultMember(
        vault: Self.member.vault, key: PublicKey(bytes: [UInt8](repeating: UInt8(number), count: 32))!)
      #expect(sessions.open(Self.token(number), for: member, with: Self.challenge(UInt8(number))))
    }
    #expect(sessions.session(Self.token(1)) == nil)
    #expect(sessions.session(Self.token(2)) != nil && sessions.session(Self.token(3)) != nil)
  }
}
