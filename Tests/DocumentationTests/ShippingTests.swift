import Foundation
import Heartlog
import HeartlogSync
import Testing

/// The examples of HeartlogSync's page.
@Suite("Shipping")
struct ShippingTests {
  @Test("two devices show the same, disagree, and agree again")
  func twoDevices() async throws {
    let place = URL.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: place) }
    let cloud = place.appending(path: "cloud")
    let phone = try SyncedStore(at: place.appending(path: "phone"), device: "phone", cloud: cloud)
    let tablet = try SyncedStore(at: place.appending(path: "tablet"), device: "tablet", cloud: cloud)
    let (here, there) = (try phone.store.library("recipes"), try tablet.store.library("recipes"))
    try here.add("nata")
    for device in [phone, tablet] { #expect(await device.sync() == nil) }
    #expect(there.contains("nata"))

    // Both have now seen each other's commits so far, and write apart.
    try here.setNote("with cinnamon", of: "nata")
    try there.setNote("without", of: "nata")
    for device in [phone, tablet, phone] { #expect(try await device.syncInBackground()) }
    #expect(phone.store.digest == tablet.store.digest && phone.store.conflicts == tablet.store.conflicts)
    let question = try #require(phone.store.conflicts.first)
    #expect(question.writes.first?.value == .field(.string(try #require(here.note(of: "nata")))))
    let hidden = try #require(question.writes.last)
    try phone.store.resolve(question, with: hidden)
    #expect(hidden.value == .field(.string(try #require(here.note(of: "nata")))))
    for device in [phone, tablet] { #expect(await device.sync() == nil) }
    #expect(tablet.store.conflicts.isEmpty && phone.store.digest == tablet.store.digest)

    try FileManager.default.removeItem(at: cloud)
    #expect(await phone.sync()?.contains("there is no folder") == true)
  }
}

struct SyncedStore: Sendable {
  let store: FavoritesStore
  let cloud: FolderCarrier

  init(at folder: URL, device: String, cloud: URL) throws {
    var options = StoreOptions()
    options.name = device  // shown where devices are listed
    store = try FavoritesStore(at: folder, options: options)
    try FileManager.default.createDirectory(at: cloud, withIntermediateDirectories: true)
    self.cloud = try FolderCarrier(cloud)
  }
}

extension SyncedStore {
  func sync() async -> String? {
    do {
      let report = try await store.sync(with: cloud)
      for stream in report.skipped { print("\(stream.name) waits: \(stream.reason)") }
      return report.isComplete || report.unfinished != nil
        ? nil : "Some favorites of other devices could not be read."
    } catch {
      return error.description
    }
  }

  func syncInBackground() async throws -> Bool {
    let options = SyncOptions(deadline: .now + .seconds(25))
    return try await store.sync(with: cloud, options: options).unfinished == nil
  }
}
