import Foundation
import TestSupport
import Testing

@testable import Heartlog
@testable import HeartlogTesting

@Suite("Generated histories of three versions of a type")
struct GeneratedSchemaTests {
  private static let seed = SeededRandom.testSeed()
  private static let texts: [String?] = [nil, "Ada", "Ada Lovelace", "Mary Ann Evans", ""]
  private static let durations: [String?] = [nil, "60 s", "90 s", "a while"]

  /// Three devices that write at random, and what the model says of them.
  private struct Histories {
    let devices: TripDevices
    let replicas: [ReplicaID]
    var chance: SeededGenerator
    var model = SchemaModel()
    /// What each device has of each stream.
    private(set) var heads: [[ReplicaID: UInt64]]
    /// The items of the present histories.
    private var items: [String] = []

    init(seed: UInt64) throws {
      devices = try TripDevices(seed: seed)
      replicas = devices.stores.map(\.replica)
      chance = SeededGenerator(seed: seed)
      try devices.meet()
      heads = devices.stores.map { store in
        Dictionary(uniqueKeysWithValues: store.read(\.heads).map { ($0.replica, $0.commit.rawValue) })
      }
    }

    private mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &chance) }

    /// Each version reads what the model says, and what it writes is added to the model.
    private mutating func write() throws {
      let device = number(3)
      let item = items[number(items.count)]
      let text = GeneratedSchemaTests.texts[number(GeneratedSchemaTests.texts.count)]
      let amount = [nil, 1, 2][number(3)]
      devices.clocks[device].advance(by: Double(number(3)) / 1_000)
      try expectRead(item, on: device)
      var written: (subject: SchemaModel.Subject, value: SchemaModel.Value)
      let commit: Commit?
      switch device {
      case 0:
        var trip = model.v1(item, heads[0])
        switch number(5) {
        case 0: (trip.title, written) = (text, (.title, .text(text)))
        case 1: (trip.desc, written) = (text, (.description, .text(text)))
        case 2: (trip.guide, written) = (text, (.guide, .text(text)))
        case 3: (trip.minutes, written) = (amount, (.length, .number(amount)))
        default: (trip.rating, written) = (amount, (.rating, .number(amount)))
        }
        commit = try devices.stores[0].commit { try devices.v1.update(trip) }.commit
      case 1:
        var trip = model.v2(item, heads[1])
        switch number(5) {
        case 0: (trip.title, written) = (text, (.title, .text(text)))
        case 1: (trip.description, written) = (text, (.description, .text(text)))
        case 2: (trip.guide, written) = (text, (.guide, .text(text)))
        case 3: (trip.minutes, written) = (amount, (.length, .number(amount)))
        default: (trip.rating, written) = (amount, (.rating, .number(amount)))
        }
        commit = try devices.stores[1].commit { try devices.v2.update(trip) }.commit
      default:
        var trip = model.v3(item, heads[2])
        switch number(5) {
        case 0: (trip.title, written) = (text, (.title, .text(text)))
        case 1: (trip.description, written) = (text, (.description, .text(text)))
        case 2:
          trip.first = text
          written = (.guide, .parts(first: text, last: trip.last))
        case 3:
          trip.last = text
          written = (.guide, .parts(first: trip.first, last: text))
        default:
          trip.duration = GeneratedSchemaTests.durations[number(GeneratedSchemaTests.durations.count)]
          written = (.length, .text(trip.duration))
        }
        commit = try devices.stores[2].commit { try devices.v3.update(trip) }.commit
      }
      guard let commit else { return }
      heads[device][replicas[device]] = commit.number.rawValue
      model.add(
        SchemaModel.Write(
          stamp: commit.stamp, replica: commit.replica, number: commit.number.rawValue, value: written.value),
        to: written.subject, of: item)
    }

    /// Ships some commits of a stream from one device to another: often just one.
    private mutating func ship() throws {
      let source = number(3)
      try ship(from: source, to: (source + 1 + number(2)) % 3, of: replicas[number(3)], most: 1 + number(3))
    }

    private mutating func shipAll() throws {
      for _ in 0..<2 {
        for source in [0, 1, 2].shuffled(using: &chance) {
          for target in 0..<3 where target != source {
            for replica in replicas { try ship(from: source, to: target, of: replica, most: .max) }
          }
        }
      }
    }

    private mutating func ship(from source: Int, to target: Int, of replica: ReplicaID, most: Int) throws {
      let (has, there) = (heads[target][replica] ?? 0, heads[source][replica] ?? 0)
      guard has < there else { return }
      let last = CommitNumber(rawValue: has + min(there - has, UInt64(clamping: most)))
      let run = try #require(try devices.stores[source].streamRun(of: replica, after: has, upTo: last))
      _ = try devices.stores[target].receive(run)
      heads[target] = Dictionary(
        uniqueKeysWithValues: devices.stores[target].read(\.heads).map { ($0.replica, $0.commit.rawValue) })
    }

    private func expectRead(_ item: String, on device: Int) throws {
      let isRead =
        switch device {
        case 0: try devices.v1.item(item) ?? TripV1(id: item) == model.v1(item, heads[0])
        case 1: try devices.v2.item(item) ?? TripV2(id: item) == model.v2(item, heads[1])
        default: try devices.v3.item(item) ?? TripV3(id: item) == model.v3(item, heads[2])
        }
      #expect(isRead, "\(item), version \(device + 1)")
    }

    /// Runs a few histories of two items each, and at the end ships everything everywhere.
    mutating func run(_ histories: Range<Int>) throws {
      items = histories.flatMap { ["\($0)", "\($0) too"] }
      for _ in 0..<histories.count * 8 { if number(4) > 0 { try write() } else { try ship() } }
      try shipAll()
      for item in items { for device in 0..<3 { try expectRead(item, on: device) } }
    }

    /// Every order of delivery gives one state.
    mutating func expectOneDigest() throws {
      let digest = devices.stores[0].digest
      #expect(devices.stores.map(\.digest) == [digest, digest, digest])
      let commits = try devices.stores[0].allCommits()
      for _ in 0..<3 {
        var state = FavoritesState()
        for commit in commits.shuffled(using: &chance) { state.apply(commit) }
        #expect(state.digest == digest)
      }
    }
  }

  @Test(
    "each version reads the last write of every field, whoever made it, in every order of delivery of 1,000 histories"
  )
  func histories() throws {
    for devices in 0..<UInt64(50) {
      var histories = try Histories(seed: Self.seed &+ devices)
      for first in stride(from: 0, to: 20, by: 5) { try histories.run(first..<first + 5) }
      try histories.expectOneDigest()
    }
  }
}
