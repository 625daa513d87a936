import HeartlogFormat
import Testing

@testable import HeartlogState

@Suite("Which writes had seen which")
struct ReplicaTableTests {
  @Test(
    "a write of a replica that is not in the table, as in a damaged snapshot, supersedes none, and none it")
  func unknownReplica() {
    var table = ReplicaTable()
    let known = WritePosition(stamp: 2, sequence: 1, replica: table.intern(ReplicaID(high: 1, low: 1)))
    let (earlier, later) = (
      WritePosition(stamp: 1, sequence: 1, replica: ReplicaSlot(index: 7)),
      WritePosition(stamp: 3, sequence: 1, replica: ReplicaSlot(index: 7))
    )
    #expect(table.isLater(known, than: earlier) && table.isLater(later, than: known))
    for (write, other) in [(known, earlier), (later, known)] {
      let supersedes = table.supersedes(write, other)
      #expect(!supersedes)
    }
  }
}
