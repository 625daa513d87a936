import Foundation
import HeartlogFiles
@testable import HeartlogInterchange
import HeartlogLibraries
import HeartlogSync
import LibraryTestSupport
import Observation
import Testing

@testable import Heartlog

@Suite("books on two devices: paths and download states stay at home", .timeLimit(.minutes(5)))
struct LocalBooksTests {
  /// A device with a player.
  private final class Device {
    static let path = "/favorites.heartlog"
    let files = MemoryFileSystem()
    let store: FavoritesStore
    let library: BookLibrary

    init(_ clock: BookClock) throws {
      var options = StoreOptions()
      options.clock = { clock.now }
      store = try FavoritesStore(at: Self.path, on: files, options: options)
      library = try BookLibrary(store)
    }

    func sync(_ peer: Device) throws {
      _ = try StoreCarrier(peer.store).sync(store, options: SyncOptions())
      try #require(store.digest == peer.store.digest)
    }
  }

  private let clock = BookClock()
  private let phone: Device
  private let tablet: Device

  init() throws {
    phone = try Device(clock)
    tablet = try Device(clock)
  }

  /// The book as a device has it that keeps its files in a folder.
  private func book(in folder: String, title: String = "Dune") -> Book {
    var book = Book(
      id: UUID(uuid: (1, 1, 2, 3, 4, 5, 0x80, 7, 0x80, 9, 10, 11, 12, 13, 14, 15)), title: title,
      fileURL: URL(filePath: "/\(folder)/dune.m4b"),
      coverImageURL: URL(string: "https://example.org/dune.jpg"), duration: 3_600,
      dateAdded: Date(timeIntervalSince1970: Double(BookClock.start) / 1_000),
      associatedFiles: [URL(filePath: "/\(folder)/dune.cue")])
    book.coverImageURL = URL(filePath: "/\(folder)/dune.jpg")
    return book
  }

  /// The same book on a device that has none of its files.
  private func bare(title: String = "Dune") -> Book {
    Book(
      id: book(in: "").id, title: title, coverImageURL: URL(string: "https://example.org/dune.jpg"),
      duration: 3_600, dateAdded: book(in: "").dateAdded)
  }

