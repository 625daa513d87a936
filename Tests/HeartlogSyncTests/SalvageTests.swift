import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import Heartlog
@testable import HeartlogEngine
@testable import HeartlogSync

@Suite("Salvaging what can be read")
struct SalvageTests {
  private typealias Damage = DamagedDevices.Damage

  private func salvage(
    _ devices: DamagedDevices, from source: (any Carrier)? = nil, as folder: String = "/rescued"
  ) throws -> (report: SalvageReport, store: FavoritesStore) {
    let report = try FavoritesStore.salvage(
      at: DamagedDevices.path, to: folder, on: devices.files, from: source,
      options: DamagedDevices.options("Rescued"))
    return (report, try FavoritesStore(at: folder, on: devices.files, options: DamagedDevices.options()))
  }

  @Test("everything that can be read is there, and exactly the rest is named")
  func everything() throws {
    let original = try DamagedDevices(tail: 0)
    let whole = try original.readable()
    for path in try original.segments() {
      for damage in Damage.allCases {
        let comment: Comment = "\(path), \(damage)"
        let devices = original.copy()
        try damage.apply(to: path, in: devices.files)
        let before = try devices.readable()
        let files = try devices.streamFiles()
        let (report, store) = try salvage(devices)
        #expect(try devices.streamFiles() == files, "\(comment): the damaged store is only read")
        let salvaged = Set(
          try DamagedDevices.readable(StoreDirectory(fileSystem: devices.files, path: "/rescued"))
            .values.flatMap(\.values))
        #expect(Set(before.values.flatMap(\.values)).subtracting(salvaged).isEmpty, comment)
        for stream in report.streams {
          let readable = Set(before[stream.replica, default: [:]].keys)
          let lost = Set(whole[stream.replica, default: [:]].keys).subtracting(readable)
          let named = Set(stream.lost.flatMap { $0.lowerBound.rawValue...$0.upperBound.rawValue })
          #expect(named == lost, "\(comment): \(stream)")
          let kept = UInt64(readable.count)
          let branched = stream.branches.reduce(0) {
            $0 + $1.commits.upperBound.rawValue - $1.commits.lowerBound.rawValue + 1
          }
          #expect(stream.lastCommit + branched == kept, "\(comment): \(stream)")
        }
        let found = try store.verify().streams.compactMap(\.finding)
        #expect(found.isEmpty, "\(comment): \(found.map(\.error))")
        // It goes on, and gets from the other device what is lost.
        try DamagedDevices.write("later", to: store)
        let files2 = try #require(original.tablet.fileSystem as? MemoryFileSystem)
        let tablet = try FavoritesStore(
          at: original.tablet.path, on: files2.deepCopy(), options: DamagedDevices.options())
        let synced = try StoreCarrier(tablet, description: "the tablet").sync(store, options: SyncOptions())
        #expect(synced.isComplete && synced.forks.isEmpty, comment)
        #expect(store.digest == tablet.digest, comment)
        let end = try (store.verify().streams + tablet.verify().streams).compactMap(\.finding)
        #expect(end.isEmpty, "\(comment): \(end.map(\.error))")
      }
    }
  }

  @Test("what a source has is not lost")
  func withSource() throws {
    let devices = try DamagedDevices(tail: 0)
    for path in try devices.segments() { try Damage.firstFrame.apply(to: path, in: devices.files) }
    let source = StoreCarrier(devices.tablet, description: "the tablet")
    let (report, store) = try salvage(devices, from: source)
    #expect(report.isWhole && store.digest == devices.tablet.digest)
    #expect(store.vault?.id == devices.tablet.vault?.id)
  }

  @Test("a sound store is salvaged as a whole; a place with something in it is refused")
  func sound() throws {
    let devices = try DamagedDevices()
    let (report, store) = try salvage(devices)
    #expect(try report.isWhole && store.digest == devices.open().digest)
    #expect(report.streams.allSatisfy { $0.badBytes.isEmpty && $0.branches.isEmpty && $0.lost.isEmpty })
    #expect(throws: HeartlogError.self) { try salvage(devices) }
    #expect(throws: HeartlogError.self) { try salvage(devices, as: DamagedDevices.path) }
  }

  @Test("a stream that was ended is there up to its end, and stays ended")
  func ended() throws {
    let devices = try DamagedDevices()
    let before = try devices.open()
    try before.endStream(devices.phone, after: CommitNumber(rawValue: 25))
    let (roots, digest) = (try before.roots(), before.digest)
    try before.close()
    let (report, store) = try salvage(devices)
    #expect(try report.isWhole && store.digest == digest && store.roots() == roots)
    #expect(try store.streamHeads().filter(\.isEnded).map(\.replica) == [devices.phone])
  }

  @Test("stores that salvage the same commits go on with the same streams")
  func sameStreams() throws {
    let devices = try DamagedDevices()
    let other = devices.copy()
    let paths = try devices.segments().filter { $0.contains("\(devices.tablet.replica)") }
    try Damage.firstFrame.apply(to: paths[0], in: devices.files)
    try Damage.middle.apply(to: paths[0], in: other.files)
    let (one, first) = try salvage(devices)
    let (two, second) = try salvage(other)
    let branches = one.streams.flatMap(\.branches)
    #expect(
      !branches.isEmpty && Set(branches.map(\.replica)) == Set(two.streams.flatMap(\.branches).map(\.replica))
    )
    let synced = try StoreCarrier(second, description: "the other").sync(first, options: SyncOptions())
    #expect(synced.forks.isEmpty && synced.isComplete && first.digest == second.digest)
  }

  @Test("a store without its file `store` is salvaged, too")
  func withoutIdentity() throws {
    let devices = try DamagedDevices()
    let digest = try devices.open().digest
    try devices.files.remove("\(DamagedDevices.path)/store")
    let (report, store) = try salvage(devices)
    #expect(report.isWhole && store.digest == digest && store.vault?.id == devices.tablet.vault?.id)
  }
}
