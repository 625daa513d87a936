import Heartlog
import Observation

/// The books of a player for views: the library, the current book with its position, and the settings.
///
/// What a person does shows at once. It is written in the background, in order and with its own time; if a write
/// fails, `failedWrites` says what and why, and the model shows what is stored again. Writes of other processes and
/// devices show when they arrive in the store.
@MainActor @Observable
public final class BookLibraryModel {
  /// The books in the order in which they were added, with the positions that were reported last, also those that
  /// are not written yet.
  public private(set) var books: [Book] = []
  /// The records that are not valid books: the id of each, with an error that names the field.
  public private(set) var failures: [(id: String, error: HeartlogError)] = []
  /// What a write is about.
  public enum Subject: Hashable, Sendable {
    /// A book: its record and the state of its cover.
    case book(Book.ID)
    /// Which book is the current one.
    case currentBook
    /// The positions in books.
    case positions
    /// The settings.
    case settings
  }

  /// The settings. A setting that is out of its range is not written, and reported in `failedWrites`.
  public var settings: PlaybackSettings {
    get { shownSettings }
    set {
      let before = shownSettings
      shownSettings = newValue
      write([.settings]) { library throws(HeartlogError) in
        try library.saveSettings(newValue, since: before)
      }
    }
  }
  /// The id of the current book; `nil` if there is none.
  public private(set) var currentBookID: Book.ID?
  /// The writes that failed, one for each subject, the latest last. Each stays until it is dismissed, or until a
  /// later write of the same subject succeeds.
  public private(set) var failedWrites: [WriteFailure<Subject>] = []
  /// The error of the last of `failedWrites`; `nil` if there is none. Setting it to `nil`, as an alert's binding
  /// does, dismisses all of them; it cannot be set to an error.
  public var lastError: HeartlogError? {
    get { failedWrites.last?.error }
    set { if newValue == nil, !failedWrites.isEmpty { failedWrites = [] } }
  }

  /// The library that the model shows. No one else should load from and save to this instance.
  @ObservationIgnored public let library: BookLibrary
  private var shownSettings: PlaybackSettings
  @ObservationIgnored private var following: Task<Void, Never>?
  /// The last write, after those before it.
  @ObservationIgnored private var writing: Task<Void, Never>?
  @ObservationIgnored private var writes = 0
  /// Whether a position is being written: the next one waits until then.
  @ObservationIgnored private var isWritingPosition = false
  @ObservationIgnored private var isLoading = false
  @ObservationIgnored private var loadsAgain = false

