import Heartlog
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("A folder between stores")
struct FolderTests {
  private let files = MemoryFileSystem()
  private let root = "/cloud"

  init() throws { try files.createDirectory(root) }

  private func sync(
    _ store: FavoritesStore, _ change: (inout SyncOptions) -> Void = { _ in }, root: String? = nil
  ) throws -> SyncReport {
    var options = SyncOptions()
    change(&options)
    return try FolderCarrier(root ?? self.root, on: files).sync(store, options: options)
  }

  /// The paths of all files under a folder.
  private func tree(_ folder: String) throws -> [String] {
    try files.entries(of: folder).flatMap { name in
      let path = "\(folder)/\(name)"
      return try files.info(path)?.kind == .directory ? try tree(path) : [path]
    }
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    let file = try files.open(path, .read)
    return try file.bytes(Int(try file.size()), at: 0)
  }

  private func put(_ bytes: [UInt8], _ path: String) throws {
    if try files.info(path) != nil { try files.remove(path) }
    try files.open(path, .createNew).write(bytes, at: 0)
  }

  private func replace(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var content = try bytes(path)
    change(&content)
    try put(content, path)
  }

  private func device(_ number: UInt64, _ commits: Int) throws -> FavoritesStore {
    let store = try FavoritesStore.device(number, "device \(number)")
    if commits > 0 { try store.write(commits, tag: "\(number)-") }
    return store
  }

  @Test("of files with the same commits, one is kept")
  func covered() throws {
    let replica = ReplicaID.made(1)
    func file(_ commits: ClosedRange<UInt64>, _ content: UInt64) -> FolderFile {
      let name = RunFileName(
        first: commits.lowerBound, last: commits.upperBound, root: RootPrefix(word: commits.upperBound),
        content: RootPrefix(word: content))
      return FolderFile(
        writer: replica, stream: replica, name: name, kind: .run, path: "/\(name.text)", bytes: 100)
    }
    let (whole, again) = (file(1...8, 1), file(1...8, 2))
    let (start, end, next) = (file(1...3, 3), file(4...8, 4), file(9...9, 5))
    #expect(SyncPass.withoutCovered([next, end, start, again, whole]) == [whole, next])
    #expect(SyncPass.withoutCovered([next, end, start]) == [start, end, next])
  }

