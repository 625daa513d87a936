import Heartlog

extension FavoritePapers {
  /// Takes over the favorites of an app's own database, in one commit, or in several if they are very many: of the rows, those whose `isFavorite` is set,
  /// with their dates.
  ///
  /// A paper that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing.
  ///
  /// - Parameter papers: the rows, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func takeOver(_ papers: some Sequence<Paper>) throws(HeartlogError) -> TakeOverReport {
    let (items, failures) = papers.converting { (paper) throws(LibraryError) -> Paper? in
      guard !paper.id.isEmpty else { throw .invalidItem("a paper without an id") }
      guard paper.isFavorite else { return nil }
      try favorites.checkStorable(paper)
      return paper
    }
    let count = try favorites.takeOver(
      items.map { (item: $0, since: $0.favoritedDate) }, origin: TakeOverOrigin.database)
    return TakeOverReport(count: count, failures: failures)
  }
}
