import Heartlog
import HeartlogFormat
import HeartlogTesting
import Testing

@testable import HeartlogInspector

@Suite("The history behind the slider")
struct HistoryTests {
  /// A random log of two devices, in the order of the log.
  private static func commits(_ count: Int, using random: SeededRandom) throws -> [Commit] {
    let clock = ManualClock()
    let stores = try (1...2).map { try FavoritesStore.inMemory(clock: clock, seed: $0) }
    func pick(_ count: UInt64) -> Int { Int(random.next() % count) }
    var commits: [Commit] = []
    for _ in 0..<count {
      clock.advance(by: Double(pick(90)))
      let library = try stores[pick(2)].library(["cities", "books", "papers"][pick(3)])
      switch pick(3) {
      case 0: _ = try library.toggle("\(pick(20))")
      case 1:
        _ = try library.set([Field(name: "rating", value: .int64(Int64(pick(1_000_000))))], of: "\(pick(20))")
      default:
        _ = try library.set(
          [Field(name: "position", value: .int64(Int64(pick(1_000_000))))], of: "\(pick(20))")
      }
    }
    for store in stores {
      let log = try store.readLog()
      while let commit = try log.next() { commits.append(commit) }
    }
    return commits.sorted { $0.position < $1.position }
  }

  private static func isPlayback(_ event: Event) -> Bool { event.fields.map(\.name) == ["position"] }

  private static func history(of commits: [Commit]) -> History {
    var history = History()
    for commit in commits {
      let isInOrder = history.append(commit, isPlayback: isPlayback)
      #expect(isInOrder)
    }
    return history
  }

  private static func takes(_ record: EventRecord, of commit: Commit, _ filter: History.Filter) -> Bool {
    (filter.library.map { $0 == record.event?.library } ?? true)
      && (filter.replica.map { $0 == commit.replica } ?? true)
      && (filter.kind.map { $0 == History.Kind(record) } ?? true)
  }

  private static func filters(of commits: [Commit]) -> [History.Filter] {
    let replicas = [nil] + Set(commits.map(\.replica)).map(Optional.some)
    return [nil, "cities", "none"].flatMap { library in
      replicas.flatMap { replica in
        ([nil] + History.Kind.allCases).map { History.Filter(library: library, replica: replica, kind: $0) }
      }
    }
  }

  @Test("stops, bars and marks are those that a simple count finds, whatever the filter")
  func stops() throws {
    let random = SeededRandom(seed: SeededRandom.testSeed())
    let commits = try Self.commits(400, using: random)
    var history = Self.history(of: commits)
    for filter in Self.filters(of: commits) {
      let stops = commits.indices.filter { index in
        commits[index].records.contains { Self.takes($0, of: commits[index], filter) }
      }
      for wanted in [-1, 0, 1, stops.count / 2, stops.count, stops.count + 1] {
        let stop = history.stop(.index(wanted), filter)
        let index = max(0, min(stops.count, wanted))
        #expect(stop?.index == index && stop?.count == stops.count)
        #expect(stop?.commit == (index == 0 ? nil : stops[index - 1]))
      }
      for index in stride(from: 0, to: commits.count, by: 37) {
        let commit = commits[index]
        let before = stops.count { $0 <= index }
        let atCommit = history.stop(.commit(commit.replica, commit.number), filter)
        #expect(atCommit?.index == before)
        let axis = commit.stamp.milliseconds
        let upTo = stops.count { commits[$0].stamp.milliseconds <= axis }
        let atAxis = history.stop(.axis(axis), filter)
        #expect(atAxis?.index == upTo)
      }
      let band = history.band(
        bins: 7, nil, filter, marked: stops.first.map { [(kind: .conflict, commit: $0)] } ?? [])
      for (slot, replica) in history.replicas.enumerated() {
        let events = commits.filter { $0.replica == replica }.reduce(0) { sum, commit in
          sum + commit.records.count { Self.takes($0, of: commit, filter) }
        }
        #expect(band.bins.reduce(0) { $0 + $1[slot] } == events)
      }
      #expect(band.marks.filter { $0.kind == .conflict }.map(\.index) == (stops.isEmpty ? [] : [1]))
    }
    let commit = commits[17]
    #expect(history.commit(of: commit.eventID(at: 0)) == 17)
    let none = history.stop(.commit(commit.replica, CommitNumber(rawValue: 10_000)), History.Filter())
    #expect(none?.index == nil)
  }

  @Test("a part of the band has the events of its span")
  func span() throws {
    let commits = try Self.commits(100, using: SeededRandom(seed: SeededRandom.testSeed()))
    var history = Self.history(of: commits)
    let (first, last) = (commits[30].stamp.milliseconds, commits[60].stamp.milliseconds)
    let band = history.band(bins: 5, first...last, History.Filter(), marked: [])
    let events = commits.filter { (first...last).contains($0.stamp.milliseconds) }.reduce(0) {
      $0 + $1.eventCount
    }
    #expect(band.bins.reduce(0) { $0 + $1.reduce(0, +) } == events)
    #expect(band.first == commits[0].stamp.milliseconds && band.last == commits[99].stamp.milliseconds)
  }

  @Test("rows are the last events, and playback positions in a row are one")
  func rows() throws {
    let commits = try Self.commits(300, using: SeededRandom(seed: SeededRandom.testSeed()))
    let history = Self.history(of: commits)
    for (last, showsPlayback) in [(299, true), (299, false), (0, false), (150, false)] {
      var wanted: [String] = []
      var isFolded = false
      for index in 0...last {
        for (place, record) in commits[index].records.enumerated() {
          let isPlayback = record.event.map { $0.action == .changed && Self.isPlayback($0) } ?? false
          if isPlayback, !showsPlayback {
            if isFolded { wanted.removeLast() }
            wanted.append("folded to \(index)")
          } else {
            wanted.append("\(index).\(place)")
          }
          isFolded = isPlayback && !showsPlayback
        }
      }
      let rows = history.rows(upTo: last, 40, History.Filter(), showsPlayback: showsPlayback).map { row in
        switch row {
        case .event(let commit, let place): "\(commit).\(place)"
        case .folded(_, let commit): "folded to \(commit)"
        }
      }
      #expect(rows == wanted.suffix(40))
    }
  }

  @Test("a commit that belongs before others is refused")
  func late() throws {
    let commits = try Self.commits(10, using: SeededRandom(seed: SeededRandom.testSeed()))
    var history = Self.history(of: commits)
    let isInOrder = history.append(commits[3], isPlayback: Self.isPlayback)
    #expect(!isInOrder)
  }
}
