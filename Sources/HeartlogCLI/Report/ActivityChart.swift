import Heartlog

/// Draws the activity: for each library, what was added and changed above a line, and what was removed below it. Lengths are in tenths.
struct ActivityChart {
  private static let width = 7600
  private static let left = 1300
  private static let top = 300
  private static let rowHeight = 620
  private static let rowGap = 140
  private static let bottom = 260
  /// Longer gaps between periods are cut to this many.
  private static let gapMax = 3
  /// The least distance between two labels.
  private static let labelWidth = 800

  let activity: Activity

  func write(to html: inout HTML) {
    let slots = slots
    let slotWidth = min(600, (Self.width - Self.left) / max(1, (slots.last?.slot ?? 0) + 1))
    let height = Self.top + activity.libraries.count * (Self.rowHeight + Self.rowGap) + Self.bottom
    html.element(
      .svg,
      [
        "viewBox": "0 0 \(Self.text(Self.width)) \(Self.text(height))", "role": "img",
        "aria-labelledby": "chart-title chart-desc",
      ]
    ) { html in
      html.element(.title, ["id": "chart-title"], text: "Events by library and \(activity.unit)")
      html.element(.desc, ["id": "chart-desc"], text: description)
      html.element(.defs) { html in
        html.element(
          .pattern, ["id": "hatch", "width": "4", "height": "4", "patternUnits": "userSpaceOnUse"]
        ) { html in
          html.element(.path, ["class": "hatch", "d": "M-1 1L1 -1M0 4L4 0M3 5L5 3"])
        }
      }
      legend(&html)
      let most = most
      for (index, library) in activity.libraries.enumerated() {
        let top = Self.top + index * (Self.rowHeight + Self.rowGap)
        let base = top + Self.rowHeight * most.up / max(1, most.up + most.down)
        text(
          DisplayText.truncated(DisplayText.visible(library.name), to: 18), x: 0, y: base + 40, &html)
        line("axis", x: Self.left, y: base, toX: Self.width, toY: base, &html)
        for (interval, slot) in slots {
          guard let counts = library.intervals[interval.start] else { continue }
          let x = Self.left + slot * slotWidth + slotWidth / 10
          let added = barHeight(counts.favorited, most)
          let changed = barHeight(counts.changed, most)
          bar("added", x: x, y: base - added, slotWidth, added, &html)
          bar("changed", x: x, y: base - added - changed, slotWidth, changed, &html)
          bar("removed", x: x, y: base, slotWidth, barHeight(counts.unfavorited, most), &html)
        }
      }
      let end = height - Self.bottom
      for (interval, slot) in slots where interval.emptyPeriodsBefore > Self.gapMax && slot > 0 {
        let x = Self.left + slot * slotWidth - slotWidth * Self.gapMax / 2
        line("gap", x: x, y: Self.top, toX: x, toY: end, &html)
      }
      var free = 0
      for (interval, slot) in slots where Self.left + slot * slotWidth >= free {
        let x = Self.left + slot * slotWidth
        guard x + Self.labelWidth <= Self.width + 200 else { break }
        text(activity.label(interval), x: x, y: end + 140, &html)
        free = x + Self.labelWidth
      }
    }
  }

  /// The periods with their places on the axis.
  private var slots: [(interval: Statistics.Interval, slot: Int)] {
    var slot = -1
    return activity.intervals.enumerated().map { index, interval in
      slot += 1 + (index == 0 ? 0 : min(Self.gapMax, interval.emptyPeriodsBefore))
      return (interval, slot)
    }
  }

  /// The most events of a bar above and below the line.
  private var most: (up: Int, down: Int) {
    let starts = Set(activity.intervals.map(\.start))
    let counts = activity.libraries.flatMap { $0.intervals.values.filter { starts.contains($0.start) } }
    return (
      counts.map { $0.favorited + $0.changed }.max() ?? 0, counts.map(\.unfavorited).max() ?? 0
    )
  }

  private var description: String {
    "One row for each library, one bar for each \(activity.unit) in UTC with events. Above the line: events that made a favorite (filled) and "
      + "events that only wrote fields (outlined). Below the line: events that removed a favorite (hatched). At most "
      + "\(most.up) events above and \(most.down) below. The table that follows has the same numbers."
  }

  private func legend(_ html: inout HTML) {
    var x = Self.left
    for (kind, title, width) in [
      ("added", "added", 900), ("changed", "fields changed", 1400),
      ("removed", "removed (below the line)", 0),
    ] {
      bar(kind, x: x, y: 40, 125, 100, &html)
      text(title, x: x + 160, y: 130, &html)
      x += width
    }
  }

  /// At least one pixel for one event.
  private func barHeight(_ count: Int, _ most: (up: Int, down: Int)) -> Int {
    count == 0 ? 0 : max(10, Self.rowHeight * count / max(1, most.up + most.down))
  }

  private func bar(_ kind: String, x: Int, y: Int, _ slotWidth: Int, _ height: Int, _ html: inout HTML) {
    guard height > 0 else { return }
    html.element(
      .rect,
      [
        "class": kind, "x": Self.text(x), "y": Self.text(y), "width": Self.text(slotWidth * 8 / 10),
        "height": Self.text(height),
      ])
  }

  private func line(_ kind: String, x: Int, y: Int, toX: Int, toY: Int, _ html: inout HTML) {
    html.element(
      .line,
      ["class": kind, "x1": Self.text(x), "y1": Self.text(y), "x2": Self.text(toX), "y2": Self.text(toY)])
  }

  private func text(_ text: String, x: Int, y: Int, _ html: inout HTML) {
    html.element(.text, ["x": Self.text(x), "y": Self.text(y)], text: text)
  }

  private static func text(_ tenths: Int) -> String {
    tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
