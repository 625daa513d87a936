import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What saving an array of books came to.
public struct BookSaveReport: Sendable {
  /// Books that came into the library, in the order of the array.
  public internal(set) var added: [Book.ID] = []
  /// Those of which something but the position was written.
  public internal(set) var changed: [Book.ID] = []
  /// Books that left it, by id, with the files that were theirs alone.
  public internal(set) var deleted: [DeletedBook] = []
  /// Books that were not saved, and why; what the store holds of them stays. The others are saved.
  public internal(set) var rejected: [(id: Book.ID, error: HeartlogError)] = []
}

extension BookLibrary {
  /// Books in one commit: each is three events at most, and a commit takes 50,000.
  private static let booksPerCommitMax = 5_000

  /// Saves the books as they are now, by what is different from what this caller last loaded or saved: one commit, and none where
  /// nothing is.
  ///
  /// A book that was there and is no more is deleted as `deleteBook` does it. A book that another device has added meanwhile stays, and
  /// one that another has deleted stays deleted. Of a book that this caller never saw, only what it knows is written. Positions go the
  /// way of `savePosition`, so that an app may save its array at each tick of the player. More than 5,000 books that differ are written in
  /// several commits.
  ///
  /// - Parameter given: the whole array, in any order.
  /// - Returns: what came of it. A book that cannot be saved is named there, and keeps none of the others from it.
  /// - Throws: `HeartlogError` where the store cannot be written; of several commits the first may be there then.
  @discardableResult
  public func saveBooks(_ given: [Book]) throws(HeartlogError) -> BookSaveReport {
    var report = BookSaveReport()
    let (seen, listed) = memory.withLock { ($0.books, $0.listed) }
    var known = seen
    var drafts: [BookDraft] = []
    var positions: [Book] = []
    var ids: Set<Book.ID> = []
    for book in given {
      do throws(HeartlogError) {
        guard ids.insert(book.id).inserted else {
          throw HeartlogError(.invalidItem, "the book \(book.id.favoriteID) twice in one array")
        }
        // At each tick of a player, all but one are as they were, and of that one only the position is new.
        if let before = seen[book.id], book.isAs(before) {
          guard book.currentPosition != before.currentPosition else { continue }
          try BookDraft.check(book)
          positions.append(book)
          known[book.id] = book
        } else {
          drafts.append(try BookDraft(book))
        }
      } catch {
        report.rejected.append((book.id, error))
      }
    }
    let gone = listed.subtracting(ids)
      .sorted { $0.favoriteID.utf8.lexicographicallyPrecedes($1.favoriteID.utf8) }

    var rest = drafts[...]
    var deletions = gone[...]
    while !rest.isEmpty || !deletions.isEmpty {
      let part = rest.prefix(Self.booksPerCommitMax)
      let deleting = deletions.prefix(Self.booksPerCommitMax)
      rest = rest.dropFirst(part.count)
      deletions = deletions.dropFirst(deleting.count)
      let result = try store.writeAsOne {
        () throws(HeartlogError) -> (saved: BookSaveReport, positions: [Book]) in
        var saved = BookSaveReport()
        var positions: [Book] = []
        for draft in part {
          if try save(draft, seen: seen[draft.book.id], into: &saved) { positions.append(draft.book) }
        }
        if !deleting.isEmpty {
          let deletedIDs = Set(gone)
          let others = (members().books.filter { !deletedIDs.contains($0.id) } + given).filePaths
          for id in deleting {
            if let deleted = try delete(id, others: others) { saved.deleted.append(deleted) }
          }
        }
        return (saved, positions)
      }
      for draft in part { known[draft.book.id] = draft.book }
      for id in deleting { known[id] = nil }
      report.added += result.saved.added
      report.changed += result.saved.changed
      report.deleted += result.saved.deleted
      positions += result.positions
      memory.withLock { memory in
        for id in deleting { memory.positions.remove(id) }
      }
    }
    let nowKnown = known
    memory.withLock {
      $0.books = nowKnown
      $0.listed = ids.filter { nowKnown[$0] != nil }
    }
    for book in positions { try savePosition(for: book.id, position: book.currentPosition) }
    return report
  }

