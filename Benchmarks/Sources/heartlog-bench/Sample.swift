/// One figure of one round: a line of JSON, which the script reads.
struct Sample {
  let measure: String
  let peer: String
  /// Which figure: a measure may have several.
  let name: String
  let unit: String
  let value: Double

  /// Prints it.
  func report() {
    print(
      "{\"measure\":\"\(measure)\",\"peer\":\"\(peer)\",\"name\":\"\(name)\",\"unit\":\"\(unit)\",\"value\":\(value)}"
    )
  }
}

/// Times in nanoseconds, of which some are asked for.
struct Times {
  private let sorted: [UInt64]

  init(_ times: [UInt64]) { sorted = times.sorted() }

  var median: Double { quantile(0.5) }
  var max: Double { sorted.last.map { Double($0) } ?? 0 }

  func quantile(_ share: Double) -> Double {
    guard !sorted.isEmpty else { return 0 }
    return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
  }
}
