import Heartlog
import HeartlogFormat
import Testing

@Suite("The example of checking a proof")
struct ProofExampleTests {
  private func check(_ bytes: [UInt8]) throws {
    guard case .event(let proof) = try ProofFile(bytes) else { return }
    guard let phone = KeyReference("3f9a12c0d4e85b6791ac0f2b37de4c58") else { return }
    guard phone.matches(proof.checkpoint.key) else { return }
    print(proof.event, proof.commit.wallTime, proof.checkpoint.witnesses)
  }

  @Test("a proof is read, and anything else is refused")
  func example() throws {
    let store = try FavoritesStore.inMemory()
    try store.library("papers").add("2403.01234v2")
    let id = EventID(replica: store.replica, sequence: SequenceNumber(rawValue: 1))
    let bytes = ProofFile.event(try store.proof(of: id)).bytes
    try check(bytes)
    #expect(throws: MalformedError.self) { try check(Array(bytes.dropLast())) }
  }
}
