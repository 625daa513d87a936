import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog

@Suite("Statistics")
struct StatisticsTests {
  private static let libraries = ["papers", "books", "cities"]

  /// Stores with the commits of all of them, in open and in sealed segments, merged from runs that lie across each other.
  private static func stores(seed: UInt64) throws -> [FavoritesStore] {
    var chance = SeededGenerator(seed: seed)
    let clocks = (0..<3).map { _ in ManualClock() }
    let stores = try (0..<3).map {
      try FavoritesStore.inMemory(clock: clocks[$0], seed: seed * 10 + UInt64($0))
    }
    for _ in 0..<150 {
      let index = Int.random(in: 0..<3, using: &chance)
      let store = stores[index]
      clocks[index].advance(by: Double(Int.random(in: -20...60, using: &chance)) * 3_600)
      try store.write {
        for _ in 0..<Int.random(in: 1...3, using: &chance) {
          let library = try store.library(libraries.randomElement(using: &chance)!)
          let id = "\(Int.random(in: 0..<12, using: &chance))" + (Bool.random(using: &chance) ? "" : " é")
          switch Int.random(in: 0..<4, using: &chance) {
          case 0: try library.toggle(id)
          case 1: try library.add(id, fields: [Field(name: "t", value: .string(id))], favoritedDate: -5)
          case 2: try library.remove(id)
          default:
            let value = FieldValue.int64(.random(in: 0..<9, using: &chance))
            try library.set([Field(name: "n", value: value)], of: id)
          }
        }
      }
      if Int.random(in: 0..<20, using: &chance) == 0 { try store.seal() }
      if Int.random(in: 0..<15, using: &chance) == 0 {
        try MergeTests.ship(store, to: stores[(index + 1) % 3])
      }
    }
    for source in stores {
      for target in stores where target !== source { try MergeTests.ship(source, to: target) }
    }
    return stores
  }

  @Test(
    "are those that the commits make one after the other, by whatever period, library and choice",
    arguments: 1...3)
  func equalToPlain(seed: UInt64) throws {
    let stores = try Self.stores(seed: seed)
    for pass in 0..<2 {
      for store in stores {
        let commits = try store.allCommits()
        #expect(commits.count > 100)
        for period in pass == 0 ? [Statistics.Period.day, .month] : [.week] {
          for library in [nil, "papers", "none"] {
            let all = try Statistics(reading: try store.readLog(), library: library, by: period)
            #expect(all == PlainStatistics.of(commits, library: library, by: period) { _ in true })
            if let library { #expect(try store.library(library).statistics(by: period) == all) }
            let ofOne = PlainStatistics.of(commits, library: library, by: period) {
              $0.replica == store.replica
            }
            #expect(
              try Statistics(reading: store.readLog(), library: library, by: period, of: .utc) {
                position, _ in
                position.replica == store.replica
              } == ofOne)
          }
        }
      }
      if pass == 0 { for store in stores { try store.seal() } }
    }
  }

