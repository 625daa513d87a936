import Heartlog

/// The tracks of a cue sheet, which define the chapters of an audiobook.
///
/// The format is that of CDRWIN's User's Guide, appendix A, limited to one audio file: `TITLE`, `TRACK`,
/// `INDEX 01 MM:SS:FF` with 75 frames per second and any number of minutes. Other commands are ignored.
package struct CueSheet {
  /// One track of the sheet: the start of a chapter.
  package struct Track: Hashable, Sendable {
    /// The title in the sheet; `nil` if there is none.
    package var title: String?
    /// The start in seconds.
    package var startTime: Double
  }

  /// The title of the whole sheet.
  package private(set) var title: String?
  /// The tracks in the order of the sheet. The track numbers in the sheet are not always correct, and are
  /// ignored.
  package private(set) var tracks: [Track] = []

  /// The largest sheet that is read, in bytes.
  package static let bytesMax = 1 << 20
  private static let framesPerSecond = 75

  /// Parses a sheet in UTF-8, with or without a byte order mark, or otherwise in Latin-1. Lines may end as on
  /// any system.
  ///
  /// - Throws: `LibraryError.invalidItem` if the sheet has no tracks, has an index that is not a time, or has
  ///   tracks of several files, in each of which times start at 0.
  package init(_ bytes: [UInt8]) throws(LibraryError) {
    guard bytes.count <= Self.bytesMax else {
      throw .invalidItem("a cue sheet of \(bytes.count) bytes, of which \(Self.bytesMax) are read")
    }
    var fileOfTracks: Int?
    var files = 0
    /// The current track: its title so far, and whether its index has been read.
    var track: (title: String?, isIndexed: Bool)?

    for (index, line) in Self.lines(bytes).enumerated() {
      let (command, rest) = Self.word(line)
      switch command.uppercased() {
      case "FILE":
        files += 1
        track = nil
      case "TRACK":
        if let fileOfTracks, fileOfTracks != files {
          throw .invalidItem("a cue sheet with the tracks of several files, at line \(index + 1)")
        }
        fileOfTracks = files
        track = (nil, false)
      case "TITLE":
        let text = Self.unquoted(rest)
        guard track != nil else {
          title = title ?? text
          continue
        }
        track?.title = text
        if track?.isIndexed == true { tracks[tracks.count - 1].title = text }
      case "INDEX":
        let (number, time) = Self.word(rest)
        guard Int(number) == 1, let current = track, !current.isIndexed else { continue }
        guard let start = Self.seconds(time.withoutOuterWhiteSpace) else {
          throw .invalidItem("a cue sheet with an index of \"\(time)\", at line \(index + 1)")
        }
        tracks.append(Track(title: current.title, startTime: start))
        track?.isIndexed = true
      default: continue
      }
    }
    guard !tracks.isEmpty else { throw .invalidItem("a cue sheet without tracks") }
  }

  /// The chapters of a book: one from each track to the next, and the last to the end.
  ///
  /// Tracks that start where another does, or after the end, would be empty chapters and are left out.
  ///
  /// - Parameter duration: the duration of the book in seconds; 0 if it is not known, in which case the last
  ///   chapter has a duration of 0.
  package func chapters(duration: Double) -> [Chapter] {
    var starts = tracks.enumerated().map { (number: $0.offset + 1, track: $0.element) }
    if duration > 0 { starts.removeAll { $0.track.startTime >= duration } }
    starts.sort { ($0.track.startTime, $0.number) < ($1.track.startTime, $1.number) }
    let ends = starts.dropFirst().map(\.track.startTime) + [max(duration, starts.last?.track.startTime ?? 0)]
    return zip(starts, ends).enumerated().compactMap { index, chapter in
      let (start, end) = (chapter.0.track.startTime, chapter.1)
      guard end > start || index == starts.count - 1 else { return nil }
      return Chapter(
        title: chapter.0.track.title ?? "Chapter \(chapter.0.number)", startTime: start, duration: end - start
      )
    }
  }

  private static func lines(_ bytes: [UInt8]) -> [Substring] {
    let text: String
    if let unicode = String(validating: bytes, as: UTF8.self) {
      text = unicode.hasPrefix("\u{FEFF}") ? String(unicode.dropFirst()) : unicode
    } else {
      var latin = String.UnicodeScalarView()
      latin.append(contentsOf: bytes.map { Unicode.Scalar($0) })
      text = String(latin)
    }
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
  }

  /// Splits a line into its first word and the rest.
  private static func word(_ line: some StringProtocol) -> (String, String) {
    let line = line.withoutOuterWhiteSpace
    let end = line.firstIndex(where: \.isWhitespace) ?? line.endIndex
    return (String(line[..<end]), String(line[end...]))
  }

  /// A text without quotation marks around it. The format has no quotation marks inside a text.
  private static func unquoted(_ text: String) -> String {
    let text = text.withoutOuterWhiteSpace
    guard text.first == "\"", text.count > 1, text.last == "\"" else { return text }
    return String(text.dropFirst().dropLast())
  }

  /// Converts `MM:SS:FF` to seconds; `nil` if the text is not of this form.
  private static func seconds(_ text: String) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    // Seven digits of minutes cover nineteen years.
    guard parts.count == 3, parts.allSatisfy({ (1...7).contains($0.utf8.count) }),
      parts.allSatisfy({ $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }),
      let minutes = Int(parts[0]), let seconds = Int(parts[1]), let frames = Int(parts[2]), seconds < 60,
      frames < framesPerSecond
    else { return nil }
    return Double(minutes * 60 + seconds) + Double(frames) / Double(framesPerSecond)
  }
}

/// An answer of the LibriVox API: `{"books": […]}`. The id of a book is derived from LibriVox's own, so it is
/// the same wherever it is read.
struct LibriVoxFormat: FileFormat {
  let name = "librivox"
  let summary = "audiobooks as the LibriVox API sends them"
  let fileExtensions = ["json"]
  let certainty = FileCertainty.member

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    JSONOutline(beginning).objectNames.contains("books")
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    let (members, failure) = document.members(of: document.root)
    guard let books = members["books"], document.isArray(books) else {
      if let error = members["error"] {
        throw .invalidAnswer("LibriVox answers: \(try document.value(error).jsonText.prefix(200))")
      }
      throw .invalidAnswer(failure?.reason ?? "an answer without books")
    }
    var contents = FileContents()
    contents.take(elementsOf: books, in: document, after: failure) { (record) throws(LibraryError) in
      // The answer has no date at which the book was added to the library.
      return try Book.descriptor.checked(
        FileItem(encoding: try Book(libriVox: record, dateAdded: .distantPast)))
    }
    return contents
  }
}
