extension FuzzTarget {
  /// All targets.
  package static let all: [FuzzTarget] = [json, row]
}
