import HeartlogEvents
import HeartlogFiles
import Testing

@testable import HeartlogStorage

@Suite("What is here of a stream's content")
struct CoverageTests {
  private static let libraries = ["a", "b", "c"]

  /// A stream of one store: which libraries' content is really here, by commit.
  private struct Model {
    var coverage = Coverage.whole
    var here: [Set<String>] = []

    var head: CommitNumber { CommitNumber(rawValue: UInt64(here.count)) }

    func names(_ libraries: LibrarySelection) -> Set<String> {
      Set(CoverageTests.libraries.filter { libraries.contains($0) })
    }

    /// Takes what another store has more of.
    mutating func extend(from other: Model, taking libraries: LibrarySelection) {
      guard other.here.count > here.count else { return }
      let next = CommitNumber(rawValue: head.rawValue + 1)
      coverage = coverage.extended(
        at: next, with: other.coverage.libraries(in: next...other.head).intersection(libraries))
      here += other.here[here.count...].map { $0.intersection(names(libraries)) }
    }

    /// Asks another store for content.
    ///
    /// - Returns: Whether there was any to ask for.
    mutating func complete(
      from other: Model, taking libraries: LibrarySelection, breaksOff: Bool = false
    ) -> Bool {
      let last = min(head, other.head)
      guard let missing = coverage.missing(of: libraries, at: other.coverage, upTo: last) else {
        return false
      }
      // In parts, of which the last may not arrive.
      var first = missing.lowerBound
      while first <= missing.upperBound {
        let end = CommitNumber(rawValue: min(missing.upperBound.rawValue, first.rawValue + 2))
        for commit in first.rawValue...end.rawValue {
          here[Int(commit) - 1].formUnion(other.here[Int(commit) - 1].intersection(names(libraries)))
        }
        coverage = coverage.completed(
          first...end, with: other.coverage.libraries(in: first...end).intersection(libraries), head: head)
        first = end.next
        if breaksOff && end.rawValue % 3 == 0 { break }
      }
      return true
    }

    /// The first commit of which more is said to be here than is.
    var overclaimed: Int? {
      here.indices.first { index in
        let commit = CommitNumber(rawValue: UInt64(index + 1))
        return !here[index].isSuperset(of: names(coverage.libraries(in: commit...commit)))
      }
    }
  }

  @Test("is never claimed to be more than it is, and everything arrives in the end")
  func model() {
    var random = SeededGenerator(seed: 7)
    var completions = 0
    for round in 0..<400 {
      var owner = Model()
      var stores = [Model](repeating: Model(), count: 4)
      var taken = [LibrarySelection](repeating: .all, count: 4)
      for _ in 0..<100 {
        let index = Int.random(in: 0..<4, using: &random)
        let peer = Int.random(in: -1..<4, using: &random)
        let other = peer < 0 ? owner : stores[peer]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: owner.here.append(Set(Self.libraries))
        case 1:
          let names = Self.libraries.filter { _ in Bool.random(using: &random) }
          taken[index] = names.count == 3 ? .all : .only(Set(names))
        default:
          let breaksOff = Bool.random(using: &random)
          if stores[index].complete(from: other, taking: taken[index], breaksOff: breaksOff) {
            completions += 1
          }
          stores[index].extend(from: other, taking: taken[index])
          #expect(stores[index].coverage.regions.count <= Coverage.regionsMax)
        }
        #expect(stores[index].overclaimed == nil, "round \(round)")
      }
      for index in stores.indices {
        _ = stores[index].complete(from: owner, taking: .all)
        stores[index].extend(from: owner, taking: .all)
        _ = stores[index].complete(from: owner, taking: .all)
        #expect(stores[index].coverage.isWhole && stores[index].here == owner.here, "round \(round)")
        // Nothing is asked for twice.
        let asksAgain = stores[index].complete(from: owner, taking: .all)
        #expect(!asksAgain)
      }
    }
    #expect(completions > 1_000)
  }

  @Test("the file `libraries` of the documentation is read and written")
  func documented() throws {
    let files = MemoryFileSystem(recording: false)
    try files.createDirectory("/store")
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    let example = try FormatPage().text("libraries")
    _ = try files.open("/store/libraries", .createNew)
    try files.replaceContents(of: "/store/libraries", with: example)
    let read = try Subscription.read(directory)
    #expect(read.libraries == .only(["books", "papers"]))
    let one = try #require(ReplicaID("0123456789abcdef0123456789abcdef"))
    let other = try #require(ReplicaID("89abcdef0123456789abcdef01234567"))
    func region(_ start: UInt64, _ libraries: LibrarySelection) -> Coverage.Region {
      Coverage.Region(start: CommitNumber(rawValue: start), libraries: libraries)
    }
    #expect(
      read[one].regions == [
        region(17, .only(["papers"])), region(40, .only(["books", "papers"])), region(52, .all),
      ])
    #expect(read[other] == Coverage(.only([]), from: CommitNumber(rawValue: 1)))
    #expect(read.partial.count == 2)
    try read.write(in: directory, StorageOptions())
    #expect(try files.contents(of: "/store/libraries") == example)
  }

  @Test("a stream that is said to be partial, and of which everything is here, is not partial")
  func nothingMissing() throws {
    let files = MemoryFileSystem(recording: false)
    try files.createDirectory("/store")
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    _ = try files.open("/store/libraries", .createNew)
    let line = "partial 0123456789abcdef0123456789abcdef 9 *"
    try files.replaceContents(of: "/store/libraries", with: ChecksummedText.encoded([line]))
    let read = try Subscription.read(directory)
    #expect(read.partial.isEmpty)
    try read.write(in: directory, StorageOptions())
    #expect(try Subscription.read(directory) == read)
  }

  @Test("a list that breaks a rule is damage, and never means everything")
  func malformed() throws {
    let files = MemoryFileSystem(recording: false)
    try files.createDirectory("/store")
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    _ = try files.open("/store/libraries", .createNew)
    let replica = "0123456789abcdef0123456789abcdef"
    let tooMany = (0...64).map { "l\($0)" }.joined(separator: ",")
    for line in [
      "subscribed Papers", "subscribed a,,b", "subscribed ", "subscribed \(tooMany)", "subscribes a",
      "partial x 1 a",
      "partial \(replica) 0 a", "partial \(replica) 9007199254740992 a", "partial \(replica) 1",
      "partial \(replica) 1 a b", "partial \(replica) 1 a 2",
    ] {
      try files.replaceContents(of: "/store/libraries", with: ChecksummedText.encoded([line]))
      do {
        let read = try Subscription.read(directory)
        Issue.record("\(line): \(read)")
      } catch { #expect(error.code == .corrupt && error.file == "/store/libraries", "\(line)") }
    }
    try files.replaceContents(of: "/store/libraries", with: Array("heartlog 2\n".utf8))
    #expect(throws: StorageError.self) { try Subscription.read(directory) }
  }
}
