import Heartlog

/// One way to keep papers, by the calls that an app makes.
protocol PaperPeer {
  /// Makes papers favorites, in one commit.
  func add(_ papers: ArraySlice<PaperOnTrace>) throws
  /// Toggles a paper; returns whether it is a favorite now.
  func toggle(_ paper: PaperOnTrace) throws -> Bool
  func contains(_ id: String) throws -> Bool
  /// Reads a paper; returns the bytes of its texts, 0 if it is not there.
  func item(_ id: String) throws -> Int
  /// Reads the newest favorites; returns how many there were.
  func list(limit: Int) throws -> Int
  /// Reads the favorites that contain a text; returns how many there were.
  func search(_ text: String) throws -> Int
}
