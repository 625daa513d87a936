import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Synchronization
import Testing

@MainActor
@Suite("breeds: the details model for views", .timeLimit(.minutes(1)))
struct BreedDetailsModelTests {
  private let store: FavoritesStore
  private let manager: FavoritesManager
  private struct Offline: Error {}

  init() throws {
    store = try .inMemory()
    manager = try FavoritesManager(store)
  }

  private func image(_ name: String) throws -> BreedImage { try FavoritesManagerTests.image(name) }

  @Test("a fetch that fails leaves the last list, and tells the error")
  func failedFetch() async throws {
    let isOnline = Mutex(true)
    let images = [try image("akita/1"), try image("akita/2")]
    let model = BreedDetailsModel(manager) { _ in
      guard isOnline.withLock({ $0 }) else { throw Offline() }
      return images
    }
    await model.load("akita")
    #expect(model.images == images && model.fetchError == nil && !model.isLoading)
    isOnline.withLock { $0 = false }
    await model.load("akita")
    #expect(model.images == images && model.fetchError is Offline && !model.isLoading)
    // The list goes on following the hearts.
    try manager.toggle(images[1])
    await wait { model.images.map(\.isFavorite) == [false, true] }
    isOnline.withLock { $0 = true }
    await model.load("akita")
    #expect(model.fetchError == nil && model.images.map(\.isFavorite) == [false, true])
  }

  @Test("a tap shows at once, is written, and is taken back and told if it cannot be")
  func taps() async throws {
    let images = [try image("akita/1"), try image("akita/1"), try image("akita/2")]
    let model = BreedDetailsModel(manager) { _ in images }
    await model.load("akita")
    await model.toggle(images[0])
    #expect(model.images.map(\.isFavorite) == [true, true, false] && manager.isLiked(images[0]))
    await model.toggle(images[0])
    #expect(model.images.map(\.isFavorite) == [false, false, false] && !manager.isLiked(images[0]))
    try store.close()
    await model.toggle(images[2])
    #expect(model.images.map(\.isFavorite) == [false, false, false])
    #expect(model.liked.lastError?.code == .misuse)
    #expect(model.liked.failedTaps.map(\.id) == [images[2].url])
    model.liked.lastError = nil
    #expect(model.liked.failedTaps.isEmpty)
  }

  @Test("a tap shows before it is written, and of several quick taps the last one wins")
  func tapBeforeWrite() async throws {
    let images = [try image("akita/1")]
    let model = BreedDetailsModel(manager) { _ in images }
    await model.load("akita")
    let gate = await store.holdWrites()
    let tap = Task { await model.toggle(images[0]) }
    await wait { model.images.map(\.isFavorite) == [true] }
    #expect(!manager.isLiked(images[0]))
    let second = Task { await model.toggle(images[0]) }
    await wait { model.images.map(\.isFavorite) == [false] }
    let third = Task { await model.toggle(images[0]) }
    await wait { model.images.map(\.isFavorite) == [true] }
    gate.signal()
    for task in [tap, second, third] { await task.value }
    #expect(manager.isLiked(images[0]) && model.images.map(\.isFavorite) == [true])
  }

  @Test("hearts of a list that was replaced do not bring it back")
  func replacedList() async throws {
    let model = BreedDetailsModel(manager) { breed in [try FavoritesManagerTests.image("\(breed)/1")] }
    await model.load("akita")
    await model.load("pug")
    for _ in 0..<100 {
      try manager.toggle(image("akita/1"))
      await Task.yield()
      try #require(model.images.map(\.breed) == ["pug"])
    }
    try manager.toggle(image("pug/1"))
    await wait { model.images.map(\.isFavorite) == [true] }
  }

  @Test("of two loads at a time, the later one counts")
  func twoLoads() async throws {
    let gate = AsyncStream<Void>.makeStream()
    let model = BreedDetailsModel(manager) { breed in
      if breed == "slow" { for await _ in gate.stream { break } }
      return [try FavoritesManagerTests.image("\(breed)/1")]
    }
    let slow = Task { await model.load("slow") }
    await wait { model.isLoading }
    await model.load("akita")
    gate.continuation.yield()
    await slow.value
    #expect(model.images.map(\.breed) == ["akita"] && !model.isLoading)
  }
}
