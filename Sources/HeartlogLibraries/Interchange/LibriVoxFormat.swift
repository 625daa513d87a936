import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the LibriVox API answers: `{"books": […]}`. A book's id is made from LibriVox's own, and is the same wherever it is read.
public struct LibriVoxFormat: FileFormat {
  public let name = "librivox"
  public let summary = "an answer of LibriVox with audiobooks"
  public let libraries: Set<String>? = [Book.library]
  public let fileExtensions = ["json"]
  public let isWritten = false

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    JSONOutline(beginning).objectNames.contains("books")
  }

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    let pieces = JSONPieces(bytes)
    let (members, failure) = pieces.members(of: pieces.root)
    guard let books = members.first(where: { $0.name == "books" })?.value, pieces.isArray(books) else {
      if let error = members.first(where: { $0.name == "error" })?.value {
        throw .invalidAnswer("LibriVox answers: \(try pieces.value(error).jsonText.prefix(200))")
      }
      throw .invalidAnswer(failure?.reason ?? "an answer without books")
    }
    var contents = FileContents()
    let (elements, listFailure) = pieces.elements(of: books)
    if let failure = listFailure ?? failure { contents.refuse(line: failure.line, failure.reason) }
    for element in elements {
      contents.take(line: element.line) { () throws(LibraryError) in
        let record = try pieces.value(element)
        if let seconds = record["totaltimesecs"]?.number, seconds < 0 {
          throw .invalidItem("a duration of \(JSONValue.double(seconds).jsonText) seconds")
        }
        // The answer does not tell when the book came into the library.
        let book = try Book(libriVox: record, dateAdded: .distantPast)
        return try FileItem(told: book).checked(for: Book.library)
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}
