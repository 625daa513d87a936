import Heartlog

/// Papers in Heartlog, through `Favorites<Paper>`.
struct TypedPapers: PaperPeer {
  private let papers: Favorites<Paper>

  init(_ store: FavoritesStore) throws { papers = try store.favorites(of: Paper.self, in: "papers") }

  func add(_ papers: ArraySlice<PaperOnTrace>) throws {
    try self.papers.library.store.write {
      for paper in papers {
        try self.papers.add(
          paper.paper, since: .init(timeIntervalSince1970: Double(paper.favoritedDate) / 1_000))
      }
    }
  }

  func toggle(_ paper: PaperOnTrace) throws -> Bool { try papers.toggle(paper.paper) }
  func contains(_ id: String) -> Bool { papers.contains(id) }
  func item(_ id: String) throws -> Int { try papers.item(id)?.textBytes ?? 0 }
  func list(limit: Int) -> Int { papers.list(limit: limit).count { $0.textBytes > 0 } }
  func search(_ text: String) throws -> Int {
    try papers.query.search(text).items().count { $0.textBytes > 0 }
  }
}

/// The same library by id and fields: what the type adds to its cost is left out.
struct FieldPapers: PaperPeer {
  private let papers: FavoritesLibrary

  init(_ store: FavoritesStore) throws { papers = try store.library("papers") }

  func add(_ papers: ArraySlice<PaperOnTrace>) throws {
    try self.papers.store.write {
      for paper in papers {
        try self.papers.add(paper.paper.id, fields: paper.fields, favoritedDate: paper.favoritedDate)
      }
    }
  }

  func toggle(_ paper: PaperOnTrace) throws -> Bool {
    try papers.toggle(paper.paper.id, fields: paper.fields)
  }

  func contains(_ id: String) -> Bool { papers.contains(id) }
  func item(_ id: String) -> Int { papers.item(id).map(Self.textBytes) ?? 0 }
  func list(limit: Int) -> Int { papers.favorites(limit: limit).count { Self.textBytes(of: $0) > 0 } }
  func search(_ text: String) -> Int { papers.search(text).count { Self.textBytes(of: $0) > 0 } }

  /// Reads all fields of an item, as somebody does who shows it.
  private static func textBytes(of item: ItemState) -> Int {
    item.fields.reduce(0) { sum, field in
      if case .string(let text) = field.value { sum + text.utf8.count } else { sum }
    }
  }
}
