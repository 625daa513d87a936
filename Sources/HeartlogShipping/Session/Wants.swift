import Heartlog

/// What an end asks for in a dialogue.
struct Wants {
  /// The streams whose missing commits are asked for: their indexes in the list, rising.
  var streams: [Int] = []
  /// Commits whose content is asked for again, by stream, and the libraries of which everything will then be here.
  var contents: [(range: ContentRange, libraries: LibrarySelection)] = []

  init(streams: [Int] = [], contents: [(range: ContentRange, libraries: LibrarySelection)] = []) {
    self.streams = streams
    self.contents = contents
  }

  /// What the other end asks for.
  init(streams: [Int], theirContents: [ContentRange]) {
    self.init(streams: streams, contents: theirContents.map { ($0, .all) })
  }

  var isEmpty: Bool { streams.isEmpty && contents.isEmpty }
}
