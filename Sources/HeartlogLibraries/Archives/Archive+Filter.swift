/// The search field over a list of archives.
extension Archive {
  /// Whether a query is part of the titles, the creators, the description or the publishers, whatever its case.
  ///
  /// An empty query is part of everything.
  public func matches(_ query: String) -> Bool { matches(lowercased: query.lowercased()) }

  fileprivate func matches(lowercased query: String) -> Bool {
    guard !query.isEmpty else { return true }
    return [archiveTitle, title, creator, desc, publisher].contains { text in
      text?.lowercased().contains(query) ?? false
    }
  }
}

extension Sequence<Archive> {
  /// The archives that a query finds, in their order; all of them for an empty one.
  public func matching(_ query: String) -> [Archive] {
    let query = query.lowercased()
    return filter { $0.matches(lowercased: query) }
  }
}
