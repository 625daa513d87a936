import Heartlog

/// The flags in an app's own lists: one list for each category, the latest papers, search results.
///
/// These methods set `isFavorite` and `favoritedDate` from the store, by id. The order and everything else in
/// the lists are unchanged, and nothing is written to the store. Each element takes one look-up.
extension FavoritePapers {
  /// Returns a list with the flags and dates from the store.
  public func updatePapers(_ papers: [Paper]) -> [Paper] {
    favorites.merge(into: papers, id: \.id) { paper, isFavorite, date in
      paper.isFavorite = isFavorite
      paper.favoritedDate = date
    }.catalog
  }

  /// Sets the flags and dates in the lists of all categories, from one consistent state of the store.
  public func updatePapersInAllCategories<Category>(_ lists: inout [Category: [Paper]]) {
    let categories = Array(lists.keys)
    // Update one combined list, so that a concurrent write shows in all categories or in none.
    let papers = updatePapers(categories.flatMap { lists[$0] ?? [] })
    var start = 0
    for category in categories {
      let count = lists[category]?.count ?? 0
      lists[category] = Array(papers[start..<start + count])
      start += count
    }
  }

  /// Sets the flag and date of one paper in the lists of all categories. A list may contain the id more than
  /// once.
  ///
  /// - Parameters:
  ///   - paper: the paper. Its own flag and date are ignored.
  ///   - lists: the list of each category.
  public func updatePaperInAllCategories<Category>(_ paper: Paper, in lists: inout [Category: [Paper]]) {
    let current = updatePapers([paper])[0]
    for category in lists.keys { Self.update(current, in: &lists[category, default: []]) }
  }

  /// Sets the flag and date of one paper in lists that are properties of an object.
  ///
  /// ```swift
  /// papers.updatePaperInAllCategories(paper, of: self, \.latestPapers, \.csPapers, \.searchResults)
  /// ```
  public func updatePaperInAllCategories<Owner: AnyObject>(
    _ paper: Paper, of owner: Owner, _ lists: ReferenceWritableKeyPath<Owner, [Paper]>...
  ) {
    let current = updatePapers([paper])[0]
    // A list without differences is not written to, so that its observers are not notified.
    for list in lists where owner[keyPath: list].contains(where: { Self.differs($0, from: current) }) {
      Self.update(current, in: &owner[keyPath: list])
    }
  }

  private static func update(_ current: Paper, in list: inout [Paper]) {
    for index in list.indices where differs(list[index], from: current) {
      list[index].isFavorite = current.isFavorite
      list[index].favoritedDate = current.favoritedDate
    }
  }

  private static func differs(_ paper: Paper, from current: Paper) -> Bool {
    paper.id == current.id
      && (paper.isFavorite != current.isFavorite || paper.favoritedDate != current.favoritedDate)
  }
}
