import Heartlog

/// The result of saving an array of books.
public struct BookSaveReport: Sendable {
  /// Books that were added to the library, in the order of the array.
  public internal(set) var added: [Book.ID] = []
  /// Books of which a field other than the position was written.
  public internal(set) var changed: [Book.ID] = []
  /// Books that were deleted, by id, with the files that no other book uses.
  public internal(set) var deleted: [DeletedBook] = []
  /// Books that were not saved, and why. Their records in the store are unchanged; the other books are saved.
  public internal(set) var rejected: [(id: Book.ID, error: HeartlogError)] = []
}

extension BookLibrary {
  /// The most books in one commit: each takes up to three events, and a commit has at most 50,000.
  private static let booksPerCommitMax = 5_000

  /// Saves the changes since this caller last loaded or saved, in one commit. If there are none, nothing is
  /// written.
  ///
  /// A book that is missing from the array is deleted, as by `deleteBook`. A book that another device has
  /// added stays, and one that another device has deleted stays deleted. Of a book that this caller has never
  /// loaded, only the fields with a value are written. Positions are saved as by `savePosition`, so an app
  /// may save its array at every tick of the player. If more than 5,000 books differ, there are several
  /// commits.
  ///
  /// - Parameter given: the whole array, in any order.
  /// - Returns: What was saved. A book that cannot be saved is listed there, and does not affect the others.
  /// - Throws: `HeartlogError` if the store cannot be written; of several commits, the first ones may have
  ///   been written.
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
        // At a tick of a player, only the position of one book changes.
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
      .sorted { $0.favoriteID.bytesPrecede($1.favoriteID) }