  /// Writes what is new about one book, inside of a write.
  ///
  /// - Returns: whether its position is to be reported.
  private func save(_ draft: BookDraft, seen: Book?, into report: inout BookSaveReport) throws(HeartlogError)
    -> Bool
  {
    let id = draft.book.id.favoriteID
    guard let seen else {
      if try add(draft) {
        report.added.append(draft.book.id)
        return false
      }
      // It is there, and this caller has never seen it: what it does not know, it does not clear.
      if try books.library.set(draft.fields.filter { !$0.value.isNull }, of: id).isChange {
        report.changed.append(draft.book.id)
      }
      return draft.book.currentPosition > 0
    }
    let heldDate = books.favoritedDate(of: draft.book.id)
    if seen.dateAdded != draft.book.dateAdded, heldDate?.milliseconds != draft.book.dateAdded.milliseconds {
      // Added anew; what is there keeps its position.
      let wasThere = try books.remove(draft.book.id)
      try add(draft, keepingPosition: wasThere)
      if wasThere { report.changed.append(draft.book.id) } else { report.added.append(draft.book.id) }
      return wasThere && seen.currentPosition != draft.book.currentPosition
    }
    // Deleted elsewhere, it stays deleted.
    guard heldDate != nil else { return false }
    let before = try BookDraft(seen).fields
    let differing = draft.fields.filter { !before.contains($0) }
    if !differing.isEmpty, try books.library.set(differing, of: id).isChange {
      report.changed.append(draft.book.id)
    }
    return seen.currentPosition != draft.book.currentPosition
  }

  /// - Returns: false where it is in the library already.
  @discardableResult
  func add(_ draft: BookDraft, keepingPosition: Bool = false) throws(HeartlogError) -> Bool {
    var fields = draft.fields
    if !keepingPosition, draft.book.currentPosition > 0 {
      fields.append(Field.position(draft.book.currentPosition))
    }
    return try books.library.add(
      draft.book.id.favoriteID, fields: fields, favoritedDate: draft.book.dateAdded.milliseconds
    ).isChange
  }

  // MARK: - Deleting

  /// Deletes a book, its position with it, and clears the current book where it was this one: one commit. History still shows them.
  ///
  /// - Returns: what was deleted, with the files that were its alone; nil where it was not in the library.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func deleteBook(_ id: Book.ID) throws(HeartlogError) -> DeletedBook? {
    let deleted = try store.writeAsOne { () throws(HeartlogError) in
      try delete(id, others: members().books.filter { $0.id != id }.filePaths)
    }
    memory.withLock { $0.positions.remove(id) }
    return deleted
  }

  /// Inside of a write.
  ///
  /// - Parameter others: the paths of all files of the books that remain.
  private func delete(_ id: Book.ID, others: Set<String>) throws(HeartlogError) -> DeletedBook? {
    let book = try? books.item(id)
    guard try books.remove(id) else { return nil }
    try books.library.set([Field.position(nil)], of: id.favoriteID)
    if currentBookID == id { try setCurrentBookID(nil) }
    return DeletedBook(id: id, book: book, others: others)
  }

  // MARK: - Covers

  /// Takes down how the search for a book's cover stands. A book that is not in the library stays as it is.
  ///
  /// - Returns: whether something was new.
  /// - Throws: `invalidItem` where the store's record of the book is none; `HeartlogError` where the store cannot be written.
  @discardableResult
  public func saveCoverStatus(_ status: CoverStatus, for id: Book.ID) throws(HeartlogError) -> Bool {
    // An array that knows nothing of it is compared with what this caller knew before, and leaves it alone.
    try store.writeAsOne { () throws(HeartlogError) -> Bool in
      guard books.contains(id), var book = try books.item(id) else { return false }
      book.coverStatus = status
      let fields = try BookDraft(book).fields.filter { Self.coverFields.contains($0.name) }
      return try books.library.set(fields, of: id.favoriteID).isChange
    }
  }

  private static let coverFields = ["coverImageURL", "coverSearch"]

  /// The books whose search for a cover failed, in the order in which they were added: what to try again at the next launch.
  public func booksWithFailedCovers() -> [Book] { members().books.filter { $0.coverStatus == .failed } }

  /// The books without a cover: never searched for, failed, or searched for when the app ended.
  public func booksWithoutCovers() -> [Book] { members().books.filter { $0.coverImageURL == nil } }
}

/// A book that may be written, with its fields.
struct BookDraft {
  let book: Book
  /// All but the position, which has a way of its own.
  let fields: [Field]

  /// - Throws: `invalidItem` for a book with a number that is none, or with a value beyond the store's limits.
  init(_ book: Book) throws(HeartlogError) {
    try Self.check(book)
    var book = book
    book.currentPosition = book.clamped(book.currentPosition)
    self.book = book
    do {
      fields = try FieldEncoder.fields(of: book).filter { $0.name != Field.positionName }
    } catch {
      throw HeartlogError(.invalidItem, "the book \(book.id.favoriteID): \(error)")
    }
  }

  static func check(_ book: Book) throws(HeartlogError) {
    guard book.duration.isFinite, book.duration >= 0, book.currentPosition.isFinite else {
      throw HeartlogError(
        .invalidItem,
        "the book \(book.id.favoriteID) at \(book.currentPosition) of \(book.duration) seconds")
    }
  }
}

extension Book {
  /// Whether this is the same as before in everything but the position.
  fileprivate func isAs(_ before: Book) -> Bool {
    var book = self
    book.currentPosition = before.currentPosition
    return book == before
  }
}