  @Test("100 syncs, an export, a backup and an import show neither device the other's")
  func acceptance() throws {
    try phone.library.addBooks([book(in: "phone")])
    try phone.sync(tablet)
    #expect(tablet.library.loadBooks() == [bare()])
    #expect(tablet.library.loadBooks()[0].fileURL == nil && !tablet.library.loadBooks()[0].isDownloaded)

    try tablet.library.saveBooks([book(in: "tablet")])
    for round in 0..<100 {
      clock.advance(seconds: 1)
      let (writer, folder) = round % 2 == 0 ? (phone, "phone") : (tablet, "tablet")
      var books = writer.library.loadBooks()
      books[0].title = "Dune \(round)"
      books[0].isDownloaded = round % 3 == 0
      try writer.library.saveBooks(books)
      try (round % 5 == 0 ? tablet : phone).sync(round % 5 == 0 ? phone : tablet)
      var expected = book(in: folder, title: "Dune \(round)")
      expected.isDownloaded = round % 3 == 0
      #expect(writer.library.loadBooks() == [expected])
    }
    var onPhone = book(in: "phone", title: "Dune 99")
    onPhone.isDownloaded = false  // round 98
    let onTablet = book(in: "tablet", title: "Dune 99")
    func check(_ what: Comment) {
      #expect(phone.library.loadBooks() == [onPhone] && tablet.library.loadBooks() == [onTablet], what)
    }
    check("after 100 syncs")
    #expect(phone.store.conflicts.isEmpty)

    // Exports contain none of it, and imports change none.
    for format in [UserDefaultsFormat(), JSONLinesFormat(), CSVFormat(), BookmarksFormat()]
      as [any FileFormat]
    {
      for library in [try phone.store.library("books"), phone.library.books.library] {
        let bytes = try library.exportFile(format: format)
        // In the list for the app, every book has the member, and the same value.
        let text = String(decoding: bytes, as: UTF8.self).replacing(#""isDownloaded":false"#, with: "")
        #expect(
          text.contains("Dune 99") && !text.contains("/phone") && !text.contains("isDownloaded"),
          "\(format.name)")
        for target in [try tablet.store.library("books"), tablet.library.books.library] {
          #expect(try target.importFile(bytes, format: format).events == 0, "\(format.name)")
        }
      }
    }
    check("after exports and imports")
    let foreign = """
      {"library":"books","id":"\(onPhone.id.favoriteID)","fields":{"fileURL":"file:///foreign/dune.m4b",\
      "coverFileURL":"file:///foreign/dune.jpg","coverImageURL":"file:///foreign/dune.jpg","isDownloaded":true,\
      "associatedFiles":["file:///foreign/dune.cue"]}}

      """
    #expect(try phone.store.take(foreign, JSONLinesFormat(), into: "books").events == 0)
    #expect(try phone.library.books.importFile(Array(foreign.utf8), format: JSONLinesFormat()).events == 0)
    check("after an import with paths")

    // A backup contains none of it, and restoring it gives none.
    _ = try phone.store.backup(to: "/backup", on: phone.files)
    #expect(try !phone.files.contains("phone/dune", below: "/backup"))
    _ = try FavoritesStore.restoreBackup(
      at: "/backup", to: "/restored", on: phone.files, options: StoreOptions())
    let restored = try FavoritesStore(at: "/restored", on: phone.files, options: StoreOptions())
    #expect(try BookLibrary(restored).loadBooks() == [bare(title: "Dune 99")])
    check("after a backup")
    #expect(try phone.files.contains("phone/dune", below: "\(Device.path)/local"))
    #expect(try !phone.files.contains("phone/dune", below: "\(Device.path)/replicas"))
    #expect(try !tablet.files.contains("phone/dune", below: "/"))
  }

  @Test("an address is on all devices, and a file goes before it where there is one")
  func addresses() throws {
    let zip = try #require(URL(string: ["https://example.org", "dune.zip"].joined(separator: "/")))
    let remote = Book(id: UUID(), title: "Dune", fileURL: zip, dateAdded: Date(timeIntervalSince1970: 1))
    #expect(remote.fileURL == nil && remote.downloadURL == zip && !remote.isDownloaded)
    try phone.library.addBooks([remote])
    try phone.sync(tablet)
    var there = try #require(tablet.library.loadBooks().first)
    #expect(there == remote)

    there.fileURL = URL(filePath: "/tablet/dune.m4b")
    there.isDownloaded = true
    try tablet.library.saveBooks([there])
    try tablet.sync(phone)
    #expect(phone.library.loadBooks() == [remote] && tablet.library.loadBooks() == [there])
    #expect(there.downloadURL == zip)

    // A cover that was found is the same for all; one that a device keeps as a file is its own.
    let jpg = zip.deletingPathExtension().appendingPathExtension("jpg")
    try phone.library.saveCoverStatus(.found(jpg), for: remote.id)
    try phone.sync(tablet)
    #expect(tablet.library.loadBooks().first?.coverImageURL == jpg)
    let file = URL(filePath: "/tablet/dune.jpg")
    try tablet.library.saveCoverStatus(.found(file), for: remote.id)
    try phone.sync(tablet)
    #expect(tablet.library.loadBooks().first?.coverImageURL == file)
    #expect(phone.library.loadBooks().first?.coverImageURL == jpg)
  }

