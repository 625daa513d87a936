import Heartlog
import HeartlogLibraries

/// The sections on what the store contains.
extension EvidenceReport {
  /// Longer titles are cut.
  private static let titleWidth = 200

  func writeFavorites(_ html: inout HTML) {
    guard !status.libraries.isEmpty else {
      html.element(.p, text: "There are no libraries.")
      return
    }
    html.table(
      caption: "The libraries",
      [.text("library"), .number("favorites"), .number("items"), .number("events")]
    ) { html in
      html.element(.tbody) { html in
        for library in status.libraries {
          html.row { html in
            html.rowHeading { $0.name(library.name) }
            html.number(library.counts.favorites)
            html.number(library.counts.items)
            html.number(library.counts.events)
          }
        }
      }
    }
    let more = status.libraries.count { $0.counts.favorites > 0 } - favorites.count
    if more > 0 {
      html.element(
        .p, text: "The favorites of \(Quantity.count(more, "more library", "more libraries")) are not listed."
      )
    }
    for list in favorites {
      html.element(.h3) { $0.name(list.library.name) }
      let total = list.library.counts.favorites
      let caption =
        list.items.count < total
        ? "The newest \(Quantity.count(list.items.count)) of \(Quantity.count(total)) favorites"
        : "All \(Quantity.count(total, "favorite")), newest first"
      let descriptor = LibraryRegistry.standard[list.library.name]
      html.table(caption: caption, [.text("id"), .text("title"), .text("favorite since")]) { html in
        html.element(.tbody) { html in
          for item in list.items {
            html.row { html in
              html.rowHeading { $0.name(item.id) }
              html.cell {
                $0.name(DisplayText.truncated(descriptor.titleLine(of: item), to: Self.titleWidth))
              }
              html.cell { html in if let date = item.favoritedDate { html.time(date) } }
            }
          }
        }
      }
    }
  }

  func writeConflicts(_ html: inout HTML) {
    html.element(
      .p,
      text:
        "A conflict is open if two devices wrote different values without having seen each other's. Every device decides alike: the write "
        + "that is last in the total order is shown, by its stamp, and if stamps are equal, by the higher replica. The others are kept until "
        + "a device that has seen all of them writes again.")
    guard !conflicts.isEmpty else {
      html.element(.p, text: "There are no open conflicts.")
      return
    }
    let shown = conflicts.prefix(Self.conflictsMax)
    html.table(
      caption: shown.count < conflicts.count
        ? "The first \(Quantity.count(shown.count)) of \(Quantity.count(conflicts.count)) open conflicts"
        : "All \(Quantity.count(conflicts.count, "open conflict"))",
      [
        .text("library and item"), .text("about"), .text("side"), .text("value"), .text("device"),
        .text("stamp"), .text("decided by"),
      ]
    ) { html in
      for conflict in shown { write(conflict, &html) }
    }
  }

  private func write(_ conflict: Conflict, _ html: inout HTML) {
    html.element(.tbody) { html in
      for (index, side) in conflict.writes.enumerated() {
        html.row { html in
          if index == 0 {
            let span = "\(conflict.writes.count)"
            html.element(.th, ["scope": "rowgroup", "rowspan": span]) { html in
              html.name(conflict.library)
              html.text(" ")
              html.name(conflict.item)
            }
            html.element(.td, ["rowspan": span]) { $0.name(ConflictPage.name(conflict.register)) }
          }
          html.element(.td, text: index == 0 ? "shown" : "other")
          html.cell {
            $0.name(DisplayText.truncated(ConflictPage.text(side.value), to: Self.titleWidth))
          }
          html.cell { html in
            device(side.event.replica, &html)
            html.text(", event \(side.event.sequence.rawValue)")
          }
          html.cell { html in
            html.time(side.stamp.milliseconds)
            html.text(" ")
            html.code("\(side.stamp)")
          }
          if index == 0 {
            html.element(
              .td, ["rowspan": "\(conflict.writes.count)"],
              text: conflict.writes[0].stamp == conflict.writes[1].stamp
                ? "the higher replica; the stamps are equal" : "the later stamp")
          }
        }
      }
    }
  }
}
