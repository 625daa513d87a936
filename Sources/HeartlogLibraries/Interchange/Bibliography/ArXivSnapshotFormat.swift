import Heartlog
import HeartlogEvents

/// The metadata snapshot of arXiv, one JSON object a line: papers in the last of their versions.
public struct ArXivSnapshotFormat: FileFormat {
  public let name = "arxiv-jsonl"
  public let summary = "lines of the metadata snapshot of arXiv"
  public let libraries: Set<String>? = [Paper.library]
  /// Such files are called by the name of JSON Lines; only their content tells.
  public let fileExtensions: [String] = []
  public let isWritten = false

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.drop(while: \.isWhitespace).first == "{" && text.contains("\"submitter\"")
      && text.contains("\"authors\"")
  }

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
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

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}
