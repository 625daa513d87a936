import Foundation
import Heartlog
import Testing

/// The cook book of "Getting started", and what it promises.
@MainActor
@Suite("The cook book of the documentation")
struct CookBookTests {
  private let soup = Recipe(id: "ribollita", title: "Ribollita")
  private let tart = Recipe(id: "nata", title: "Pastel de nata")

  private func withCookBook(_ body: (CookBook) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let book = try CookBook(at: folder)
    try await body(book)
  }

  @Test("a tap makes a favorite, and another one none")
  func taps() async throws {
    try await withCookBook { book in
      let isFavorite = try await book.tap(soup)
      #expect(isFavorite)
      #expect(book.favorites.map(\.id) == ["ribollita"])
      let isStillFavorite = try await book.tap(soup)
      #expect(!isStillFavorite)
      #expect(book.favorites.isEmpty)
    }
  }

  @Test("a dinner is one commit, with its notes")
  func dinner() async throws {
    try await withCookBook { book in
      try book.plan([soup, tart], for: "Saturday")
      #expect(try book.store.status().commits == 1)
      #expect(book.recipes.note(of: "nata") == "Saturday")
      #expect(book.favorites.count == 2)
    }
  }

  @Test("a model has the favorites, and a change is told")
  func changes() async throws {
    try await withCookBook { book in
      let model = book.model()
      model.toggle(soup)
      #expect(model.items.map(\.id) == ["ribollita"])
      await model.finishWriting()

      let changes = book.recipes.changes
      _ = try await book.tap(tart)
      for await notice in changes {
        guard case .change(let change) = notice else { continue }
        #expect(change.event.item == "nata")
        break
      }
    }
  }

  @Test("following ends when the store is closed")
  func follows() async throws {
    try await withCookBook { book in
      try book.store.close()
      await book.follow { Issue.record("\($0) was told") }
    }
  }

  @Test("what was a favorite at a date is made from the log")
  func past() async throws {
    try await withCookBook { book in
      let before = Date.now.addingTimeInterval(-3_600)
      _ = try await book.tap(soup)
      #expect(try book.favorites(at: before).isEmpty)
      #expect(try book.favorites(at: .now.addingTimeInterval(3_600)) == ["ribollita"])
    }
  }
}
