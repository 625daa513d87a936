import Foundation
import Heartlog
import HeartlogSync
import Testing

/// The examples of HeartlogSync's page.
@MainActor @Suite("Shipping")
struct ShippingTests {
  /// Longer than a run of all tests, in which this one may wait for its turn.
  private let longer = Duration.seconds(86_400)

  @Test("two devices show the same, disagree, and agree again")
  func twoDevices() async throws {
    let place = URL.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: place) }
    let cloud = place.appending(path: "cloud")
    let phone = try SyncedStore(at: place.appending(path: "phone"), device: "phone", cloud: cloud)
    let tablet = try SyncedStore(at: place.appending(path: "tablet"), device: "tablet", cloud: cloud)
    let (here, there) = (try phone.store.library("recipes"), try tablet.store.library("recipes"))
    try here.add("nata")
    for device in [phone, tablet] {
      #expect(try await device.syncInBackground(for: longer))
      #expect(device.status == "Up to date")
    }
    #expect(there.contains("nata"))

    // Both have now seen each other's commits so far, and write apart.
    try here.setNote("with cinnamon", of: "nata")
    try there.setNote("without", of: "nata")
    for device in [phone, tablet, phone] { #expect(try await device.syncInBackground(for: longer)) }
    #expect(phone.store.digest == tablet.store.digest && phone.store.conflicts == tablet.store.conflicts)
    let question = try #require(phone.store.conflicts.first)
    #expect(question.writes.first?.value == .field(.string(try #require(here.note(of: "nata")))))
    let hidden = try #require(question.writes.last)
    try phone.store.resolve(question, with: hidden)
    #expect(hidden.value == .field(.string(try #require(here.note(of: "nata")))))
    for device in [phone, tablet] { #expect(try await device.syncInBackground(for: longer)) }
    #expect(tablet.store.conflicts.isEmpty && phone.store.digest == tablet.store.digest)

    try FileManager.default.removeItem(at: cloud)
    phone.becameActive()
    while phone.cloud.error == nil { try await Task.sleep(for: .milliseconds(2)) }
    #expect(try await phone.syncInBackground(for: longer) == false)
    #expect(phone.cloud.error?.code == .notAStore && phone.status == phone.cloud.error?.title)
  }

  @Test(
    "a device that joins is shown at the others before it has written anything", arguments: [false, true])
  func joining(isEncrypted: Bool) async throws {
    let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let cloud = folder.appending(path: "cloud")
    let phone = try SyncedStore(at: folder.appending(path: "phone"), device: "phone", cloud: cloud)
    let tablet = try SyncedStore(at: folder.appending(path: "tablet"), device: "tablet", cloud: cloud)
    for device in [phone, tablet] { await device.cloud.stop() }
    try FileManager.default.removeItem(at: cloud)
    try FileManager.default.createDirectory(at: cloud, withIntermediateDirectories: true)
    let place = try FolderCarrier(cloud)
    try phone.store.library("recipes").add("nata")
    var options = SyncOptions()
    options.encrypts = isEncrypted
    try await phone.store.sync(with: place, options: options)

    let line = try await phone.invite(to: place)
    #expect(line.utf8.count < 1_000 && line.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    #expect(phone.others.isEmpty)
    try await tablet.join(line, through: FolderCarrier(cloud))
    #expect(try tablet.store.library("recipes").contains("nata"))
    try await phone.store.sync(with: place)
    #expect(phone.others.map(\.name) == ["tablet"])
    try await tablet.store.sync(with: place)
    #expect(phone.store.digest == tablet.store.digest)
    #expect(tablet.others.map(\.name) == ["phone"])
  }
}

@MainActor
final class SyncedStore {
  let store: FavoritesStore
  let cloud: AutomaticSync

  init(at folder: URL, device: String, cloud: URL) throws {
    var options = StoreOptions()
    options.name = device  // shown where devices are listed
    store = try FavoritesStore(at: folder, options: options)
    try FileManager.default.createDirectory(at: cloud, withIntermediateDirectories: true)
    self.cloud = store.syncAutomatically(with: try FolderCarrier(cloud))
  }
}

extension SyncedStore {
  var status: String {
    if cloud.isSyncing { return "Syncing" }
    if let error = cloud.error { return error.title }
    guard let report = cloud.report else { return "Not synced yet" }
    if report.unfinished != nil || report.waitingFiles > 0 { return "More to come" }
    return report.isComplete ? "Up to date" : "Some favorites of other devices could not be read."
  }

  func becameActive() { cloud.isPaused = false }

  func syncInBackground(for duration: Duration = .seconds(25)) async throws -> Bool {
    cloud.isPaused = true
    let isDone = await cloud.sync(deadline: .now + duration)
    try await store.suspend()
    return isDone
  }

  /// The line for a QR code, or to be sent as one sends a password.
  func invite(to place: FolderCarrier) async throws -> String {
    try await store.run { try $0.invitation(to: place) }
  }

  func join(_ line: String, through place: FolderCarrier) async throws {
    try await store.run { try $0.join(line, through: place) }
  }

  /// The other devices. One that joins is among them after the next sync.
  var others: [Device] { store.devices.filter { !$0.isOwn && !$0.isRetired } }
}
