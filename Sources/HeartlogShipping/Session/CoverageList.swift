import Heartlog

/// Which content an end of a dialogue takes, and which it has of the streams that are partial there. The format is specified in
/// "Messages" in docs/shipping.md.
struct CoverageList: Hashable {
  /// What the end subscribes to.
  var subscribed = LibrarySelection.all
  /// The coverage of streams that are partial at the end, by their indexes in the list.
  var partial: [Int: Coverage] = [:]

  /// The most different lists of libraries that are told apart.
  static let selectionsMax = 256

  init() {}

  /// `nil` if the end takes everything and has everything: that need not be said.
  init?(_ subscribed: LibrarySelection, _ streams: some Sequence<(index: Int, coverage: Coverage)>) {
    self.subscribed = subscribed
    for stream in streams where !stream.coverage.isWhole { partial[stream.index] = stream.coverage }
    if subscribed == .all, partial.isEmpty { return nil }
  }

  /// What the end has of the content of a stream.
  subscript(index: Int) -> Coverage { partial[index] ?? .whole }

  func write(to writer: inout ByteWriter) {
    writer.libraries(subscribed)
    var selections: [Set<String>: [(stream: Int, start: UInt64)]] = [:]
    for (index, coverage) in partial {
      guard case .only(let names) = coverage.libraries else { continue }
      selections[names, default: []].append((index, coverage.start.rawValue))
    }
    while selections.count > Self.selectionsMax,
      let shortest = selections.keys.filter({ !$0.isEmpty }).min(by: { $0.count < $1.count })
    {
      // Too little is claimed, never too much.
      selections[[], default: []] += selections.removeValue(forKey: shortest) ?? []
    }
    writer.varint(selections.count)
    for (names, streams) in selections.sorted(by: {
      $0.key.sorted().lexicographicallyPrecedes($1.key.sorted())
    }) {
      writer.libraries(.only(names))
      writer.varint(streams.count)
      for (stream, start) in streams.sorted(by: { $0.stream < $1.stream }) {
        writer.varint(stream)
        writer.varint(start)
      }
    }
  }

  /// - Parameter count: the number of streams in the list.
  init(from reader: inout ByteReader, of count: Int) throws(MalformedError) {
    subscribed = try reader.libraries()
    for _ in 0..<(try reader.count(atMost: Self.selectionsMax, "lists of libraries")) {
      let libraries = try reader.libraries()
      guard libraries != .all else { throw MalformedError("a partial stream of which nothing is missing") }
      for _ in 0..<(try reader.count(atMost: count, "partial streams")) {
        let stream = try reader.count(atMost: max(0, count - 1), "a place in the list")
        let start = try reader.varint()
        guard (1...Limits.numberMax).contains(start), partial[stream] == nil, stream < count else {
          throw MalformedError("a partial stream from commit \(start) on, or one that is named twice")
        }
        partial[stream] = Coverage(libraries, from: CommitNumber(rawValue: start))
      }
    }
  }
}

extension ByteWriter {
  mutating func libraries(_ libraries: LibrarySelection) {
    guard case .only(let names) = libraries else { return varint(0) }
    varint(names.count + 1)
    for name in names.sorted() { text(name) }
  }
}

extension ByteReader {
  mutating func libraries() throws(MalformedError) -> LibrarySelection {
    let count = try count(atMost: LibrarySelection.namesMax + 1, "libraries")
    guard count > 0 else { return .all }
    var names: [String] = []
    for _ in 1..<count {
      let name = try text()
      try NameRules.checkLibrary(name)
      guard names.last.map({ $0 < name }) ?? true else {
        throw MalformedError("libraries that are not in order")
      }
      names.append(name)
    }
    return .only(Set(names))
  }
}
