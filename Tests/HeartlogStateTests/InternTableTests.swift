import TestSupport
import Testing

@testable import HeartlogState

@Suite("Key table")
struct InternTableTests {
  @Test("every key is found again under its number, whatever its length")
  func interning() {
    let seed: UInt64 = 3
    print("keys: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    var table = InternTable<Key>()
    var model: [[UInt8]: Int32] = [:]
    #expect(table.find("") == nil)
    for _ in 0..<20_000 {
      let length = Int.random(in: 0...40, using: &generator)
      let key = (0..<length).map { _ in UInt8.random(in: 0...(length < 4 ? 3 : 255), using: &generator) }
      let found = key.withUnsafeBytes { table.find($0) }
      #expect(found == model[key])
      let number = key.withUnsafeBytes { table.intern($0) }
      #expect(number == model[key] ?? Int32(model.count))
      model[key] = number
    }
    #expect(table.count == model.count)
    let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
    for (key, next) in zip(sorted, sorted.dropFirst()) {
      #expect(table.withBytes(of: model[key] ?? -1) { Array($0) } == key)
      #expect(table.precedes(model[key] ?? -1, model[next] ?? -1))
      #expect(!table.precedes(model[next] ?? -1, model[key] ?? -1))
    }
  }

  @Test("a quarter of the entries stays free, so a search for what is absent ends")
  func capacity() {
    for count in 0...2_000 {
      let capacity = InternTable<Key>.capacity(for: count)
      #expect(capacity.nonzeroBitCount == 1 && capacity * 3 >= count * 4, "\(count)")
    }
  }

  @Test("entries of a snapshot without a free one are made anew from the keys")
  func noFreeEntry() {
    var sound = InternTable<Key>()
    let keys = (0..<45).map { Array("\($0) of a length that is beyond a record".utf8.prefix($0)) }
    for key in keys { _ = key.withUnsafeBytes { sound.intern($0) } }
    var full = PagedTable<UInt64>(zeros: 64)
    for index in 0..<64 { full.write(index).pointee = .max }
    var table = InternTable<Key>(seed: sound.seed, entries: full, records: sound.records, texts: sound.texts)
    #expect(table.intern("another") == Int32(sound.count))
    for key in keys {
      #expect(key.withUnsafeBytes { table.find($0) } == key.withUnsafeBytes { sound.find($0) })
    }
  }
}
