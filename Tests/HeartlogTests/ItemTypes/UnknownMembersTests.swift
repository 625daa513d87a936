import Foundation
import Testing

@testable import Heartlog

@Suite("What a later version of a type wrote survives the writes of an earlier one")
struct UnknownMembersTests {
  private let test = TestStore()

  struct New: Codable, Identifiable, Sendable, Equatable {
    struct Meta: Codable, Sendable, Equatable { var pages: Int, isbn: String }
    enum Source: Codable, Sendable, Equatable { case shop(name: String, price: Int), gift }
    let id: String
    var title: String
    var meta: Meta
    var parts: [Meta] = []
    var source = Source.gift
  }

  struct Old: Codable, Identifiable, Sendable, Equatable {
    struct Meta: Codable, Sendable, Equatable { var pages: Int }
    enum Source: Codable, Sendable, Equatable { case shop(name: String), gift }
    let id: String
    var title: String
    var meta: Meta
    var parts: [Meta] = []
    var source = Source.gift
  }

  private let item = New(
    id: "a", title: "A", meta: .init(pages: 10, isbn: "978"),
    parts: [.init(pages: 1, isbn: "1"), .init(pages: 2, isbn: "2"), .init(pages: 3, isbn: "3")],
    source: .shop(name: "S", price: 5))

  private func open() throws -> (new: Favorites<New>, old: Favorites<Old>) {
    let store = try test.open()
    let (new, old) = (try store.favorites(of: New.self, in: "b"), try store.favorites(of: Old.self, in: "b"))
    try new.add(item)
    return (new, old)
  }

  @Test(
    "toggled twice, added again and updated elsewhere, a nested value keeps the members that the type does not know"
  )
  func unchanged() throws {
    let (new, old) = try open()
    var listed = try #require(old.list().first)
    try old.toggle(listed)
    try old.toggle(listed)
    try old.add(listed)
    listed.title = "B"
    #expect(try old.update(listed))
    var expected = item
    expected.title = "B"
    #expect(try new.item("a") == expected)
    #expect(try !old.update(listed))
  }

  @Test("a changed member is written, and those beside it stay")
  func changed() throws {
    let (new, old) = try open()
    try old.update("a") { item in
      item.meta.pages = 11
      item.source = .shop(name: "T")
    }
    var expected = item
    expected.meta.pages = 11
    expected.source = .shop(name: "T", price: 5)
    #expect(try new.item("a") == expected)
  }

  @Test("elements of a list keep their unknown members when one is changed, moved, removed or inserted")
  func elements() throws {
    let (new, old) = try open()
    try old.update("a") { $0.parts[1].pages = 20 }
    #expect(try new.item("a")?.parts.map(\.isbn) == ["1", "2", "3"])
    try old.update("a") { $0.parts.swapAt(0, 2) }
    #expect(try new.item("a")?.parts.map(\.isbn) == ["3", "2", "1"])
    try old.update("a") { $0.parts.remove(at: 1) }
    #expect(try new.item("a")?.parts.map(\.isbn) == ["3", "1"])
    try old.update("a") { $0.parts.insert(.init(pages: 9), at: 1) }
    #expect(
      new.library.item("a")?.value(of: "parts")?.description
        == #"[{"isbn":"3","pages":3},{"pages":9},{"isbn":"1","pages":1}]"#)
  }

  @Test("another case of an enum replaces the former with all its members")
  func otherCase() throws {
    let (new, old) = try open()
    try old.update("a") { $0.source = .gift }
    #expect(try new.item("a")?.source == .gift)
  }
}
