import Foundation
import Synchronization
import Testing

@testable import HeartlogFuzzing

/// fixtures/corpus: a folder for each target. `seed-…` is what the target makes itself, anything else an input that once failed.
/// `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Corpus` writes the seeds anew.
@Suite("Corpus")
struct CorpusTests {
  private static let fixtures = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "fixtures")
  private static let folder = fixtures.appending(path: "corpus")
  private static let isUpdating = ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil
  private static let seedPrefix = "seed-"

  @Test("every target holds for every input of its folder", arguments: FuzzTarget.all.map(\.name))
  func replay(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    for input in try Corpus.inputs(at: Self.folder.appending(path: name).path) {
      #expect(throws: Never.self, "\(input.path)") { try target.run(input.bytes) }
    }
    try target.run([])
  }

  @Test("several threads may try inputs on a store at a time")
  func threads() throws {
    let target = try #require(FuzzTarget.all.first { $0.name == "sync" })
    let inputs = try Corpus.inputs(at: Self.folder.appending(path: target.name).path).prefix(4)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 32) { index in
      let input = inputs[index / 8]
      do { try target.run(input.bytes) } catch { failures.withLock { $0.append("\(input.path): \(error)") } }
    }
    #expect(inputs.count == 4 && failures.withLock { $0 } == [])
  }

  @Test("the seeds in the folder are those that the target makes", arguments: FuzzTarget.all.map(\.name))
  func seeds(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.folder.appending(path: name)
    let seeds = try Dictionary(
      uniqueKeysWithValues: target.seeds(Fixtures(Self.fixtures.path)).map {
        (Self.seedPrefix + $0.name, $0.bytes)
      })
    #expect(!seeds.isEmpty)
    let files = FileManager.default
    // Seeds that differ each time are written once.
    if Self.isUpdating, target.seedsAreReproducible || !files.fileExists(atPath: folder.path) {
      try files.createDirectory(at: folder, withIntermediateDirectories: true)
      for file in try files.contentsOfDirectory(atPath: folder.path) where file.hasPrefix(Self.seedPrefix) {
        try files.removeItem(at: folder.appending(path: file))
      }
      for (file, bytes) in seeds { try Data(bytes).write(to: folder.appending(path: file)) }
    }
    let written = try files.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(Self.seedPrefix) }
    #expect(Set(written) == Set(seeds.keys), "HEARTLOG_UPDATE_GOLDENS=1 writes the seeds that are made now")
    for (file, bytes) in seeds where target.seedsAreReproducible {
      #expect(try Array(Data(contentsOf: folder.appending(path: file))) == bytes, "\(name)/\(file)")
    }
  }

  @Test("no input of a folder is larger than its target tries, and all together are small")
  func sizes() throws {
    var sum = 0
    for target in FuzzTarget.all {
      for input in try Corpus.inputs(at: Self.folder.appending(path: target.name).path) {
        #expect(input.bytes.count <= target.byteCountMax, "\(input.path)")
        sum += input.bytes.count
      }
    }
    #expect(sum <= 500_000)
  }
}
