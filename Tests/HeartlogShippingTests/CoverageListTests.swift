import Heartlog
import Testing

@testable import HeartlogShipping

@Suite("What an end says of the content that it takes and has")
struct CoverageListTests {
  private func coverage(_ libraries: Set<String>, from start: UInt64 = 1) -> Coverage {
    Coverage(.only(libraries), from: CommitNumber(rawValue: start))
  }

  private func encoded(_ list: CoverageList) -> [UInt8] {
    var writer = ByteWriter()
    list.write(to: &writer)
    return writer.bytes
  }

  private func decoded(_ bytes: [UInt8], streams: Int) throws -> CoverageList {
    try bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let list = try CoverageList(from: &reader, of: streams)
      try reader.end()
      return list
    }
  }

  @Test("is read as it was written, and is left out if there is nothing to say")
  func roundTrip() throws {
    #expect(CoverageList(.all, [(0, Coverage.whole)]) == nil)
    let lists = [
      CoverageList(.only(["papers"]), [(0, Coverage.whole)]), CoverageList(.only([]), []),
      CoverageList(
        .all, [(0, coverage([])), (2, coverage(["a", "b"], from: 17)), (3, coverage([], from: 9))]),
    ]
    for list in lists {
      let list = try #require(list)
      #expect(try decoded(encoded(list), streams: 4) == list)
      let heads = Message.heads(
        .init(
          greeting: .init(),
          heads: (1...4).map {
            ShippedHead(
              replica: ReplicaID(high: 0, low: $0),
              position: .init(commit: 0, isEnded: false, root: .init(word: 0)))
          }, coverages: list))
      #expect(try Message(.heads, payload: heads.payload()) == heads)
    }
    let contents = Message.contents([
      ContentRange(stream: 1, commits: CommitNumber(rawValue: 3)...CommitNumber(rawValue: 300))
    ])
    #expect(try Message(.contents, payload: contents.payload()) == contents)
    #expect(throws: MalformedError.self) { try Message(.contents, payload: contents.payload(), version: 1) }
  }

  @Test("never says more than there is, however much there is to tell apart")
  func many() throws {
    var partial: [(index: Int, coverage: Coverage)] = []
    for index in 0..<Message.listMax {
      partial.append(
        (index, coverage(Set((0..<(index % 300)).prefix(60).map { "library-\(index % 300)-\($0)" }))))
    }
    let list = try #require(CoverageList(.all, partial))
    let bytes = encoded(list)
    #expect(bytes.count < Message.Kind.heads.payloadBytesMax - 500_000)
    let read = try decoded(bytes, streams: Message.listMax)
    #expect(read.partial.count == Message.listMax)
    for (index, coverage) in partial {
      #expect(coverage.librariesThroughout.isSuperset(of: read[index].librariesThroughout))
      #expect(coverage.regions[0].start == read[index].regions[0].start)
    }
    #expect(Set(read.partial.values.map(\.librariesThroughout)).count == CoverageList.selectionsMax)
  }

  @Test("is refused if it breaks a rule")
  func malformed() throws {
    let good = encoded(try #require(CoverageList(.only(["a"]), [(0, coverage(["b"], from: 2))])))
    #expect(try decoded(good, streams: 1)[0].regions[0].start == CommitNumber(rawValue: 2))
    for count in 0..<good.count {
      #expect(throws: MalformedError.self) { try decoded(Array(good.prefix(count)), streams: 1) }
    }
    func refuse(_ bytes: [UInt8], _ what: Comment) {
      #expect(throws: MalformedError.self, what) { try decoded(bytes, streams: 2) }
    }
    // Subscribes to all; one list, of no library; one stream; its regions.
    refuse([0, 1, 1, 1, 2, 1, 1, 0], "a stream that is not in the list")
    refuse([0, 1, 1, 1, 0, 1, 0, 0], "from commit 0 on")
    refuse([0, 1, 1, 1, 0, 1, 1, 1], "a list of libraries that is not there")
    refuse([0, 1, 1, 1, 0, 2, 5, 0, 5, 0], "commits that do not rise")
    refuse([0, 1, 1, 1, 0, 17], "too many regions")
    refuse([0, 1, 1, 2, 1, 1, 1, 0, 0, 1, 1, 0], "streams that do not rise")
    refuse([0, 0, 1, 0, 1, 1, 0], "no list of libraries")
    refuse([3, 1, 0x62, 1, 0x61, 0, 0], "names that are not in order")
    refuse([3, 1, 0x61, 1, 0x61, 0, 0], "a name twice")
    refuse([2, 1, 0x41, 0, 0], "a name that is no library's")
    refuse([66], "too many names")
  }
}
