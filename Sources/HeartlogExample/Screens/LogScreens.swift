import Foundation
import Heartlog

/// What the screens read from the log. An app that keeps years of it would read in the background, too.
extension FavoritesStore {
  /// What was ever done to an item, newest first: one line for each event.
  @concurrent
  func history(of item: ItemReference) async throws(HeartlogError) -> [String] {
    var lines: [String] = []
    let log = try readLog()
    while let commit = try log.next() {
      for event in commit.records.compactMap(\.event) where item.isItem(of: event) {
        let mark = event.action.isFavorite.map { $0 ? "♥" : "♡" } ?? "·"
        let fields = event.action.isFavorite == nil ? event.fields.map(\.name).joined(separator: ", ") : ""
        lines.append(
          [
            Date(milliseconds: commit.wallTime).minute, mark, log.name(of: commit.replica) ?? "?",
            commit.origin ?? "", fields,
          ].joined(separator: "  "))
      }
    }
    return lines.reversed()
  }

  /// The events of the last commit that this program wrote after `start`, leaving out some. Another program may have written since.
  @concurrent
  func lastAction(after start: CommitNumber, but done: Set<EventID>) async throws(HeartlogError) -> [EventID]
  {
    var last: [EventID] = []
    let log = try readLog()
    while let commit = try log.next() {
      guard commit.replica == replica, commit.number > start, commit.origin == Device.origin else { continue }
      let events = commit.records.indices.map(commit.eventID)
      if !events.contains(where: done.contains) { last = events }
    }
    return last
  }
}