  @Test("a folder that is not there is told, and not made")
  func missing() throws {
    #expect {
      try sync(device(1, 1), root: "/elsewhere")
    } throws: { error in
      (error as? HeartlogError)?.code == .notAStore
    }
    #expect(try files.info("/elsewhere") == nil)
  }

  @Test("what an interrupted merge left behind does no harm, and is removed by its writer alone")
  func leftovers() throws {
    let (one, other) = (try device(1, 3), try device(2, 2))
    _ = try sync(one)
    try one.write(4)
    let kept = try tree(root)[0]
    let old = try bytes(kept)
    for _ in 0..<8 {
      try one.write(1)
      _ = try sync(one)
    }
    try put(old, kept)
    try put([1, 2, 3], "\(root)/\(one.replica)/\(one.replica)/.tmp-999999-1")
    _ = try sync(other)
    #expect(try other.streams[one.replica] == one.streams[one.replica])
    #expect(try files.info(kept) != nil && tree(root).contains { $0.contains(".tmp-") })
    // With its next file there.
    try one.write(1)
    let report = try sync(one)
    #expect(report.folder?.removed == 1)
    #expect(try files.info(kept) == nil)
    #expect(try tree(root).allSatisfy { !$0.contains(".tmp-") })
  }

  @Test(
    "files that are not here yet, half copied, damaged, foreign or copied by a syncing program are survived and counted"
  )
  func strangers() throws {
    let (one, other) = (try device(1, 0), try device(2, 4))
    for _ in 0..<5 {
      try one.write(10)
      _ = try sync(one)
    }
    let folder = "\(root)/\(one.replica)/\(one.replica)"
    let names = try files.entries(of: folder)
    let contents = try names.map { try bytes("\(folder)/\($0)") }
    // The second is in iCloud only, the third empty, the fourth half there, the fifth changed.
    try files.remove("\(folder)/\(names[1])")
    try put([0], "\(folder)/.\(names[1]).icloud")
    try put([], "\(folder)/\(names[2])")
    try put(Array(contents[3].dropLast(9)), "\(folder)/\(names[3])")
    try replace("\(folder)/\(names[4])") { $0[$0.count / 2] ^= 1 }
    for stranger in [
      ".stfolder", "desktop.ini", "\(one.replica)/readme.txt", "\(one.replica)/\(one.replica)/x.run",
    ] {
      try put([1], "\(root)/\(stranger)")
    }
    try files.createDirectory("\(root)/\(String(repeating: "A", count: 32))")
    let report = try sync(other)
    #expect(report.received.commits == 10 && report.sent.commits == 4)
    let counts = try #require(report.folder)
    #expect(counts.placeholders == 2 && counts.foreign == 5 && counts.waiting == 2 && counts.runs == 3)
    // They come, the last one under another name.
    try files.remove("\(folder)/.\(names[1]).icloud")
    for index in 1...3 { try put(contents[index], "\(folder)/\(names[index])") }
    try put(contents[4], "\(folder)/\(names[4].dropLast(4)) (conflicted copy 2026-03-01).run")
    let later = try sync(other)
    #expect(later.received.commits == 40 && later.folder?.copies == 1)
    #expect(later.folder?.damagedNames.map { "\(root)/\($0)" } == ["\(folder)/\(names[4])"])
    #expect(try other.streams[one.replica] == one.streams[one.replica])
    // The writer finds its own damaged file, and mends it.
    let mended = try sync(one)
    #expect(mended.folder?.damaged == 0)
    #expect(try bytes("\(folder)/\(names[4])") == contents[4])
  }

  @Test("every byte of a run file counts", arguments: [1, 0x80] as [UInt8])
  func flipped(mask: UInt8) throws {
    let one = try device(1, 10)
    _ = try sync(one)
    let path = try tree(root)[0]
    let content = try bytes(path)
    for place in content.indices {
      var changed = content
      changed[place] ^= mask
      #expect(throws: MalformedError.self, "byte \(place)") { try RunFile(changed) }
    }
    for count in 0..<content.count {
      #expect(throws: MalformedError.self) { try RunFile(Array(content.prefix(count))) }
    }
  }

  @Test(
    "folders that a slow syncing program copies late, partly and out of order lead to the same",
    arguments: 1...8)
  func delays(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let stores = try (1...3).map { try device($0, 3) }
    let folders = ["/a", "/b", "/c"]
    for folder in folders { try files.createDirectory(folder) }
    // A file is carried from where its writer left it.
    func carry(from: Int, to: Int, isWhole: Bool) throws {
      let (writer, from, to) = (stores[from].replica, folders[from], folders[to])
      let names = try tree(from).map { String($0.dropFirst(from.utf8.count)) }
        .filter { $0.hasPrefix("/\(writer)/") }
      for name in isWhole ? names : names.shuffled(using: &random) {
        // It may come in part first, or not at all.
        guard isWhole || UInt8.random(in: 0..<3, using: &random) == 0 else { continue }
        guard let content = try? bytes(from + name), !name.contains(".tmp-") else { continue }
        let cut = !isWhole && UInt8.random(in: 0..<4, using: &random) == 0
        let parts = name.split(separator: "/")
        for depth in 1..<parts.count {
          let folder = "\(to)/\(parts[..<depth].joined(separator: "/"))"
          if try files.info(folder) == nil { try files.createDirectory(folder) }
        }
        if let here = try? bytes(to + name), here.count == content.count { continue }
        try put(cut ? Array(content.prefix(content.count / 2)) : content, to + name)
      }
    }
    for _ in 0..<60 {
      let store = Int.random(in: 0..<3, using: &random)
      try stores[store].write(Int.random(in: 1...5, using: &random), tag: "\(store)-")
      _ = try sync(stores[store], root: folders[store])
      let (from, to) = (Int.random(in: 0..<3, using: &random), Int.random(in: 0..<3, using: &random))
      if from != to { try carry(from: from, to: to, isWhole: false) }
    }
    for _ in 0..<3 {
      for from in 0..<3 {
        for to in 0..<3 where to != from { try carry(from: from, to: to, isWhole: true) }
      }
      for store in 0..<3 { _ = try sync(stores[store], root: folders[store]) }
    }
    #expect(try Set(stores.map { try $0.streams }).count == 1, "seed \(seed)")
    #expect(try stores[0].streams.count == 3)
  }

  @Test("the directory of a store is no folder between stores, nor is what lies in it")
  func storeDirectory() throws {
    for name in ["/cloud/store", "/cloud/lock"] { try put([], name) }
    try files.createDirectory("/cloud/replicas")
    let before = try tree(root)
    let error = #expect(throws: HeartlogError.self) { try sync(device(1, 3)) }
    #expect(error?.code == .invalid && error?.message.contains("a folder of its own") == true)
    #expect(try tree(root) == before)
  }
}
