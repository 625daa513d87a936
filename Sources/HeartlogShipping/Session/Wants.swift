import Heartlog

/// What an end asks for in a dialogue.
struct Wants {
  /// The streams whose missing commits are asked for: their indexes in the list, rising.
  var streams: [Int] = []
  /// Commits whose content is asked for again, by stream.
  var contents: [ContentRange] = []

  var isEmpty: Bool { streams.isEmpty && contents.isEmpty }
}
