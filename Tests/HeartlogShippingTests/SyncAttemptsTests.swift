import Heartlog
import Testing

@testable import HeartlogShipping

@Suite("The dialogues of a sync")
struct SyncAttemptsTests {
  @Test("a dialogue that breaks off for a reason of its own is held again, eight times at most")
  func most() {
    var dialogues = 0
    let error = #expect(throws: HeartlogError.self) {
      try SyncAttempts.hold(SyncOptions()) { (attempts) throws(HeartlogError) in
        dialogues += 1
        attempts.startAgain()
        throw HeartlogError(.locked, "again")
      }
    }
    #expect(dialogues == 8 && error?.code == .locked)
  }

  @Test("a dialogue that breaks off for no new reason is not held again")
  func nothingNew() {
    var dialogues = 0
    #expect(throws: HeartlogError.self) {
      try SyncAttempts.hold(SyncOptions()) { (attempts) throws(HeartlogError) in
        dialogues += 1
        if dialogues == 1 { attempts.startAgain() }
        throw HeartlogError(.peer, "nonsense")
      }
    }
    #expect(dialogues == 2)
  }
}
