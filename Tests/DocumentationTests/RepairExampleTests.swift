import Foundation
import Heartlog
import Testing

/// The example of the article "What can go wrong" on files beside the log.
@Suite("The article \"What can go wrong\": files beside the log")
struct RepairExampleTests {
  func open(at path: String) throws(HeartlogError) -> FavoritesStore {
    do {
      return try FavoritesStore(at: path)
    } catch {
      guard error.isRepairable else { throw error }
      let report = try FavoritesStore.repair(at: path)
      for entry in report.entries { print("\(entry.file): \(entry.outcome)") }
      return try FavoritesStore(at: path)
    }
  }

  @Test("a store whose identity is gone opens with all that it had")
  func repaired() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try FavoritesStore(at: folder.path)
    try store.library("papers").add("1")
    try store.close()
    try FileManager.default.removeItem(at: folder.appending(path: "store"))
    let opened = try open(at: folder.path)
    #expect(try opened.library("papers").contains("1"))
    #expect(opened.replica != store.replica)
    #expect(throws: HeartlogError.self) { try open(at: folder.appending(path: "store").path) }
  }
}
