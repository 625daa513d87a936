import Foundation
import HeartlogCrashModel
import HeartlogFiles
import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog
@testable import HeartlogEngine
@testable import HeartlogSync

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SeededGenerator {
  mutating func text(_ count: Int) -> String {
    String((0..<count).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x21...0x7E, using: &self))) })
  }
}

enum Pipes {
  /// Two channels over two pipes, as a command's ends are.
  static func channels() throws -> (any ByteChannel, any ByteChannel) {
    var there: [Int32] = [0, 0]
    var back: [Int32] = [0, 0]
    guard pipe(&there) == 0, pipe(&back) == 0 else { throw HeartlogError(.inputOutput, "no pipes") }
    return (
      DescriptorChannel(input: back[0], output: there[1]), DescriptorChannel(input: there[0], output: back[1])
    )
  }
}

extension RunFile {
  /// The same runs without what proves them.
  var withoutProof: RunFile {
    RunFile(
      replica: replica, name: name, firstCommit: firstCommit,
      runs: runs.map { run in
        var run = run
        run.proof = nil
        return run
      })
  }
}

extension FavoritesStore {
  /// By replica: the last commit and the root of its stream.
  func roots() throws -> [ReplicaID: String] {
    try Dictionary(
      uniqueKeysWithValues: streamHeads().map { head in
        (head.replica, "\(head.commit) \(head.root)")
      })
  }
}

/// Devices in memory that have no key.
extension FavoritesStore {
  /// - Parameter number: Another one makes another device.
  static func device(
    _ number: UInt64, _ name: String = "", eventsPerRun: Int = Limits.blockEventsMax,
    on files: MemoryFileSystem = MemoryFileSystem(recording: false)
  ) throws -> FavoritesStore {
    // A minute passes between two looks at it.
    let clock = ManualClock(start: Date(timeIntervalSince1970: 1_772_438_400))
    let random = SeededRandom(seed: number)
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    options.deviceKey = .none
    options.random = { random.next() }
    options.clock = {
      clock.advance(by: 60)
      return clock.milliseconds
    }
    options.changeStorage = { $0.runEventsMax = eventsPerRun }
    return try FavoritesStore(at: "/favorites.heartlog", on: files, options: options)
  }

  static func phoneAndTablet(
    eventsPerRun: Int = Limits.blockEventsMax
  ) throws -> (FavoritesStore, FavoritesStore) {
    try (
      device(1, "phone", eventsPerRun: eventsPerRun), device(2, "tablet", eventsPerRun: eventsPerRun)
    )
  }

  /// The files of a store in memory.
  var files: MemoryFileSystem {
    get throws { try #require(fileSystem as? MemoryFileSystem) }
  }

  /// The same store elsewhere: a copy of its folder, which it does not notice.
  func copy() throws -> FavoritesStore {
    try FavoritesStore(at: path, on: files.deepCopy(), options: options)
  }

  /// Writes commits of one event each.
  func write(_ count: Int, tag: String = "", title: String = "", library: String = "papers") throws {
    let known = try streamHead(of: replica)?.commit.rawValue ?? 0
    for number in Int(known) + 1..<Int(known) + 1 + count {
      let fields = title.isEmpty ? [] : [Field(name: "title", value: .string("\(title) \(number)"))]
      try self.library(library).add("\(tag)\(number * 7919 % 1_000_003)", fields: fields)
    }
  }

  var streams: [ReplicaID: StreamHead] {
    get throws { Dictionary(uniqueKeysWithValues: try streamHeads().map { ($0.replica, $0) }) }
  }

  func commitCount(of replica: ReplicaID) throws -> UInt64? { try streamHead(of: replica)?.commit.rawValue }
}

/// When a store finds that a file of it went bad.
enum DamageNotice: CaseIterable {
  /// While it is opened.
  case whenOpening
  /// It was opened from a snapshot, and looks at what comes before it.
  case whenLooking
  /// The file goes bad while the store is open.
  case whenReading
}

extension FavoritesStore {
  private func tailPath(of stream: ReplicaID) -> String { "\(path)/replicas/\(stream)/0000000000000001.open" }

  /// Where the frames end that a stream has so far, in its only segment.
  func endOfTail(of stream: ReplicaID) throws -> Int {
    guard let bytes = try? files.contents(of: tailPath(of: stream)) else { return SegmentHeader.byteCount }
    return try #require(bytes.lastIndex { $0 != 0 }) + 1
  }

  /// The store with a bad byte in the frame behind an offset.
  func damaged(_ stream: ReplicaID, at end: Int, _ notice: DamageNotice) throws -> FavoritesStore {
    if notice == .whenLooking { try snapshot() }
    if notice == .whenReading { _ = try streamHeads() } else { try close() }
    var bytes = try files.contents(of: tailPath(of: stream))
    bytes[end + 24] ^= 1
    try files.replaceContents(of: tailPath(of: stream), with: bytes)
    return notice == .whenReading ? self : try FavoritesStore(at: path, on: fileSystem, options: options)
  }
}
