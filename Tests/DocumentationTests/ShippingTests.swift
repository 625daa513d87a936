import Foundation
import Heartlog
import HeartlogShipping
import HeartlogTesting
import Testing

/// The examples of HeartlogShipping's page and of "Sync two devices".
@Suite("Shipping")
struct ShippingTests {
  private let place = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")

  @Test("two stores that never meet know the same through a folder")
  func folder() async throws {
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let phone = try FavoritesStore.inMemory(clock: ManualClock(), seed: 1)
    let laptop = try FavoritesStore.inMemory(clock: ManualClock(), seed: 2)
    try phone.library("papers").add("2101.09077v1")
    var received: UInt64 = 0
    for store in [phone, laptop] { received += try await sync(store, through: place) }
    #expect(received == 1 && phone.digest == laptop.digest)
  }

  private func sync(_ store: FavoritesStore, through folder: URL) async throws -> UInt64 {
    let cloud = try FolderCarrier(folder)
    let report = try await store.async.sync(with: cloud)
    print(report.received.commits, report.changedItems)
    return report.received.commits
  }

  @Test("two devices show the same, disagree, and agree again")
  func twoDevices() async throws {
    let place = URL.temporaryDirectory.appending(path: UUID().uuidString)
    let cloud = place.appending(path: "cloud")
    let phone = try SyncedCookBook(at: place.appending(path: "phone"), device: "phone", cloud: cloud)
    let tablet = try SyncedCookBook(at: place.appending(path: "tablet"), device: "tablet", cloud: cloud)
    try await phone.recipes.async.add(Recipe(id: "nata", title: "Pastel de nata"))
    for device in [phone, tablet] { _ = await device.sync() }
    print(tablet.recipes.list().map(\.title))  // ["Pastel de nata"]
    defer { try? FileManager.default.removeItem(at: place) }
    #expect(tablet.recipes.list().map(\.title) == ["Pastel de nata"])

    // Both have now seen each other's commits so far, and write apart.
    try await phone.recipes.async.setNote("with cinnamon", of: "nata")
    try await tablet.recipes.async.setNote("without", of: "nata")
    for device in [phone, tablet, phone] { #expect(try await device.syncInBackground()) }
    #expect(phone.store.digest == tablet.store.digest && phone.questions == tablet.questions)
    let question = try #require(phone.questions.first)
    let hidden = try #require(question.writes.last)
    try await phone.answer(question, with: hidden)
    #expect(hidden.value == .field(.string(try #require(phone.recipes.note(of: "nata")))))
    for device in [phone, tablet] { #expect(await device.sync() == nil) }
    #expect(tablet.questions.isEmpty && phone.store.digest == tablet.store.digest)

    try FileManager.default.removeItem(at: cloud)
    #expect(await phone.sync()?.contains("there is no folder") == true)
  }
}

/// The favorites of the app, and the way to the other devices.
struct SyncedCookBook: Sendable {
  let store: FavoritesStore
  let recipes: Favorites<Recipe>
  let cloud: FolderCarrier

  init(at folder: URL, device: String, cloud: URL) throws {
    var options = StoreOptions()
    options.name = device
    store = try FavoritesStore(at: folder, options: options)
    recipes = try store.favorites(of: Recipe.self, in: "recipes")
    try FileManager.default.createDirectory(at: cloud, withIntermediateDirectories: true)
    self.cloud = try FolderCarrier(cloud)
  }
}

extension SyncedCookBook {
  /// Syncs at launch, and after taps.
  ///
  /// - Returns: what to show, if anything went wrong.
  func sync() async -> String? {
    do {
      let report = try await store.async.sync(with: cloud)
      for stream in report.skipped { print("\(stream.name) waits: \(stream.reason)") }
      return report.isComplete || report.unfinished != nil
        ? nil : "Some favorites of other devices could not be read."
    } catch {
      return error.description
    }
  }

  /// Syncs in a background task.
  ///
  /// - Returns: whether nothing is left for the next one.
  func syncInBackground() async throws -> Bool {
    let options = SyncOptions(deadline: .now + .seconds(25))
    let report = try await store.async.sync(with: cloud, options: options)
    if let left = report.unfinished?.commitsToReceive { print("\(left) commits are left to receive") }
    return report.unfinished == nil
  }

  /// What devices disagree on.
  var questions: [Conflict] { store.conflicts.filter { $0.library == "recipes" } }

  func answer(_ question: Conflict, with write: Conflict.Write) async throws {
    try await store.async.write { try store.resolve(question, with: write) }
  }
}
