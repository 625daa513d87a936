import Foundation
import HeartlogLibraries
import LibraryTestSupport
import Testing

@testable import Heartlog

@MainActor
@Suite("books: the model for views", .timeLimit(.minutes(1)))
struct BookLibraryModelTests {
  private let shelf: BookShelf

  init() throws { shelf = try BookShelf() }

  private func model() throws -> BookLibraryModel { try BookLibraryModel(shelf.store) }

  @Test("what a person does shows at once, and is written in order")
  func optimistic() async throws {
    let model = try model()
    model.add([book(1), book(2)])
    model.select(book(2).id)
    model.settings.playbackSpeed = 1.5
    #expect(model.books.map(\.title) == ["Book 1", "Book 2"] && model.currentBook?.title == "Book 2")
    #expect(model.settings.playbackSpeed == 1.5)
    await model.finishWriting()
    #expect(model.lastError == nil)
    let library = try shelf.another()
    #expect(library.loadBooks().count == 2 && library.loadCurrentBookID() == book(2).id)
    #expect(library.loadSettings().playbackSpeed == 1.5)
    #expect(model.chapters.count == PlaybackSettings().chapters(duration: 3_600).count)

    let deleted = await model.delete(book(2).id)
    #expect(deleted?.files.map(\.path) == ["/Books/2.m4b"] && model.currentBook == nil)
    #expect(await model.delete(book(9).id) == nil)
    #expect(library.loadBooks().map(\.title) == ["Book 1"])
  }

  @Test("positions that wait are shown, and written at most every 5 s and at a pause")
  func positions() async throws {
    let model = try model()
    model.add([book(1)])
    model.select(book(1).id)
    await model.finishWriting()
    for second in 1...9 {
      shelf.clock.advance(seconds: 1)
      model.report(position: Double(second))
      #expect(model.currentBook?.currentPosition == Double(second))
      await model.finishWriting()
    }
    model.report(position: .nan)
    #expect(try shelf.positionEvents(of: book(1).id).count == 2)
    // Another model of the same library reads what waits here.
    #expect(model.library.loadBooks().first?.currentPosition == 9)
    model.pause()
    await model.finishWriting()
    #expect(try shelf.positionEvents(of: book(1).id).map(\.seconds) == [.int64(1), .int64(6), .int64(9)])
    model.restart(book(1).id)
    #expect(model.currentBook?.currentPosition == 0)
    await model.finishWriting()
    #expect(try shelf.another().loadPosition(for: book(1).id) == 0)
  }

  @Test("what other windows and devices do shows by itself: books, settings, the current book")
  func elsewhere() async throws {
    let model = try model()
    let other = try shelf.another()
    try other.addBooks([book(1), book(2)])
    await wait { model.books.map(\.title) == ["Book 1", "Book 2"] }
    var settings = other.loadSettings()
    settings.skipForwardInterval = 15
    try other.saveSettings(settings)
    await wait { model.settings.skipForwardInterval == 15 }
    try other.saveCurrentBookID(book(1).id)
    await wait { model.currentBook?.title == "Book 1" }
    try other.deleteBook(book(1).id)
    await wait { model.books.map(\.title) == ["Book 2"] && model.currentBook == nil }
    // A record that is no book is told, and hides nothing.
    try shelf.store.library("books").add("not-a-uuid")
    await wait { model.failures.map(\.id) == ["not-a-uuid"] }
    #expect(model.books.count == 1)
  }

  @Test("a setting that is set back is written, although this device once had it")
  func settingBack() async throws {
    let model = try model()
    let other = try shelf.another()
    var settings = other.loadSettings()
    settings.playbackSpeed = 2
    try other.saveSettings(settings)
    await wait { model.settings.playbackSpeed == 2 }
    shelf.clock.advance(seconds: 1)
    model.settings.playbackSpeed = 1
    await model.finishWriting()
    #expect(other.loadSettings().playbackSpeed == 1)
    await wait { model.settings.playbackSpeed == 1 }
  }

  @Test("what a person does shows before it is written")
  func beforeWrite() async throws {
    let model = try model()
    let gate = await shelf.store.holdWrites()
    model.add([book(1)])
    model.select(book(1).id)
    #expect(model.currentBook?.title == "Book 1" && shelf.commitCount == 0)
    gate.signal()
    await model.finishWriting()
    #expect(try shelf.another().loadCurrentBookID() == book(1).id)

    let second = await shelf.store.holdWrites()
    let deletion = Task { await model.delete(book(1).id) }
    await wait { model.books.isEmpty }
    #expect(try model.currentBookID == nil && shelf.another().loadBooks().count == 1)
    second.signal()
    #expect(await deletion.value?.id == book(1).id)
  }

  @Test("a failed write is kept with its subject until it is dismissed, or until the same is written")
  func failedWrites() async throws {
    let model = try model()
    model.settings.playbackSpeed = 9
    model.add([book(1)])
    model.select(book(1).id)
    await model.finishWriting()
    #expect(model.failedWrites.map(\.id) == [.settings] && model.lastError?.code == .invalidItem)
    await wait { model.settings.playbackSpeed == 1 }
    model.settings.playbackSpeed = 2
    await model.finishWriting()
    #expect(model.failedWrites.isEmpty)
    model.settings.playbackSpeed = 9
    await model.finishWriting()
    model.dismissFailure(of: .settings)
    #expect(model.failedWrites.isEmpty && model.lastError == nil)
  }

  @Test("what cannot be written is taken back and told")
  func failure() async throws {
    let model = try model()
    model.add([book(1)])
    await model.finishWriting()
    model.settings.playbackSpeed = 9
    #expect(model.settings.playbackSpeed == 9)
    await wait { model.settings.playbackSpeed == 1 }
    #expect(model.lastError?.code == .invalidItem)

    try shelf.store.close()
    model.select(book(1).id)
    #expect(model.currentBook != nil)
    await wait { model.currentBook == nil }
    #expect(model.lastError?.code == .misuse && model.books.count == 1)
    #expect(await model.delete(book(1).id) == nil)
    await wait { model.books.count == 1 }
  }
}
