import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("Bytes change behind the store's back")
struct DamageTests {
  /// A frame of a file, and the commits in it.
  private struct Place {
    let range: Range<Int>
    let commits: ClosedRange<UInt64>
  }

  private struct Store {
    let files: MemoryFileSystem
    let replica: ReplicaID
    let commits: [Commit]

    var store: TestStore { TestStore(files: files, path: "/store") }
    func path(_ name: String) -> String { "/store/replicas/\(replica)/\(name)" }
  }

  /// Sealed 1–6 and 7–9, full 10–11, tail 12–15, durable one by one.
  private func store() throws -> Store {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for index in 0..<6 { try open.write(index, bytes: 20) }
    _ = try open.log.seal()
    for index in 6..<9 { try open.write(index, bytes: 20) }
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    try files.sealAlone(directory, open)
    open.log.close()
    let later = try store.open(TestStore.options(seed: 5, segmentBytesMax: 4_300))
    for index in 9..<12 { try later.write(index, bytes: 20) }
    later.log.close()
    let last = try store.open(TestStore.options(seed: 6))
    for index in 12..<15 { try last.write(index, bytes: 20) }
    let commits = last.projection.commits
    last.log.close()
    let names = [
      "0000000000000001.sealed", "0000000000000007.sealed", "0000000000000010.open", "0000000000000012.open",
    ]
    #expect(try store.names(of: last.replica) == names)
    return Store(files: files, replica: last.replica, commits: commits)
  }