  /// Creates a model that follows the store until it is deallocated. Loads the library before it returns.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which these are not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    library = try BookLibrary(store)
    let changes = store.allChanges
    shownSettings = library.loadSettings()
    (books, failures) = library.members()
    currentBookID = library.loadCurrentBookID()
    following = Task { [weak self] in
      for await notice in changes {
        guard let self else { return }
        guard case .change(let change) = notice else {
          self.load()
          continue
        }
        if [Book.library, PlaybackSettings.library].contains(change.event.library) { self.load() }
      }
    }
  }

  deinit { following?.cancel() }

  /// The current book; `nil` if there is none.
  public var currentBook: Book? { currentBookID.flatMap { id in books.first { $0.id == id } } }

  /// The chapters of the current book: the tracks of its cue sheet, or simulated ones. Reads the cue sheet.
  public var chapters: [Chapter] { currentBook?.chapters(settings) ?? [] }

  // MARK: - Playing

  /// Selects a book, or none, as `BookLibrary.saveCurrentBookID` does.
  public func select(_ id: Book.ID?) {
    currentBookID = id
    write([.currentBook]) { library throws(HeartlogError) in try library.saveCurrentBookID(id) }
  }

  /// Takes the position of the current book from the player, many times a second. It is written as
  /// `BookLibrary.savePosition` does: at most every 5 s, and by `pause()`. A position that is not a number is
  /// ignored.
  ///
  /// - Parameter position: in seconds from the beginning.
  public func report(position: Double) {
    guard let id = currentBookID, position.isFinite, let isDue = library.report(position, of: id) else {
      return
    }
    if let index = books.firstIndex(where: { $0.id == id }) {
      books[index].currentPosition = books[index].clamped(position)
    }
    guard isDue, !isWritingPosition else { return }
    isWritingPosition = true
    write([.positions], isPosition: true) { library throws(HeartlogError) in try library.flush(id) }
  }

  /// Writes the positions that wait: on pause and stop, and before the app is suspended.
  public func pause() { write([.positions]) { library throws(HeartlogError) in try library.flush() } }

  /// Sets a book back to its beginning.
  public func restart(_ id: Book.ID) {
    if let index = books.firstIndex(where: { $0.id == id }) { books[index].currentPosition = 0 }
    write([.positions]) { library throws(HeartlogError) in try library.restartBook(id) }
  }

  // MARK: - The library

  /// Adds books. Those that are in the library already stay as they are.
  public func add(_ new: [Book]) {
    let known = Set(books.map(\.id))
    books += new.filter { !known.contains($0.id) }
    write(new.map { .book($0.id) }) { library throws(HeartlogError) in try library.addBooks(new) }
  }

  /// Deletes a book, as `BookLibrary.deleteBook` does.
  ///
  /// - Returns: The deleted book, with the files that no other book uses; `nil` if it was not in the library, or if
  ///   that could not be written.
  @discardableResult
  public func delete(_ id: Book.ID) async -> DeletedBook? {
    books.removeAll { $0.id == id }
    if currentBookID == id { currentBookID = nil }
    return await write([.book(id)]) { library throws(HeartlogError) in try library.deleteBook(id) }.value
      ?? nil
  }

  /// Saves the state of the search for a book's cover, as `BookLibrary.saveCoverStatus` does.
  public func save(_ status: CoverStatus, for id: Book.ID) {
    if let index = books.firstIndex(where: { $0.id == id }) { books[index].coverStatus = status }
    write([.book(id)]) { library throws(HeartlogError) in try library.saveCoverStatus(status, for: id) }
  }

  /// Dismisses the failed write about a subject.
  public func dismissFailure(of subject: Subject) { failedWrites.add(nil, of: subject) }

  /// Waits until everything so far is written, or has failed: call it before the app is suspended.
  public func finishWriting() async { await writing?.value }

  @discardableResult
  private func write<R: Sendable>(
    _ subjects: [Subject], isPosition: Bool = false,
    _ body: @escaping @Sendable (BookLibrary) throws(HeartlogError) -> R
  ) -> Task<R?, Never> {
    writes += 1
    let time = library.store.options.clock()
    let earlier = writing
    let write = Task { [weak self, library] () -> R? in
      await earlier?.value
      let result: Result<R, HeartlogError>
      do throws(HeartlogError) {
        result = .success(
          try await library.store.run(at: time) { _ throws(HeartlogError) in try body(library) })
      } catch {
        result = .failure(error)
      }
      if isPosition { self?.isWritingPosition = false }
      self?.didWrite(subjects, result)
      return try? result.get()
    }
    writing = Task { _ = await write.value }
    return write
  }

  private func didWrite<R>(_ subjects: [Subject], _ result: Result<R, HeartlogError>) {
    writes -= 1
    var failure: HeartlogError?
    if case .failure(let error) = result { failure = error }
    for subject in subjects { failedWrites.add(failure, of: subject) }
    if writes == 0 { load() }
  }

  // MARK: - Loading

  private struct Loaded: Sendable {
    let books: [Book]
    let failures: [(id: String, error: HeartlogError)]
    let settings: PlaybackSettings
    let currentBookID: Book.ID?
  }

  /// Reads everything in the background.
  private func load() {
    guard !isLoading else { return loadsAgain = true }
    isLoading = true
    Task { [weak self, library] in
      let loaded = await Self.load(library)
      self?.didLoad(loaded)
    }
  }

  @concurrent
  private nonisolated static func load(_ library: BookLibrary) async -> Loaded {
    let (books, failures) = library.members()
    return Loaded(
      books: books, failures: failures, settings: library.storedSettings,
      currentBookID: library.loadCurrentBookID())
  }

  private func didLoad(_ loaded: Loaded) {
    isLoading = false
    // What is being written is shown already. It is read again when it is written.
    guard writes == 0 else { return }
    guard !loadsAgain else {
      loadsAgain = false
      return load()
    }
    // A view is not told of what it shows already.
    if books != loaded.books { books = loaded.books }
    if !failures.isEmpty || !loaded.failures.isEmpty { failures = loaded.failures }
    if shownSettings != loaded.settings { shownSettings = loaded.settings }
    if currentBookID != loaded.currentBookID { currentBookID = loaded.currentBookID }
  }
}
