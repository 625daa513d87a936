import HeartlogEvents

/// The file `libraries`: which libraries the store subscribes to, and which streams are partial. Source: docs/format.md, "Partial streams".
package struct Subscription: Equatable, Sendable {
  /// The libraries whose content the store takes from others.
  var libraries = LibrarySelection.all
  /// The partial streams.
  private(set) var partial: [ReplicaID: Coverage] = [:]

  /// What is here of a stream.
  subscript(replica: ReplicaID) -> Coverage {
    get { partial[replica] ?? .whole }
    set { partial[replica] = newValue.isWhole ? nil : newValue }
  }

  static func path(in directory: StoreDirectory) -> String { "\(directory.path)/libraries" }

  /// Reads the file. Without one, the store subscribes to everything, and no stream is partial.
  ///
  /// - Throws: `corrupt`, `newerFormat`.
  package static func read(_ directory: StoreDirectory) throws(StorageError) -> Subscription {
    let path = path(in: directory)
    guard let bytes = try directory.contents(of: path) else { return Subscription() }
    let damaged = StorageError(
      .corrupt,
      "the list of the libraries that this store subscribes to is damaged; subscribe again, with sync --libraries",
      file: path)
    guard let text = ChecksummedText(bytes) else { throw damaged }
    try text.checkVersion(of: "a list of libraries", file: path)
    do { return try Subscription(text.lines) } catch { throw damaged }
  }

  /// Replaces the file, durably. The caller holds the lock.
  package func write(in directory: StoreDirectory, _ options: StorageOptions) throws(StorageError) {
    try directory.removeUnfinished(Self.path(in: directory))
    try directory.replaceFile(
      Self.path(in: directory), with: ChecksummedText.encoded(lines), in: directory.path,
      suffix: options.random())
  }

  init() {}

  /// What can be said of a store whose list is damaged: of streams that others wrote, nothing is known to be here.
  init(to libraries: LibrarySelection, withoutContentOf replicas: [ReplicaID]) {
    self.libraries = libraries
    for replica in replicas { partial[replica] = Coverage(.only([]), from: CommitNumber(rawValue: 1)) }
  }

  private var lines: [String] {
    var lines: [String] = []
    if let names = Self.names(libraries) { lines.append("subscribed \(names)") }
    for (replica, coverage) in partial.sorted(by: { $0.key < $1.key }) {
      let regions = coverage.regions.map { "\($0.start) \(Self.names($0.libraries) ?? Self.everything)" }
      lines.append("partial \(replica) \(regions.joined(separator: " "))")
    }
    return lines
  }

  // No library has these names.
  private static let everything = "*"
  private static let none = "!"

  /// Nil for all libraries.
  private static func names(_ libraries: LibrarySelection) -> String? {
    guard case .only(let names) = libraries else { return nil }
    return names.isEmpty ? none : names.sorted().joined(separator: ",")
  }

  private init(_ lines: [ArraySlice<UInt8>]) throws(MalformedError) {
    for line in lines {
      if let names = ChecksummedText.value(of: "subscribed", in: line) {
        libraries = try Self.libraries(names[...])
      } else if let words = ChecksummedText.value(of: "partial", in: line)?.split(separator: " ") {
        guard words.count >= 3, words.count % 2 == 1, let replica = ReplicaID(words[0]) else {
          throw MalformedError("a partial stream that is not a replica, commits and libraries")
        }
        self[replica] = Coverage(
          try stride(from: 1, to: words.count, by: 2).map { (index) throws(MalformedError) in
            guard let start = UInt64(words[index]), (1...Limits.numberMax).contains(start) else {
              throw MalformedError("a partial stream from commit \(words[index]) on")
            }
            return Coverage.Region(
              start: CommitNumber(rawValue: start), libraries: try Self.libraries(words[index + 1]))
          })
      } else {
        throw MalformedError("an unknown line")
      }
    }
  }

  private static func libraries(_ names: Substring) throws(MalformedError) -> LibrarySelection {
    if names == none { return .only([]) }
    if names == everything { return .all }
    let list = names.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard list.count <= LibrarySelection.namesMax else { throw MalformedError("\(list.count) libraries") }
    for name in list { try NameRules.checkLibrary(name) }
    return .only(Set(list))
  }
}
