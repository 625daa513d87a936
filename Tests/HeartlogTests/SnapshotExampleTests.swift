import HeartlogFormat
import HeartlogFiles
import HeartlogState
import Testing

@Suite("The worked example of a snapshot in docs/format.md")
struct SnapshotExampleTests {
  private final class Mapped: Sendable {
    nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

    init(_ array: [UInt8]) {
      bytes = .allocate(byteCount: array.count, alignment: 4_096)
      bytes.copyBytes(from: array)
    }

    deinit { bytes.deallocate() }
  }

  private static func example() throws -> [UInt8] {
    let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    let file = try POSIXFileSystem().open("\(root)/docs/format.md", .read)
    let page = String(decoding: try file.bytes(Int(try file.size()), at: 0), as: UTF8.self)
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
      .drop { $0 != "```hex snapshot" }.dropFirst().prefix { $0 != "```" }
    return try lines.flatMap { line in
      try #require(Hexadecimal.bytes(line.prefix { $0 != ";" }.filter { $0 != " " }), "\(line)")
    }
  }

  @Test("is read, and is what is written but for the id and the checksums")
  func both() throws {
    let example = try Self.example()
    let mapped = Mapped(example)
    let (state, log) = try FavoritesState.snapshot(UnsafeRawBufferPointer(mapped.bytes), owner: mapped)
    #expect(log == [0] && state.commitCount == 0 && state.libraries.isEmpty && !state.isDamaged)
    var written: [UInt8] = []
    try state.writeSnapshot(log: log) { written.append(contentsOf: $0) }
    try #require(written.count == example.count)
    for random in [16..<32, 56..<64, 144..<152, 184..<192] {
      #expect(written[random] != example[random])
      written.replaceSubrange(random, with: example[random])
    }
    #expect(written == example)
  }
}