  @Test("of a log that was read before count its rest")
  func rest() throws {
    let store = try #require(try Self.stores(seed: 7).first)
    for isSealed in [false, true] {
      if isSealed { try store.seal() }
      let commits = try store.allCommits()
      for count in [1, 40, commits.count] {
        let log = try store.readLog()
        for _ in 0..<count { _ = try log.next() }
        let rest = Array(commits[count...])
        #expect(
          try Statistics(reading: log, by: .week)
            == PlainStatistics.of(rest, library: nil, by: .week) { _ in true })
      }
    }
  }

  @Test("a reader that is asked for some commits gives them as they are, with their times")
  func someCommits() throws {
    let stores = try Self.stores(seed: 8)
    for store in stores {
      for isSealed in [false, true] {
        if isSealed { try store.seal() }
        var all: [(commit: Commit, time: Milliseconds)] = []
        let log = try store.readLog()
        while let commit = try log.next() { all.append((commit, log.lastTime)) }
        let timesOfAll = Dictionary(uniqueKeysWithValues: all.map { ($0.commit.position, $0.time) })
        for id in ["1", "3 é", "none"] {
          for library in ["papers", "none"] {
            func isOfItem(_ record: EventRecord) -> Bool {
              record.event.map { $0.library == library && $0.item == id } ?? false
            }
            let expected = all.filter { $0.time % 2 == 0 && $0.commit.records.contains(where: isOfItem) }
            var found: [Commit] = []
            var times: [CommitPosition: Milliseconds] = [:]
            try store.readLog().forEachCommit(of: (library, id)) { position, time in
              times[position] = time
              return time % 2 == 0
            } _: {
              found.append($0)
            }
            #expect(found == expected.map(\.commit))
            #expect(found.isEmpty == [id, library].contains("none"))
            #expect(times.allSatisfy { position, time in timesOfAll[position] == time })
          }
        }
        var rest: [Commit] = []
        func isWanted(_ number: CommitNumber) -> Bool { number.rawValue % 3 != 0 }
        try store.readLog().forEachCommit(where: { position, time in isWanted(position.number) && time > 0 })
        {
          rest.append($0)
        }
        #expect(rest == all.map(\.commit).filter { isWanted($0.number) })
      }
    }
  }
}

/// Counts by the plainest way: the state after each commit.
private enum PlainStatistics {
  static func of(
    _ commits: [Commit], library: String?, by period: Statistics.Period, where isCounted: (Commit) -> Bool
  ) -> Statistics {
    struct Key: Hashable {
      let library: String
      let item: String
    }
    struct Source: Hashable {
      let replica: ReplicaID
      let origin: String?
    }
    var state = FavoritesState()
    var tallies: [Milliseconds: (on: Int, off: Int, changed: Int, gain: Int, isCounted: Bool)] = [:]
    var taps: [Key: Int] = [:]
    var sources: [Source: Int] = [:]
    for commit in commits {
      let events = commit.records.compactMap(\.event).filter { library == nil || $0.library == library }
      func favorites() -> Int { Set(events.map(\.library)).reduce(0) { $0 + state.counts(of: $1).favorites } }
      let before = favorites()
      state.apply(commit)
      guard !events.isEmpty else { continue }
      var tally = tallies[period.start(of: commit.wallTime), default: (0, 0, 0, 0, false)]
      tally.gain += favorites() - before
      if isCounted(commit) {
        tally.isCounted = true
        for event in events {
          switch event.action.isFavorite {
          case true?: tally.on += 1
          case false?: tally.off += 1
          case nil: tally.changed += 1
          }
          if event.action.isFavorite != nil {
            taps[Key(library: event.library, item: event.item), default: 0] += 1
          }
        }
        sources[Source(replica: commit.replica, origin: commit.origin), default: 0] += events.count
      }
      tallies[period.start(of: commit.wallTime)] = tally
    }
    var intervals: [Statistics.Interval] = []
    var count = 0
    for (start, tally) in tallies.sorted(by: { $0.key < $1.key }) {
      count += tally.gain
      guard tally.isCounted else { continue }
      let empty = intervals.last.map { period.count(from: $0.start, to: start) - 1 } ?? 0
      intervals.append(
        Statistics.Interval(
          start: start, favorited: tally.on, unfavorited: tally.off, changed: tally.changed,
          favoritesAtEnd: count, emptyPeriodsBefore: empty))
    }
    let tapped = taps.sorted { a, b in
      if a.value != b.value { return a.value > b.value }
      if a.key.library != b.key.library { return a.key.library < b.key.library }
      return a.key.item.utf8.lexicographicallyPrecedes(b.key.item.utf8)
    }
    return Statistics(
      intervals: intervals,
      mostTapped: tapped.prefix(Statistics.mostTappedMax).map { key, taps in
        Statistics.ItemTally(library: key.library, item: state.item(key.item, in: key.library)!, taps: taps)
      },
      sources: sources.map {
        Statistics.SourceTally(replica: $0.key.replica, origin: $0.key.origin, events: $0.value)
      }
      .sorted { ($1.events, $0.replica) < ($0.events, $1.replica) })
  }
}