  @Test("a file that another device imported gets the path of this one, and deleting the book forgets it")
  func importing() throws {
    func file(_ folder: String) -> URL { URL(filePath: "/\(folder)/dune.m4b") }
    let first = try phone.library.importBook(from: file("phone"), fingerprint: "dune", duration: 60)
    try phone.sync(tablet)
    #expect(tablet.library.loadBooks().map(\.fileURL) == [nil])
    let (cover, sheet) = (URL(filePath: "/tablet/dune.jpg"), URL(filePath: "/tablet/dune.cue"))
    let second = try tablet.library.importBook(
      from: file("tablet"), fingerprint: "dune", coverImageURL: cover, associatedFiles: [sheet])
    #expect(second.id == first.id && second.fileURL == file("tablet") && second.isDownloaded)
    #expect(second.coverImageURL == cover && second.associatedFiles == [sheet])
    #expect(second.duration == 60 && tablet.library.loadBooks() == [second])
    try tablet.sync(phone)
    #expect(phone.library.loadBooks() == [first])
    // It has a file already.
    #expect(try tablet.library.importBook(from: file("elsewhere"), fingerprint: "dune") == second)

    #expect(try tablet.library.deleteBook(second.id)?.files == [file("tablet"), cover, sheet])
    clock.advance(seconds: 1)
    try tablet.library.addBooks([bare(of: first)])
    try tablet.sync(phone)
    #expect(tablet.library.loadBooks().map(\.fileURL) == [nil])
    #expect(phone.library.loadBooks().map(\.fileURL) == [file("phone")])
  }

  private func bare(of book: Book) -> Book {
    Book(id: book.id, title: book.title, duration: book.duration, dateAdded: Date(timeIntervalSince1970: 9))
  }

  @Test("what the app kept itself is taken over with its files, on this device")
  func migrate() throws {
    let report = try phone.library.migrate(books: BookTests.appRecords)
    #expect(report.count == 2)
    try phone.sync(tablet)
    let here = phone.library.loadBooks()
    #expect(here.map { $0.fileURL?.path } == ["/books/Dune 1.m4b", "/books/Short.m4b"])
    #expect(here[0].coverImageURL?.path == "/covers/dune.jpg" && here[0].associatedFiles.count == 1)
    let there = tablet.library.loadBooks()
    #expect(
      there.map(\.title) == here.map(\.title) && there.allSatisfy { $0.files.isEmpty && !$0.isDownloaded })
  }

  @Test("erasing a book on one device erases its paths on both")
  func erasing() throws {
    let kept = Book(id: UUID(), title: "Emma", dateAdded: Date(timeIntervalSince1970: 1))
    try phone.library.addBooks([book(in: "phone"), kept])
    try phone.sync(tablet)
    try tablet.library.saveBooks([book(in: "tablet"), kept])
    try phone.store.erase(book(in: "").id.favoriteID, in: "books")
    try phone.sync(tablet)
    for (device, name) in [(phone, "phone"), (tablet, "tablet")] {
      #expect(device.library.loadBooks().map(\.title) == ["Emma"])
      try device.store.close()
      #expect(try !device.files.contains("\(name)/dune", below: "/"))
    }
  }

  @MainActor
  @Test("a model shows a download when it is recorded")
  func model() async throws {
    try phone.library.addBooks([bare()])
    let model = try BookLibraryModel(phone.store)
    try phone.library.saveBooks([book(in: "phone")])
    let expected = book(in: "phone")
    for await books in Observations({ model.books }) where books == [expected] { break }
  }
}

extension Book {
  fileprivate var files: [URL] {
    ([fileURL, coverImageURL].compactMap { $0 } + associatedFiles).filter(\.isFileURL)
  }
}

extension MemoryFileSystem {
  /// Whether the bytes of a text are in any file below a folder.
  fileprivate func contains(_ text: String, below folder: String) throws -> Bool {
    try entries(of: folder).contains { name in
      let path = "\(folder == "/" ? "" : folder)/\(name)"
      if try info(path)?.kind == .directory { return try contains(text, below: path) }
      let file = try open(path, .read)
      let bytes = try file.bytes(Int(try file.size()), at: 0)
      return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self).contains(text) }
    }
  }
}
