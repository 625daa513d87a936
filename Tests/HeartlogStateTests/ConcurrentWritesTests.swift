import HeartlogFormat
import Testing

@testable import HeartlogState

@Suite("Writes that lost to concurrent ones")
struct ConcurrentWritesTests {
  @Test("they are kept until a write of the winner's replica has seen them")
  func superseded() {
    var (a, b) = (StreamWriter(1), StreamWriter(2))
    var state = FavoritesState()
    func note(_ text: String) -> [Field] { [Field(name: "@note", value: .string(text))] }
    let first = a.commit(at: 1, .paper("x", .added, note("first")))
    _ = state.apply(first)
    _ = state.apply(b.commit(at: 2, .paper("x", .removed, note("second"))))
    #expect(state.tables.map(\.rivals.count) == [2] && state.conflicts.count == 2)
    _ = state.apply(b.commit(at: 3, .paper("x", .removed, note("third"))))
    #expect(state.tables.map(\.rivals.count) == [2] && state.conflicts.count == 2)
    b.hear(first)
    _ = state.apply(b.commit(at: 4, .paper("x", .removed, note("last"))))
    #expect(state.tables.map(\.rivals.count) == [0] && state.conflicts.isEmpty)
  }
}
