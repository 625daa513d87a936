import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// BibTeX, as LaTeX, biblatex, JabRef, BibDesk, Zotero and Google Scholar read and write it.
///
/// An entry that needs a key for its id and has that of another is refused. `crossref` inherits nothing.
public struct BibTeXFormat: FileFormat {
  public let name = "bibtex"
  public let summary = "BibTeX, the bibliography of LaTeX"
  public let fileExtensions = ["bib", "bibtex"]
  public let isWritten = true

  /// The format; it has no settings.
  public init() {}

  public func fits(_ library: any LibraryDescriptor) -> Bool {
    library.isOpaque || library.traits.contains(.publications)
  }

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    var isLineStart = true
    for (offset, byte) in beginning.enumerated() {
      switch byte {
      case 0x0A, 0x0D: isLineStart = true
      case 0x20, 0x09: break
      case UInt8(ascii: "@") where isLineStart && BibTeXParser.beginsEntry(beginning, at: offset): return true
      default: isLineStart = false
      }
    }
    return false
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var parser = BibTeXParser(bytes)
    var keys: Set<String> = []
    // Any text is BibTeX between its entries, which programs begin with comments; one with neither is something else.
    let first = bytes.first { !$0.isASCIIWhiteSpace }
    guard first == nil || first == UInt8(ascii: "%") || bytes.contains(UInt8(ascii: "@")) else {
      throw .invalidAnswer("text without an entry of BibTeX")
    }
    while let piece = parser.next() {
      switch piece {
      case .refusal(let line, let reason): contents.refuse(line: line, reason)
      case .entry(let entry):
        contents.take(line: entry.line) { () throws(LibraryError) in
          let reference = try PaperReference(entry)
          let item = try reference.item()
          if !keys.insert(entry.key).inserted, item.id == entry.key {
            throw .invalidItem("the key \(entry.key) for a second entry")
          }
          return item
        }
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var writer = BibTeXWriter()
    for item in items { writer.append(item) }
    return Array(writer.text.utf8)
  }
}
