import Heartlog

/// Formats what an erasure did, as text and as JSON.
struct ErasurePage {
  let report: ErasureReport

  /// Nothing if nothing was erased.
  var lines: [String] {
    guard report.eventCount > 0 else { return [] }
    let remaining = report.remainingItems.map { item in
      "\(item.library)  \(DisplayText.identifier(item.id)): what was written of it besides stays"
    }
    return ["\(Quantity.count(report.eventCount, "event")) erased from this store"] + remaining
  }

  func write(to json: inout JSONWriter) {
    json.member("erased", report.eventCount)
    json.member("remaining", objects: report.remainingItems) { item, json in
      json.member("library", item.library)
      json.member("id", item.id)
    }
  }
}
