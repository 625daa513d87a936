import Foundation
import Heartlog

/// The devices that this store has heard of, and what they disagree on.
@MainActor final class DevicesApp: App {
  let name = "devices"
  var query = ""
  private let store: FavoritesStore

  init(_ store: FavoritesStore) { self.store = store }

  var panes: [Pane] {
    [
      Pane(
        title: "Devices",
        rows: store.devices.map { device in
          Row(
            text: "\(device.name)\(device.isOwn ? ", this device" : "")",
            trailing: "\(device.events) events in \(device.head) commits")
        }.matching(query)),
      Pane(
        title: "Conflicts", rows: conflicts.flatMap(rows),
        placeholder: "No device has written what another one had not seen.", keys: "⏎ choose this side",
        count: conflicts.count),
    ]
  }

  private var conflicts: [Conflict] {
    store.conflicts.filter { query.isEmpty || $0.item.contains(query) || $0.library.contains(query) }
  }

  /// The sides of a conflict. The first one is shown in lists until one is chosen.
  private func rows(_ conflict: Conflict) -> [Row] {
    let field = if case .field(let name) = conflict.register { " \(name)" } else { "" }
    return conflict.writes.map { write in
      let value =
        switch write.value {
        case .membership(let isFavorite, _): isFavorite ? "♥ a favorite" : "♡ not a favorite"
        case .field(.string(let text)): text
        case .field(.double(let number)): "\(number)"
        case .field(.int64(let number)): "\(number)"
        case .field(.null): "nothing"
        case .field(let value): "\(value)"
        }
      return Row(
        text: write == conflict.writes[0]
          ? "\(value) — \(conflict.library)\(field): \(title(of: conflict))" : "  or \(value)",
        trailing: store.devices.first { $0.replica == write.event.replica }?.name ?? "?",
        open: { [store] in
          try store.resolve(conflict, with: write)
          return .message("Chosen: \(value)")
        })
    }
  }

  private func title(of conflict: Conflict) -> String {
    let item = store.read { $0.item(conflict.item, in: conflict.library) }
    if case .string(let title)? = item?.value(of: "title") ?? item?.value(of: "name") { return title }
    return conflict.item
  }

  func toggle(_ row: Row) throws {}
}
