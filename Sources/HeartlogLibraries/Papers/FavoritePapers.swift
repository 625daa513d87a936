import Heartlog

/// The favorite papers of an arXiv app, with the interface of its `ArXivController`.
///
/// ```swift
/// let papers = try FavoritePapers(store)
/// try papers.toggleFavorite(for: paper)
/// try papers.updatePaperInAllCategories(paper, of: self, \.latestPapers, \.csPapers, \.searchResults)
/// ```
///
/// It holds no state of its own: every property reads the store. A paper's `isFavorite` and `favoritedDate`
/// are copies made when it was read; changes that an app makes to them never reach the store. For views that
/// update themselves, use `FavoritesModel(papers.favorites)`. Each version of a paper is a separate favorite.
public struct FavoritePapers: TypedLibrary {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<Paper>
  public var store: FavoritesStore { favorites.library.store }

  /// Creates an interface to the favorite papers of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Paper.self)
  }

  // MARK: - Reading

  /// The favorite papers by `favoritedDate`, newest first, and by id within one millisecond.
  ///
  /// O(n log n). A favorite whose fields are not a valid `Paper` is left out here, and reported by
  /// `favorites.failures`.
  public var favoritePapers: [Paper] { favorites.list() }

  /// Reads what other processes wrote. Call it when a view appears.
  ///
  /// - Returns: The current `favoritePapers`.
  /// - Throws: `HeartlogError` if the disk cannot be read.
  @discardableResult
  public func loadFavoritePapers() throws(HeartlogError) -> [Paper] {
    try store.refresh()
    return favoritePapers
  }

  /// Whether this version of a paper is a favorite in the store, whatever the flag of `paper` is. One
  /// look-up.
  public func isFavorite(_ paper: Paper) -> Bool { favorites.contains(paper.id) }

  // MARK: - Writing

  /// Toggles the state in the store, whatever the flag of `paper` is. A new favorite gets the current time as
  /// its date, even if it had another date before, and the fields of `paper` are stored. A paper that is no
  /// longer a favorite has no date.
  ///
  /// - Returns: The paper with its new flag and date.
  /// - Throws: `HeartlogError`; `invalidItem` if the paper cannot be stored.
  @discardableResult
  public func toggleFavorite(for paper: Paper) throws -> Paper {
    try store.write {
      try favorites.toggle(paper)
      return current(paper)
    }
  }

  /// Makes a paper a favorite, or removes it. If nothing changes, it keeps its date, and no event is written.
  ///
  /// - Returns: The paper with its new flag and date.
  /// - Throws: `HeartlogError`; `invalidItem` if the paper cannot be stored.
  @discardableResult
  public func setFavorite(_ isFavorite: Bool, for paper: Paper) throws -> Paper {
    try store.write {
      if isFavorite != favorites.contains(paper.id) { try favorites.toggle(paper) }
      return current(paper)
    }
  }

  private func current(_ paper: Paper) -> Paper {
    var paper = paper
    paper.favoritedDate = favorites.favoritedDate(of: paper.id)
    paper.isFavorite = paper.favoritedDate != nil
    return paper
  }
}

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
  public func migrate(from papers: some Sequence<Paper>) throws(HeartlogError) -> MigrationReport {
    let items = favorites.items(of: papers) { (paper) throws(LibraryError) in
      guard !paper.id.isEmpty else { throw .invalidItem("a paper without an id") }
      return paper.isFavorite ? paper : nil
    }
    return try favorites.migrate(from: items, origin: MigrationOrigin.database, since: \.favoritedDate)
  }
}

extension Paper: DescribedItem {
  public static var descriptor: any LibraryDescriptor { PapersDescriptor() }
}

/// Papers on arXiv, identified by their arXiv identifiers, and other publications.
private struct PapersDescriptor: LibraryDescriptor {
  let name = Paper.library
  let fields: [LibraryField] = [
    .init("title"), .init("authors", .texts), .init("categories", .texts), .init("publishedDate"),
    .init("updatedDate"), .init("linkURL", .url), .init("pdfURL", .url), .init("summary"),
  ]
  let traits: Set<LibraryTrait> = [.publications]
  let titleFields = ["title"]
  let subtitleFields = ["authors"]
  let columnAliases = [
    "url": "linkURL", "pdf": "pdfURL", "abstract": "summary", "abstract note": "summary",
  ]
  let formats: [any FileFormat] = [ArXivAtomFormat(), ArXivSnapshotFormat()]

  func address(of item: FileItem) -> String? {
    item["linkURL"]?.text ?? "https://arxiv.org/abs/\(item.id.percentEncoded)"
  }

  /// Recognizes `abs/2006.08594v1`, `pdf/quant-ph/0201082v1.pdf`.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), let host = url.host?.lowercased(),
      host == "arxiv.org" || host.hasSuffix(".arxiv.org")
    else { return nil }
    let path = url.path.split(separator: "/")
    guard path.count > 1, ["abs", "pdf", "html", "ps", "format"].contains(path[0]) else { return nil }
    var name = path.dropFirst().joined(separator: "/")
    if name.hasSuffix(".pdf") { name.removeLast(4) }
    guard let id = ArXivIdentifier(name)?.text else { return nil }
    var item = FileItem(id: id)
    item.set("linkURL", .string(try Paper.url("abs", of: id).absoluteString))
    item.set("pdfURL", .string(try Paper.url("pdf", of: id).absoluteString))
    // The title of the page is "[2006.08594] Title of the paper"; that of its PDF is the name of the file.
    var title = title[...]
    if title.hasPrefix("["), let end = title.firstIndex(of: "]") { title = title[title.index(after: end)...] }
    let shown = title.withoutOuterWhiteSpace
    if !shown.isEmpty, !title.hasPrefix(id), !title.hasSuffix(".pdf") { item.set("title", .string(shown)) }
    return item
  }
}
