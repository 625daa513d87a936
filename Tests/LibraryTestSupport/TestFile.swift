import Foundation

/// Files of the repository that tests read.
public enum TestFile {
  /// The URL of a file below `fixtures`.
  public static func fixture(_ path: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .appending(path: "fixtures").appending(path: path)
  }
}
