import Heartlog
import HeartlogShipping
import HeartlogTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The example of HeartlogShipping's page.
@Suite("Shipping")
struct ShippingTests {
  @Test("two stores that never meet know the same through a folder")
  func folder() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let phone = try FavoritesStore.inMemory(clock: ManualClock(), seed: 1)
    let laptop = try FavoritesStore.inMemory(clock: ManualClock(), seed: 2)
    try phone.library("papers").add("2101.09077v1")
    var received: UInt64 = 0
    for store in [phone, laptop] { received += try sync(store, through: place) }
    #expect(received == 1 && phone.digest == laptop.digest)
  }

  private func sync(_ store: FavoritesStore, through folder: URL) throws -> UInt64 {
    let cloud = try FolderCarrier(folder)
    let report = try cloud.sync(store, options: SyncOptions())
    print(report.received.commits, report.changedItems)
    return report.received.commits
  }
}
