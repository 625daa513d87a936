import Heartlog
import HeartlogEvents

/// An answer of the arXiv API: an Atom feed. An answer that is an error is refused in arXiv's own words.
public struct ArXivAtomFormat: FileFormat {
  public let name = "arxiv-atom"
  public let summary = "what the arXiv API answers, an Atom feed"
  public let libraries: Set<String>? = [Paper.library]
  public let fileExtensions = ["atom", "xml"]
  public let isWritten = false

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.contains("<feed") && text.contains("arxiv.org/")
  }

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var line = 1
    var counted = 0
    for entry in try Paper.entries(atom: bytes) {
      line += bytes[counted..<entry.offset].count { $0 == 0x0A }
      counted = entry.offset
      contents.take(line: line) { () throws(LibraryError) in try FileItem(Paper(entry: entry)) }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}
