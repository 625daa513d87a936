import Heartlog

extension FavoriteArchives {
  /// Takes over the favorites of an app's own database, in one commit, or in several if they are very many.
  ///
  /// ```swift
  /// let rows = try context.fetch(ArchiveMetaDataEntity.archiveMetaDataFetchRequest)
  /// try archives.takeOver(rows.map { row in
  ///   Archive(
  ///     identifier: row.identifier, title: row.title, archiveTitle: row.archiveTitle, mediatype: row.mediatype,
  ///     creator: row.creator, publisher: row.publisher, desc: row.desc, iconUrlString: row.iconUrlString,
  ///     dateAdded: row.dateAdded)
  /// })
  /// ```
  ///
  /// An archive that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing. A row without an identifier is reported.
  ///
  /// Creators and publishers that the app joined by ", " are split if that is certain: if each part is, on its own,
  /// the creator or publisher of another row. Otherwise they stay one name, since a name may contain a comma.
  ///
  /// - Parameter archives: the rows, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func takeOver(_ archives: some Sequence<Archive>) throws(HeartlogError) -> TakeOverReport {
    let archives = Array(archives)
    let names = KnownNames(archives.flatMap { $0.creators + $0.publishers })
    let (items, failures) = archives.converting { (archive) throws(LibraryError) -> Archive? in
      try Self.checkIdentifier(of: archive)
      try favorites.checkStorable(archive)
      var archive = archive
      archive.creators = names.split(archive.creators)
      archive.publishers = names.split(archive.publishers)
      return archive
    }
    let count = try favorites.takeOver(
      items.map { (item: $0, since: $0.dateAdded) }, origin: TakeOverOrigin.database)
    return TakeOverReport(count: count, failures: failures)
  }
}

/// The names that occur on their own, and so are certainly one name each.
private struct KnownNames {
  private static let separator = ", "
  private let names: Set<String>

  init(_ texts: [String]) { names = Set(texts.filter { !$0.contains(Self.separator) }) }

  /// The names in a list, of which some may be several that were joined.
  func split(_ texts: [String]) -> [String] {
    texts.flatMap { text in
      let parts = text.components(separatedBy: Self.separator)
      return parts.allSatisfy(names.contains) ? parts : [text]
    }
  }
}
