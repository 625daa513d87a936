import Foundation
import Heartlog
import HeartlogTesting
import Testing

/// The pairs of "How merging decides": each row of the article's table is played on two devices.
@Suite("How merging decides")
struct MergePairsTests {
  nonisolated struct Pair: CustomTestStringConvertible, Sendable {
    let phone: String
    let tablet: String
    let both: String

    var testDescription: String { "\(phone) | \(tablet)" }
  }

  nonisolated static let pairs: [Pair] = {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(
        path: "Sources/Heartlog/Heartlog.docc/Articles/HowMergingDecides.md")
    let lines = (try? String(contentsOf: page, encoding: .utf8))?.components(separatedBy: "\n") ?? []
    return lines.filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Pair(phone: cells[0], tablet: cells[1], both: cells[2])
    }
  }()

  /// 2026-01-01T00:00:00Z, when the clock of the tests begins.
  private static let midnight = ManualClock().milliseconds

  /// Plays "10:00 add, 10:01 note red" on a device.
  private func device(_ taps: String, seed: UInt64) throws -> FavoritesStore {
    let clock = ManualClock()
    let store = try FavoritesStore.inMemory(clock: clock, seed: seed)
    let recipes = try store.library("recipes")
    for tap in taps.components(separatedBy: ", ") {
      let words = tap.split(separator: " ").map(String.init)
      let time = words[0].split(separator: ":").compactMap { Double($0) }
      clock.set(
        to: Date(timeIntervalSince1970: Double(Self.midnight) / 1_000 + time[0] * 3_600 + time[1] * 60))
      switch words[1] {
      case "add": try recipes.add("ribollita")
      case "remove": try recipes.remove("ribollita")
      case "toggle": try recipes.toggle("ribollita")
      case "note": try recipes.setNote(words.dropFirst(2).first, of: "ribollita")
      case "title": try recipes.set([Field(name: "title", value: .string(words[2]))], of: "ribollita")
      default: Issue.record("the article taps \"\(tap)\", which this test does not know")
      }
    }
    return store
  }

  private func commits(_ store: FavoritesStore) throws -> [Commit] {
    let log = try store.readLog()
    var commits: [Commit] = []
    while let commit = try log.next() { commits.append(commit) }
    return commits
  }

  /// What there is to see of the item, in the article's words.
  private func words(_ state: FavoritesState) -> String {
    guard let item = state.item("ribollita", in: "recipes") else { return "no favorite" }
    var words: [String] = []
    if let date = item.favoritedDate {
      let minutes = (date - Self.midnight) / 60_000
      func twoDigits(_ number: Milliseconds) -> String { number < 10 ? "0\(number)" : "\(number)" }
      words.append("a favorite since \(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))")
    }
    for (name, field) in [("title", "title"), ("note", "@note")] {
      if case .string(let text)? = item.value(of: field) { words.append("\(name) \(text)") }
    }
    return words.isEmpty ? "no favorite" : words.joined(separator: ", ")
  }

  @Test("there are pairs") func some() { #expect(Self.pairs.count >= 10) }

  @Test("a pair comes together as the article says, in whatever order commits arrive", arguments: pairs)
  func pair(pair: Pair) throws {
    let phone = try commits(device(pair.phone, seed: 1))
    let tablet = try commits(device(pair.tablet, seed: 2))
    for order in [
      phone + tablet, tablet + phone, (phone + tablet).reversed(), (tablet + phone).reversed() + phone,
    ] {
      var state = FavoritesState()
      for commit in order { state.apply(commit) }
      #expect(words(state) == pair.both)
    }
  }
}
