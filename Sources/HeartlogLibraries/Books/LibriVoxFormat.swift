import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An answer of the LibriVox API: `{"books": […]}`. The id of a book is derived from LibriVox's own, so it is
/// the same wherever it is read.
public struct LibriVoxFormat: FileFormat {
  public let name = "librivox"
  public let summary = "audiobooks as the LibriVox API sends them"
  public let fileExtensions = ["json"]
  public let certainty = FileCertainty.member

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    JSONOutline(beginning).objectNames.contains("books")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    let (members, failure) = document.members(of: document.root)
    guard let books = members.first(where: { $0.name == "books" })?.value, document.isArray(books) else {
      if let error = members.first(where: { $0.name == "error" })?.value {
        throw .invalidAnswer("LibriVox answers: \(try document.value(error).jsonText.prefix(200))")
      }
      throw .invalidAnswer(failure?.reason ?? "an answer without books")
    }
    var contents = FileContents()
    let (elements, listFailure) = document.elements(of: books)
    if let failure = listFailure ?? failure { contents.refuse(line: failure.line, failure.reason) }
    contents.take(elements, of: document) { (record) throws(LibraryError) in
      // The answer has no date at which the book was added to the library.
      return try Book.descriptor.checked(
        FileItem(told: try Book(libriVox: record, dateAdded: .distantPast)))
    }
    return contents
  }
}
