import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("books: chapters, rows and covers")
struct ChapterTests {
  @Test("ceil(duration / length) chapters also for a book of very many, and the last takes the remainder")
  func many() {
    var settings = PlaybackSettings()
    settings.simulatedChapterLength = 1
    let chapters = settings.chapters(duration: 36_000.25)
    #expect(chapters.count == 36_001 && chapters.last?.duration == 0.25)
    #expect(chapters.enumerated().allSatisfy { $1.startTime == Double($0) })
    #expect(chapters.index(at: 17_999.5) == 17_999)
  }

  @Test("chapter at t: start ≤ t < end; at or past the end the last one stays")
  func chapterAt() {
    let chapters = PlaybackSettings().chapters(duration: 2_000)
    #expect(
      [0, 899.9, 900, 1_799, 1_800, 1_999.9, 2_000, 1e9].map { chapters.index(at: $0) } == [
        0, 0, 1, 1, 2, 2, 2, 2,
      ])
    #expect(chapters.index(at: -1) == 0 && chapters.index(at: .nan) == 0)
    #expect([Chapter]().index(at: 0) == nil && [Chapter]().chapter(at: 0) == nil)
  }

  @Test("chapters are identified, and encoded with their ids")
  func identity() throws {
    let chapters = PlaybackSettings().chapters(duration: 2_000)
    #expect(chapters.map(\.id) == PlaybackSettings().chapters(duration: 2_000).map(\.id))
    #expect(Set(chapters.map(\.id)).count == 3)
    #expect(try JSONDecoder().decode([Chapter].self, from: JSONEncoder().encode(chapters)) == chapters)
    // As the app wrote it.
    let own = try JSONDecoder().decode(
      Chapter.self,
      from: Data(
        #"{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","title":"One","startTime":0,"duration":9}"#.utf8))
    #expect(own.id.uuidString == "6F9619FF-8B86-D011-B42D-00C04FC964FF" && own.endTime == 9)
  }

  @Test("next, previous and progress")
  func steps() {
    let chapters = PlaybackSettings().chapters(duration: 2_000)
    #expect(chapters.next(after: 0)?.startTime == 900 && chapters.next(after: 900)?.startTime == 1_800)
    #expect(chapters.next(after: 1_900) == nil)
    #expect(chapters.previous(before: 950)?.startTime == 0 && chapters.previous(before: 10) == nil)
    #expect([Chapter]().next(after: 0) == nil && [Chapter]().previous(before: 0) == nil)
    #expect([0, 900, 1_350, 1_800, 9_999].map { chapters[1].progress(at: $0) } == [0, 0, 0.5, 1, 1])
    #expect([5, 6].map { Chapter(title: "", startTime: 6, duration: 0).progress(at: $0) } == [0, 1])
    #expect(Chapter(title: "", startTime: 6, duration: 0.5).progress(at: 6.25) == 0.5)
  }

  @Test("storage: each file once, in all and downloaded")
  func storage() {
    var remote = book(2, files: ["/Books/shared.cue"])
    remote.isDownloaded = false
    let books = [book(1, files: ["/Books/./shared.cue", "/Books/gone.nfo"]), remote]
    let storage = books.storage { url in
      ["1.m4b": 1_000, "2.m4b": 500, "shared.cue": 7][url.lastPathComponent]
    }
    #expect(storage.books == 2 && storage.downloadedBooks == 1)
    #expect(storage.bytes == 1_507 && storage.downloadedBytes == 1_007)
  }

  static let sheet = """
    \u{FEFF}PERFORMER "A. Author"\r
    TITLE "The whole"\r
    FILE "book.m4b" MP4\r
      TRACK 01 AUDIO\r
        TITLE "Opening ""quoted"" [1]"\r
        INDEX 00 00:00:00\r
        INDEX 01 00:00:00\r
      track 02 AUDIO\r
        INDEX 01 04:19:15\r
        TITLE Late\r
      TRACK 03 AUDIO\r
        REM nothing\r
        INDEX 01 100:00:74\r
    """

  @Test("INDEX is MM:SS:FF with 75 frames a second")
  func cueSheet() throws {
    let sheet = try CueSheet(Array(Self.sheet.utf8))
    #expect(sheet.title == "The whole")
    #expect(sheet.tracks.map(\.title) == ["Opening \"\"quoted\"\" [1]", "Late", nil])
    let starts: [TimeInterval] = [0, 259.2, 6_000 + 74.0 / 75.0]
    #expect(sheet.tracks.map(\.startTime) == starts)
    let chapters = sheet.chapters(duration: 7_000)
    #expect(chapters.map(\.title) == ["Opening \"\"quoted\"\" [1]", "Late", "Chapter 3"])
    #expect(chapters[0].endTime == 259.2 && chapters[2].endTime == 7_000)
    #expect(sheet.chapters(duration: 1_000).map(\.endTime) == [259.2, 1_000])
    #expect(sheet.chapters(duration: 0).map(\.duration).last == 0)
  }

  @Test("where a cue sheet is among the associated files, its tracks are the chapters")
  func cueSheetOfBook() throws {
    let folder = try TestFolder()
    let file = folder.url.appending(path: "Book.CUE")
    try Data(Self.sheet.utf8).write(to: file)
    var book = book(1, files: ["/nowhere/notes.nfo", file.path])
    book.duration = 7_000
    var settings = PlaybackSettings()
    #expect(book.chapters(settings).map(\.title).last == "Chapter 3" && book.chapters(settings).count == 3)
    settings.simulateChapters = false
    #expect(book.chapters(settings).count == 3)
    // One that is no cue sheet, or is not there, keeps no book from being played.
    try Data("nothing".utf8).write(to: file)
    #expect(book.chapters(settings) == [Chapter(title: "Chapter 1", startTime: 0, duration: 7_000)])
    try FileManager.default.removeItem(at: file)
    settings.simulateChapters = true
    #expect(book.chapters(settings).count == 8)
  }

  @Test(
    "a sheet that is none is refused with its reason",
    arguments: [
      "", "FILE x WAVE\nTRACK 01 AUDIO", "TRACK 01 AUDIO\nINDEX 01 1:2", "TRACK 01 AUDIO\nINDEX 01 00:60:00",
      "TRACK 01 AUDIO\nINDEX 01 00:00:75", "TRACK 01 AUDIO\nINDEX 01 -1:00:00",
      "TRACK 1 AUDIO\nINDEX 1 99999999:00:00",
      "FILE a WAVE\nTRACK 1 AUDIO\nINDEX 1 0:0:0\nFILE b WAVE\nTRACK 2 AUDIO\nINDEX 1 0:0:0",
    ])
  func refused(text: String) { #expect(throws: LibraryError.self) { try CueSheet(Array(text.utf8)) } }

  @Test("Latin-1, lone line ends, tracks out of order and at one place are taken")
  func oddities() throws {
    let text =
      "TRACK 1 AUDIO\rTITLE \"Äpfel\"\rINDEX 1 2:0:0\rTRACK 2 AUDIO\rINDEX 1 1:0:0\rTRACK 3 AUDIO\rINDEX 1 2:0:0"
    let sheet = try CueSheet(text.unicodeScalars.map { UInt8($0.value) })
    let chapters = sheet.chapters(duration: 180)
    #expect(chapters.map(\.startTime) == [60, 120] && chapters.map(\.duration) == [60, 60])
    #expect(sheet.tracks[0].title == "Äpfel")
    let backwards = try CueSheet(
      Array("TRACK 1 AUDIO\nINDEX 1 2:0:0\nTRACK 2 AUDIO\nINDEX 1 1:0:0\nTRACK 3 AUDIO\nINDEX 1 0:0:0".utf8))
    #expect(backwards.chapters(duration: 180).map(\.title) == ["Chapter 3", "Chapter 2", "Chapter 1"])
    #expect(sheet.chapters(duration: 30).isEmpty)
    #expect(throws: LibraryError.self) { try CueSheet([UInt8](repeating: 32, count: CueSheet.bytesMax + 1)) }
  }

  @Test("the real cue sheet of an audiobook", .needsRealData)
  func realSheet() throws {
    let sheet = try CueSheet(RealData.bytes("books/chapters.cue"))
    let chapters = sheet.chapters(duration: 600)
    #expect(chapters.count == 4 && chapters[0].title == "Chapter 01 - Title 01")
    let frames: [Double] = chapters.map { $0.startTime * 75 }
    let expected: [Double] = [0, 259 * 75 + 19, 388 * 75 + 29, 556 * 75 + 41]
    #expect(zip(frames, expected).allSatisfy { abs($0 - $1) < 1e-6 })
    #expect(chapters.last?.endTime == 600)
  }

  @Test(
    "row status: progress ≥ 0.99 Done, > 0 In-Progress, else Started",
    arguments: [
      (0.0, "Started"), (0.1, "In-Progress"), (3_563.9, "In-Progress"), (3_564, "Done"), (3_600, "Done"),
    ])
  func rows(position: Double, status: String) {
    #expect(book(1, position: position).rowStatus.rawValue == status)
    #expect(book(1, position: position + 3_600).progress == 1)
    var unknown = book(1, position: position)
    unknown.duration = 0
    #expect(unknown.rowStatus == .started && unknown.progress == 0)
  }

  @Test("title cleaning for a cover search drops every […] and trims")
  func titles() {
    for (title, cleaned) in [
      ("Dune [B002V1OF70]", "Dune"), ("[Unabridged] The Hobbit [2012] ", "The Hobbit"), ("A [x]B", "A B"),
      ("[only]", ""), ("open [ended", "open [ended"), ("closed] first [x]", "closed] first"),
      ("\n plain\t", "plain"),
    ] {
      #expect(book(1, title).coverSearchTitle == cleaned)
    }
  }
}
