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
    let lists = lists
    writer.varint(lists.count)
    for list in lists { writer.libraries(list) }
    writer.varint(partial.count)
    for (stream, coverage) in partial.sorted(by: { $0.key < $1.key }) {
      writer.varint(stream)
      writer.varint(coverage.regions.count)
      for region in coverage.regions {
        writer.varint(region.start.rawValue)
        // Too little is said rather than too much.
        writer.varint(lists.firstIndex(of: region.libraries) ?? 0)
      }
    }
  }

  /// The lists of libraries that are told apart: none first, then all others, the longest ones if there are too many.
  private var lists: [LibrarySelection] {
    let found = Set(partial.values.flatMap(\.regions).map(\.libraries)).subtracting([.only([])])
    let kept = found.sorted { Self.order($0) < Self.order($1) }.prefix(Self.selectionsMax - 1)
    return [.only([])] + kept
  }

  /// All first, then by number of names.
  private static func order(_ libraries: LibrarySelection) -> (Int, String) {
    guard case .only(let names) = libraries else { return (Int.min, "") }
    return (-names.count, names.sorted().joined(separator: ","))
  }

  /// - Parameter count: the number of streams in the list.
  init(from reader: inout ByteReader, of count: Int) throws(MalformedError) {
    subscribed = try reader.libraries()
    var lists: [LibrarySelection] = []
    for _ in 0..<(try reader.count(atMost: Self.selectionsMax, "lists of libraries")) {
      lists.append(try reader.libraries())
    }
    var last = -1
    for _ in 0..<(try reader.count(atMost: count, "partial streams")) {
      let stream = try reader.count(atMost: count - 1, "a place in the list")
      guard stream > last else { throw MalformedError("partial streams that do not rise") }
      last = stream
      var regions: [Coverage.Region] = []
      for _ in 0..<(try reader.count(atMost: Coverage.regionsMax, "regions of a stream")) {
        let start = try reader.varint()
        let list = try reader.count(atMost: max(0, lists.count - 1), "a list of libraries")
        guard (1...Limits.numberMax).contains(start), start > regions.last?.start.rawValue ?? 0,
          list < lists.count
        else { throw MalformedError("a region from commit \(start) on") }
        regions.append(Coverage.Region(start: CommitNumber(rawValue: start), libraries: lists[list]))
      }
      let coverage = Coverage(regions)
      if !coverage.isWhole { partial[stream] = coverage }
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