    for start in stride(from: 0, to: max(drafts.count, gone.count), by: Self.booksPerCommitMax) {
      let part = drafts.dropFirst(start).prefix(Self.booksPerCommitMax)
      let deleting = gone.dropFirst(start).prefix(Self.booksPerCommitMax)
      (report, positions) = try store.writeAsOne { [report, positions] () throws(HeartlogError) in
        var (saved, positions) = (report, positions)
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
      for id in deleting {
        known[id] = nil
        forgetPosition(of: id)
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

  /// Writes the changes of one book. Must be called inside a write.
  ///
  /// - Returns: Whether its position is to be reported.
  private func save(_ draft: BookDraft, seen: Book?, into report: inout BookSaveReport) throws(HeartlogError)
    -> Bool
  {
    let id = draft.book.id.favoriteID
    guard let seen else {
      if try add(draft) {
        report.added.append(draft.book.id)
        return false
      }
      // The book exists, but this caller has never loaded it: fields without a value are not cleared.
      if try books.library.set(draft.fields.filter { !$0.value.isNull }, of: id) {
        report.changed.append(draft.book.id)
      }
      return draft.book.currentPosition > 0
    }
    let heldDate = books.favoritedDate(of: draft.book.id)
    if seen.dateAdded != draft.book.dateAdded, heldDate?.milliseconds != draft.book.dateAdded.milliseconds {
      // Removed and added again by this caller. A book that is still there keeps its position.
      let wasThere = try books.remove(draft.book.id)
      try add(draft, keepingPosition: wasThere)
      if wasThere { report.changed.append(draft.book.id) } else { report.added.append(draft.book.id) }
      return wasThere && seen.currentPosition != draft.book.currentPosition
    }
    // Deleted by another device: it stays deleted.
    guard heldDate != nil else { return false }
    let before = try BookDraft(seen).fields
    let differing = draft.fields.filter { !before.contains($0) }
    if !differing.isEmpty, try books.library.set(differing, of: id) {
      report.changed.append(draft.book.id)
    }
    return seen.currentPosition != draft.book.currentPosition
  }

  /// Adds books in one commit. Those that are in the library already stay as they are. At most 50,000.
  ///
  /// - Throws: `invalidItem` if a book is not valid; then none is added. `HeartlogError` if the store cannot be
  ///   written.
  public func addBooks(_ new: [Book]) throws(HeartlogError) {
    let drafts = try new.map { (book) throws(HeartlogError) in try BookDraft(book) }
    try store.writeAsOne { () throws(HeartlogError) in
      for draft in drafts where !books.contains(draft.book.id) { try add(draft) }
    }
  }

  /// Adds a book.
  ///
  /// - Returns: False if it is in the library already.
  @discardableResult
  func add(_ draft: BookDraft, keepingPosition: Bool = false) throws(HeartlogError) -> Bool {
    var fields = draft.fields
    if !keepingPosition, draft.book.currentPosition > 0 {
      fields.append(Field.position(draft.book.currentPosition))
    }
    return try books.library.add(
      draft.book.id.favoriteID, fields: fields, favoritedDate: draft.book.dateAdded.milliseconds
    )
  }

  // MARK: - Deleting

  /// Deletes a book, its position, and what this device recorded of its files, and clears the current book if it was
  /// this one, in one commit. The history still contains them, but not the files.
  ///
  /// - Returns: The deleted book, with the files that no other book uses; `nil` if it was not in the library.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func deleteBook(_ id: Book.ID) throws(HeartlogError) -> DeletedBook? {
    let deleted = try store.writeAsOne { () throws(HeartlogError) in
      try delete(id, others: members().books.filter { $0.id != id }.filePaths)
    }
    forgetPosition(of: id)
    return deleted
  }

  /// Deletes a book. Must be called inside a write.
  ///
  /// - Parameter others: the paths of all files of the remaining books.
  private func delete(_ id: Book.ID, others: Set<String>) throws(HeartlogError) -> DeletedBook? {
    let book = try? books.item(id)
    guard try books.remove(id) else { return nil }
    let local = Book.localFields.sorted().map { Field(name: $0, value: .null) }
    try books.library.set([Field.position(nil)] + local, of: id.favoriteID)
    if currentBookID == id { try setCurrentBookID(nil) }
    return DeletedBook(id: id, book: book, others: others)
  }

  // MARK: - Covers

  /// Saves the state of the search for a book's cover. Nothing is written for a book that is not in the
  /// library.
  ///
  /// - Returns: Whether anything changed.
  /// - Throws: `invalidItem` if the stored record is not a valid book; `HeartlogError` if the store cannot be
  ///   written.
  @discardableResult
  public func saveCoverStatus(_ status: CoverStatus, for id: Book.ID) throws(HeartlogError) -> Bool {
    // `memory` is not updated, so saving an older array does not undo this: it is compared with the state
    // that this caller knew before.
    try store.writeAsOne { () throws(HeartlogError) -> Bool in
      guard books.contains(id), var book = try books.item(id) else { return false }
      book.coverStatus = status
      let fields = try BookDraft(book).fields.filter { Self.coverFields.contains($0.name) }
      return try books.library.set(fields, of: id.favoriteID)
    }
  }

  private static let coverFields = ["coverImageURL", "coverFileURL", "coverSearch"]

  /// The books whose search for a cover failed, in the order in which they were added. Search again for these
  /// at the next launch.
  public func booksWithFailedCovers() -> [Book] { members().books.filter { $0.coverStatus == .failed } }

  /// The books without a cover: not searched for yet, failed, or still being searched for when the app ended.
  public func booksWithoutCovers() -> [Book] { members().books.filter { $0.coverImageURL == nil } }
}

/// A book that has been checked for writing, with its fields.
struct BookDraft {
  let book: Book
  /// All fields but the position, which is saved separately.
  let fields: [Field]

  /// Checks a book and encodes its fields.
  ///
  /// - Throws: `invalidItem` if a number is not valid, or a value exceeds the limits of the store.
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
  /// Whether this book equals `before` in everything but the position.
  fileprivate func isAs(_ before: Book) -> Bool {
    var book = self
    book.currentPosition = before.currentPosition
    return book == before
  }
}

extension BookLibrary {
  /// Records the position of a book during playback. It may be called at any rate.
  ///
  /// At most one event per book is written in 5 s. The last position waits for the next call, or for
  /// `flush()`, which an app calls on every pause and stop and when it ends. `saveCurrentBookID` and `close`
  /// flush by themselves.
  ///
  /// A position of 0 is ignored until a position above 0 has been reported since a book was last selected,
  /// because players report 0 while they load. After that, it waits like any other. Use `restartBook` to go
  /// back to the beginning.
  ///
  /// - Parameters:
  ///   - id: the book that is played.
  ///   - position: in seconds from the beginning; clamped to 0…duration.
  /// - Returns: Whether it was accepted: false if the book is not in the library, and for a 0 that is
  ///   ignored.
  /// - Throws: `invalidItem` for NaN and infinity; the errors of a write, after which the position still
  ///   waits.
  @discardableResult
  public func savePosition(for id: Book.ID, position: Double) throws(HeartlogError) -> Bool {
    guard position.isFinite else {
      throw HeartlogError(.invalidItem, "a position of \(position) in the book \(id.favoriteID)")
    }
    guard let isDue = report(position, of: id) else { return false }
    if isDue { try flush(id) }
    return true
  }

  /// Notes a position, which must be finite, without writing it.
  ///
  /// - Returns: Whether it should be written now; `nil` if it is not accepted.
  func report(_ position: Double, of id: Book.ID) -> Bool? {
    guard let stored = stored(id) else { return nil }
    let seconds = stored.clamped(position)
    let waiting = positions.waiting(id.favoriteID, in: Book.library)
    let isAccepted = memory.withLock { memory in
      if seconds > 0 {
        memory.playing = id
        memory.beforeZero[id] = nil
        return true
      }
      // Nothing of the book has been played yet: the player is loading it.
      guard memory.playing == id || (waiting?.seconds ?? stored.seconds) == 0 else { return false }
      if let waiting, waiting.seconds > 0 { memory.beforeZero[id] = waiting }
      return true
    }
    guard isAccepted else { return nil }
    let library = books.library
    let isDue = positions.report(
      [Field.position(seconds)], of: id.favoriteID, in: library, stored: stored.item,
      every: Self.spacingMilliseconds
    ) { (fields, id) throws(HeartlogError) in if library.contains(id) { try library.set(fields, of: id) } }
    return seconds > 0 && isDue
  }

  /// The least time between two writes of one book's position, except on pause, stop, book change and close.
  private static let spacingMilliseconds: Milliseconds = 5_000

  /// The position of a book in seconds: the last one reported here, or a newer one from another device; 0 if
  /// there is none.
  public func loadPosition(for id: Book.ID) -> Double {
    guard let stored = stored(id) else { return 0 }
    return stored.clamped(positions.waiting(id.favoriteID, in: Book.library)?.seconds ?? stored.seconds)
  }

  /// Writes all positions that wait, in one commit. A position that is older than one from another device is
  /// dropped.
  ///
  /// - Throws: the errors of a write, after which the positions still wait.
  public func flush() throws(HeartlogError) { try flush(nil) }

  /// Sets a book back to its beginning, immediately. Nothing is written for a book that is not in the
  /// library.
  ///
  /// - Throws: `HeartlogError` if the store cannot be written.
  public func restartBook(_ id: Book.ID) throws(HeartlogError) {
    try store.writeAsOne { () throws(HeartlogError) in
      guard books.contains(id) else { return }
      try books.library.set([Field.position(nil)], of: id.favoriteID)
    }
    forgetPosition(of: id)
  }

  func flush(_ id: Book.ID?) throws(HeartlogError) {
    try positions.flush(id?.favoriteID, in: Book.library)
  }

  /// Forgets the position of a book that waits.
  func forgetPosition(of id: Book.ID) {
    positions.remove(id.favoriteID, in: Book.library)
    memory.withLock { $0.forgetPosition(of: id) }
  }

  /// A book as it is stored, as far as its position needs it.
  private struct StoredPosition {
    let item: ItemState

    var seconds: Double { item.value(of: Field.positionName)?.number ?? 0 }

    func clamped(_ position: Double) -> Double {
      Book.clamped(position, duration: item.value(of: "duration")?.number ?? 0)
    }
  }

  /// The stored state of a book; `nil` if it is not in the library.
  private func stored(_ id: Book.ID) -> StoredPosition? {
    books.library.item(id.favoriteID).flatMap { $0.isFavorite ? StoredPosition(item: $0) : nil }
  }
}

extension CoalescedWrites.Waiting {
  /// The position that waits.
  var seconds: Double { fields.first?.value.number ?? 0 }
}

extension Field {
  static let positionName = "currentPosition"

  /// The field of a position. It is quiet, because it is written continuously, and playback on two devices at
  /// once is not a conflict.
  static func position(_ seconds: Double?) -> Field {
    Field(
      name: positionName, value: seconds.flatMap(FieldValue.number) ?? .null, isQuiet: true)
  }
}