  private func places(_ store: Store, _ name: String) throws -> [Place] {
    let path = store.path(name)
    let directory = StoreDirectory(fileSystem: store.files, path: "/store")
    let file = try store.files.open(path, .read)
    let header = try directory.header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: header)
    var places: [Place] = []
    while case .frame(let frame) = try cursor.look() {
      cursor.pass(frame)
      let first = frame.firstCommit.rawValue
      places.append(
        Place(
          range: Int(cursor.passedOffset)..<Int(cursor.offset),
          commits: first...first + UInt64(frame.commitCount) - 1))
    }
    return places
  }

  /// Reads, verifies and writes; what is wrong with how a change was taken.
  private func problem(
    _ store: Store, _ name: String, offset: Int, place: Place, isHeader: Bool
  ) throws -> String? {
    let verified = try store.store.verify()
    guard let finding = verified.compactMap(\.finding).first else { return "not found" }
    guard finding.verdict == .corrupt else { return "verdict \(finding.verdict)" }
    guard finding.error.file == store.path(name) else { return "file \(finding.error.file ?? "none")" }
    guard let found = finding.error.offset, place.range.contains(Int(found)) else {
      return "offset \(finding.error.offset ?? 0)"
    }
    guard let range = finding.error.commits, range.lowerBound.rawValue <= place.commits.lowerBound,
      range.upperBound.rawValue >= place.commits.upperBound
    else { return "commits \(finding.error.commits.debugDescription)" }
    let open = try store.store.open()
    let commits = open.projection.commits
    guard commits == Array(store.commits.prefix(commits.count)) else { return "wrong commits shown" }
    let sound = isHeader ? UInt64(store.commits.count) : place.commits.lowerBound - 1
    guard commits.count == sound else { return "\(commits.count) commits shown" }
    guard open.log.findings.map(\.verdict) == [.corrupt] else { return "findings at opening" }
    let code = storageFailure { try open.write(99) }?.code
    return code == .corrupt ? nil : "writing said \(String(describing: code))"
  }

  @Test("a segment that lost all of its frames is a gap before the next one", arguments: [0, 64])
  func emptied(zeros: Int) throws {
    let store = try store()
    let path = store.path("0000000000000010.open")
    let header = try store.files.contents(of: path)[..<SegmentHeader.byteCount]
    try store.files.replaceContents(of: path, with: header + [UInt8](repeating: 0, count: zeros))
    let finding = try store.store.verify().compactMap(\.finding).first
    #expect(finding?.verdict == .corrupt)
    #expect(
      finding?.error.commits == CommitNumber(rawValue: 10)...CommitNumber(rawValue: 11),
      "\(String(describing: finding?.error))")
    let open = try store.store.open()
    #expect(open.projection.commits == Array(store.commits.prefix(9)))
    #expect(storageFailure { try open.write(99) }?.code == .corrupt)
  }

  @Test(
    "any single byte changed in a segment is found, named, and never shown",
    arguments: [
      "0000000000000001.sealed", "0000000000000007.sealed", "0000000000000010.open", "0000000000000012.open",
    ])
  func anyByte(_ name: String) throws {
    let store = try store()
    var places = try places(store, name)
    let bytes = try store.files.contents(of: store.path(name))
    // Of the tail, the last batch cannot be told from a torn one: it is for another test.
    if name.hasPrefix("0000000000000012") { places.removeLast() }
    let commits = places[0].commits.lowerBound...places[places.count - 1].commits.upperBound
    var checked = 0
    for offset in 0..<places[places.count - 1].range.upperBound {
      // Bodies and headers at every offset; the header's long zeros now and then.
      if offset % 2_048 >= 128, offset < 4_096, offset % 16 != 5 { continue }
      let isHeader = offset < 4_096
      let place =
        isHeader
        ? Place(range: offset < 2_048 ? 0..<1 : 2_048..<2_049, commits: commits)
        : try #require(places.first { $0.range.contains(offset) })
      for change: UInt8 in [[0x01], [0x80], [0xFF]][offset % 3] {
        var changed = bytes
        changed[offset] ^= change
        try store.files.replaceContents(of: store.path(name), with: changed)
        let problem = try problem(store, name, offset: offset, place: place, isHeader: isHeader)
        #expect(problem == nil, "\(name), offset \(offset), xor \(change)")
        checked += 1
      }
    }
    #expect(checked > 500)
    try store.files.replaceContents(of: store.path(name), with: bytes)
    #expect(try store.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a changed byte in the last batch is a loss where the page knows of it, a tear where it does not")
  func lastBatch() throws {
    let store = try store()
    let name = "0000000000000012.open"
    let place = try #require(try places(store, name).last)
    let bytes = try store.files.contents(of: store.path(name))
    let page = try store.files.contents(of: "/store/lock")
    for offset in place.range {
      var changed = bytes
      changed[offset] ^= 0x10
      try store.files.replaceContents(of: store.path(name), with: changed)
      try store.files.replaceContents(of: "/store/lock", with: page)
      #expect(try store.store.verify().compactMap { $0.finding?.verdict } == [.lost], "\(offset)")
      try store.files.replaceContents(of: "/store/lock", with: [UInt8](repeating: 0, count: page.count))
      let finding = try #require(try store.store.verify().compactMap(\.finding).first)
      #expect(finding.verdict == .torn && finding.error.offset == UInt64(place.range.lowerBound))
      #expect(try store.store.read().commits == Array(store.commits.dropLast()))
    }
  }

  @Test("a changed byte in the zeros written ahead is a torn tail")
  func zerosAhead() throws {
    let store = try store()
    let name = "0000000000000012.open"
    let end = try #require(try places(store, name).last).range.upperBound
    let bytes = try store.files.contents(of: store.path(name))
    for offset in Array(end..<end + 50) + [10_000, 65_535] {
      var changed = bytes
      changed[offset] = 1
      try store.files.replaceContents(of: store.path(name), with: changed)
      let finding = try #require(try store.store.verify().compactMap(\.finding).first)
      #expect(finding.verdict == .torn && finding.error.offset == UInt64(end), "\(offset)")
      let copy = TestStore(files: store.files.deepCopy(), path: "/store")
      let open = try copy.open()
      #expect(open.projection.commits == store.commits)
      #expect(try open.write(99).number.rawValue == 16)
      #expect(try copy.verify().allSatisfy { $0.finding == nil })
    }
    // In an older segment nothing is ever torn.
    let older = "0000000000000010.open"
    var changed = try store.files.contents(of: store.path(older))
    changed[30_000] = 1
    try store.files.replaceContents(of: store.path(name), with: bytes)
    try store.files.replaceContents(of: store.path(older), with: changed)
    #expect(try store.store.verify().compactMap { $0.finding?.verdict } == [.corrupt])
  }

  @Test("missing, swapped, cut and grown segments are corrupt, and named")
  func wholeFiles() throws {
    func check(_ name: String, shown: Int, _ change: (Store) throws -> Void) throws {
      let store = try store()
      try change(store)
      let findings = try store.store.verify().compactMap(\.finding)
      #expect(findings.map(\.verdict) == [.corrupt])
      #expect(findings.first?.error.file == store.path(name))
      let open = try store.store.open()
      #expect(open.projection.commits == Array(store.commits.prefix(shown)), "\(name)")
      #expect(storageFailure { try open.write(99) }?.code == .corrupt)
    }
    let sealed = "0000000000000001.sealed"
    let second = "0000000000000007.sealed"
    try check(second, shown: 0) { try $0.files.remove($0.path(sealed)) }
    try check("0000000000000010.open", shown: 6) { try $0.files.remove($0.path(second)) }
    try check("0000000000000012.open", shown: 9) { try $0.files.remove($0.path("0000000000000010.open")) }
    try check(sealed, shown: 0) {
      let first = try $0.files.contents(of: $0.path(sealed))
      try $0.files.replaceContents(of: $0.path(sealed), with: $0.files.contents(of: $0.path(second)))
      try $0.files.replaceContents(of: $0.path(second), with: first)
    }
    try check("0000000000000010.open", shown: 9) {
      let bytes = try $0.files.contents(of: $0.path("0000000000000012.open"))
      try $0.files.replaceContents(of: $0.path("0000000000000010.open"), with: bytes)
    }
    for cut in [1, 8, 100] {
      try check(second, shown: 6) {
        try $0.files.replaceContents(
          of: $0.path(second), with: $0.files.contents(of: $0.path(second)).dropLast(cut))
      }
    }
    for count in [0, 100, 4_095, 4_096] {
      try check(second, shown: 6) {
        try $0.files.replaceContents(
          of: $0.path(second), with: Array($0.files.contents(of: $0.path(second)).prefix(count)))
      }
    }
    try check(second, shown: 9) {
      try $0.files.replaceContents(of: $0.path(second), with: $0.files.contents(of: $0.path(second)) + [0])
    }
    try check(second, shown: 6) {
      var bytes = try $0.files.contents(of: $0.path(second))
      for offset in [3, 2_051] { bytes[offset] ^= 1 }
      try $0.files.replaceContents(of: $0.path(second), with: bytes)
    }
    // A whole frame of another place in the same file.
    try check("0000000000000012.open", shown: 12) {
      var bytes = try $0.files.contents(of: $0.path("0000000000000012.open"))
      let frames = try places($0, "0000000000000012.open").map(\.range)
      let (a, b) = (Array(bytes[frames[1]]), Array(bytes[frames[2]]))
      #expect(a.count == b.count)
      bytes.replaceSubrange(frames[1], with: b)
      bytes.replaceSubrange(frames[2], with: a)
      try $0.files.replaceContents(of: $0.path("0000000000000012.open"), with: bytes)
    }
  }

  @Test("a segment of a later version is refused as such")
  func laterVersion() throws {
    let store = try store()
    let path = store.path("0000000000000007.sealed")
    var bytes = try store.files.contents(of: path)
    for copy in [0, 2_048] {
      bytes[copy + 8] = 2
      let checksum = bytes[copy..<copy + 2_040].withUnsafeBytes { XXH3.hash($0, seed: UInt64(copy)) }
      bytes.put(checksum, at: copy + 2_040)
    }
    try store.files.replaceContents(of: path, with: bytes)
    #expect(storageFailure { _ = try store.store.open() }?.code == .newerFormat)
    #expect(storageFailure { _ = try store.store.verify() }?.code == .newerFormat)
  }

  @Test("a frontier that differs from the commits before it is found by verification")
  func frontier() throws {
    let store = try store()
    let path = store.path("0000000000000007.sealed")
    var bytes = try store.files.contents(of: path)
    for copy in [0, 2_048] {
      bytes[copy + 128] ^= 1
      let checksum = bytes[copy..<copy + 2_040].withUnsafeBytes { XXH3.hash($0, seed: UInt64(copy)) }
      bytes.put(checksum, at: copy + 2_040)
    }
    try store.files.replaceContents(of: path, with: bytes)
    let finding = try store.store.verify().compactMap(\.finding).first
    #expect(finding?.verdict == .corrupt && finding?.error.file == path)
  }
}

extension MemoryFileSystem {
  /// Seals what is not sealed yet by itself, without joining it.
  fileprivate func sealAlone(_ directory: StoreDirectory, _ open: OpenStore) throws {
    let sealed = "\(directory.streamPath(open.replica))/0000000000000001.sealed"
    let kept = try contents(of: sealed)
    _ = try open.log.seal(joining: false)
    #expect(try contents(of: sealed) == kept)
  }
}
