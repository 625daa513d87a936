import Foundation
import Testing

@testable import Heartlog

#if os(Linux)
  @Suite("A server with thousands of stores")
  struct ManyStoresTests {
    private static let filesMax = 256
    private static let count = 2_000

    @Test("2,000 stores are open in a process that may have 256 files; each is written and read, twice round")
    func thousands() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        do {
          print(try await Self.run())
        } catch {
          print(error)
          exit(1)
        }
      }
      print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }

    private struct Broken: Error {
      let promise: String
    }

    private static func expect(_ holds: Bool, _ promise: String) throws {
      if !holds { throw Broken(promise: promise) }
    }

    /// In a process of its own.
    private static func run() async throws -> String {
      var limits = rlimit()
      limits.rlim_cur = rlim_t(filesMax)
      limits.rlim_max = rlim_t(filesMax)
      try expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0, "the limit is set")
      // Files like others, without the wait for a disk: making a store is some fsyncs, and here are thousands.
      let memory = URL(filePath: "/dev/shm")
      let isThere = FileManager.default.isWritableFile(atPath: memory.path)
      let parent = isThere ? memory : FileManager.default.temporaryDirectory
      let place = parent.appending(path: "heartlog-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: place) }

      let (filesBefore, bytesBefore) = (try entries("fd"), try residentBytes())
      var options = StoreOptions()
      options.durability = .buffered
      let stores = try (0..<count).map {
        try FavoritesStore(at: place.appending(path: "\($0)"), options: options)
      }
      let bytesEmpty = (try residentBytes() - bytesBefore) / count
      var files = try entries("fd")
      for round in 1...2 {
        for (index, store) in stores.enumerated() {
          let library = try store.library("papers")
          if index % 2 == 0 {
            try library.add("paper \(round)", fields: [Field(name: "title", value: .string("of \(index)"))])
          } else {
            try await library.store.write { try library.add("paper \(round)") }
          }
          try expect(library.counts.favorites == round, "what was written is read")
          if index % 100 == 0 { files = max(files, try entries("fd")) }
        }
      }
      // All at once, from many tasks.
      try await withThrowingTaskGroup { group in
        for store in stores {
          group.addTask {
            try await store.write(durability: .durable) { try store.library("papers").add("last") }
          }
        }
        try await group.waitForAll()
      }
      files = max(files, try entries("fd")) - filesBefore
      let threads = try entries("task")
      let bytes = (try residentBytes() - bytesBefore) / count
      for store in stores {
        try expect(store.library("papers").counts.favorites == 3, "every write is there")
        try expect(store.state().digest == store.digest, "the log makes the same state")
      }
      // A quarter of the limit for files that rest; a few for each thread that is in a call.
      try expect(files <= filesMax / 4 + 4 * 16, "\(files) files are few")
      try expect(threads <= 16 + 16, "\(threads) threads are few")
      return
        "\(count) stores: \(files) files, \(threads) threads, \(bytesEmpty) bytes each when empty, \(bytes) with 3 items"
    }

    /// How many files (`fd`) or threads (`task`) this process has.
    private static func entries(_ kind: String) throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(kind)").count
    }

    private static func residentBytes() throws -> Int {
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return (Int(pages[1]) ?? 0) * Int(getpagesize())
    }
  }
#endif
