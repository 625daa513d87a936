import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog

@Suite("Lists of items")
struct ItemListTests {
  @Test("a list has what an array has after the same changes", arguments: [0, 1, 255, 256, 257, 3_000])
  func asArray(count: Int) {
    var random = SeededGenerator(seed: UInt64(count))
    var array = Array(0..<count)
    var list = ItemList(array)
    #expect(Array(list) == array)
    for step in 0..<4_000 {
      // First more additions than removals, then the other way round.
      let adds = Int.random(in: 0..<10, using: &random) < (step < 2_000 ? 7 : 3)
      if adds || array.isEmpty {
        let position = Int.random(in: 0...array.count, using: &random)
        array.insert(step, at: position)
        list.insert(step, at: position)
      } else if step % 7 == 0 {
        #expect(list.removeLast() == array.removeLast())
      } else {
        let position = Int.random(in: 0..<array.count, using: &random)
        #expect(list.remove(at: position) == array.remove(at: position))
      }
      if !array.isEmpty {
        let position = Int.random(in: 0..<array.count, using: &random)
        array[position] = -step
        list[position] = -step
        #expect(list[position] == array[position])
      }
      #expect(list.count == array.count)
      if step % 100 == 0 {
        #expect(Array(list) == array)
        #expect(list.indices.map { list[$0] } == array)
      }
    }
    #expect(Array(list) == array)
    while !array.isEmpty { #expect(list.remove(at: array.count / 2) == array.remove(at: array.count / 2)) }
    #expect(list == [])
  }

  @Test("a copy keeps what it had")
  func copies() {
    var list = ItemList(Array(0..<1_000))
    let copy = list
    list.insert(-1, at: 500)
    list.remove(at: 0)
    list[10] = -2
    #expect(Array(copy) == Array(0..<1_000))
    #expect(list.count == 1_000 && list.contains(-1) && list.contains(-2) && list.first == 1)
  }

  @Test("a slice and a reversed list have their items")
  func slices() {
    let list = ItemList(Array(0..<1_000))
    #expect(Array(list[250...260]) == Array(250...260))
    #expect(Array(list.reversed().prefix(3)) == [999, 998, 997])
  }
}
