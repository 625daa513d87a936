import Heartlog
import HeartlogEvents

/// An answer of the arXiv API: an Atom feed. An answer that is an error is refused in arXiv's own words.
public struct ArXivAtomFormat: FileFormat {
  public let name = "arxiv-atom"
  public let summary = "what the arXiv API answers, an Atom feed"
  public let fileExtensions = ["atom", "xml"]

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.contains("<feed") && text.contains("arxiv.org/")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
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
}

/// The metadata snapshot of arXiv, one JSON object a line: papers in the last of their versions.
public struct ArXivSnapshotFormat: FileFormat {
  public let name = "arxiv-jsonl"
  public let summary = "lines of the metadata snapshot of arXiv"
  /// Such files are called by the name of JSON Lines; only their content tells.
  public let fileExtensions: [String] = []

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.drop(while: \.isWhitespace).first == "{" && text.contains("\"submitter\"")
      && text.contains("\"authors\"")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    contents.takeLines(of: bytes) { (line) throws(LibraryError) in
      let record: JSONValue
      do throws(MalformedError) {
        record = try JSONValue.parse(Array(line))
      } catch {
        throw .invalidItem(error.reason)
      }
      return try FileItem(Paper(snapshot: record))
    }
    return contents
  }
}
