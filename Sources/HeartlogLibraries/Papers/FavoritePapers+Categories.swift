import Heartlog

/// The flags in an app's own lists: one a category, the latest papers, what a search found.
///
/// All of these replace `isFavorite` and `favoritedDate` by id with what the store holds; the order of a list and everything else in it
/// stay, and nothing is written to the store. One look-up an element.
extension FavoritePapers {
  /// A list with the flags and dates of the store.
  public func updatePapers(_ papers: [Paper]) -> [Paper] {
    favorites.merge(into: papers, id: \.id) { paper, isFavorite, date in
      paper.isFavorite = isFavorite
      paper.favoritedDate = date
    }.catalog
  }

  /// Sets the flags and dates in the lists of all categories, as they were at one moment.
  public func updatePapersInAllCategories<Category>(_ lists: inout [Category: [Paper]]) {
    let categories = Array(lists.keys)
    // One list, so that a write from elsewhere shows in all of the categories or in none.
    let papers = updatePapers(categories.flatMap { lists[$0] ?? [] })
    var start = 0
    for category in categories {
      let count = lists[category]?.count ?? 0
      lists[category] = Array(papers[start..<start + count])
      start += count
    }
  }

  /// Sets the flag and date of one paper in the lists of all categories; an id is looked for in every list, and may be there twice.
  ///
  /// - Parameters:
  ///   - paper: says which one. Its own flag and date are not looked at.
  ///   - lists: a list a category.
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
    // A list in which nothing differs is not written to: its observers have nothing to do.
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
