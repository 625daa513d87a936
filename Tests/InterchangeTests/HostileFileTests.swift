import Heartlog
@testable import HeartlogInterchange
@testable import HeartlogLibraries
import LibraryTestSupport
import Testing

/// Nothing that a file holds may end the program, or take time out of proportion.
@Suite("files that are broken or meant ill")
struct HostileFileTests {
  private static let libraries = [
    "archives", "tracks", "papers", "cities", "breeds", "books", "settings", "things",
  ]

  /// Reads bytes as every format that there is, for every library that has it.
  private static func readAll(_ bytes: [UInt8]) {
    for library in libraries {
      for format in FileFormats.standard.formats(for: library) {
        let library = LibraryRegistry.standard[library]
        _ = format.recognizes(Array(bytes.prefix(4_096)), for: library)
        _ = try? format.read(bytes, for: library)
      }
    }
  }

  private static func samples() throws -> [[UInt8]] {
    let store = try FavoritesStore.inMemory()
    for library in libraries {
      let id =
        switch library {
        case "cities": "12"
        case "books": "6f9619ff-8b86-d011-b42d-00c04fc964ff"
        default: "https://a/b.jpg"
        }
      let fields = [
        Field(name: "title", value: .string("T, \"x\"\n")), Field(name: "name", value: .string("N")),
        Field(name: "country", value: .string("PT")),
        Field(name: "lat", value: .double(1.5)), Field(name: "lon", value: .int64(2)),
        Field(name: "fileURL", value: .string("file:///a%20b.m4b")),
        Field(name: "@in/x", value: .string("V")),
      ]
      try store.library(library).add(id, fields: fields, favoritedDate: 1_700_000_000_123)
    }
    var samples: [[UInt8]] = []
    for library in libraries {
      for format in FileFormats.standard.formats(for: library) where format.isWritten {
        if let bytes = try? store.library(library).exportFile(format: format) { samples.append(bytes) }
      }
    }
    return samples
  }

  @Test("random bytes")
  func random() {
    var random = AnnouncedRandom()
    for _ in 0..<20 {
      let count = Int.random(in: 0..<2_000, using: &random)
      Self.readAll((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
      // Of the bytes that mean something, too.
      let meaning = Array("{}[]\",:;<>=&\\/\n\r \t0aA-.".utf8)
      Self.readAll((0..<count).map { _ in meaning.randomElement(using: &random) ?? 0 })
    }
  }

  @Test("sound files with bytes changed, cut, doubled and taken out")
  func mutated() throws {
    var random = AnnouncedRandom()
    let samples = try Self.samples()
    #expect(samples.count >= 20)
    for sample in samples {
      for _ in 0..<2 {
        var bytes = sample
        for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.removeSubrange(place...)
          case 2: bytes.insert(contentsOf: bytes[place...].prefix(40), at: place)
          default: bytes.remove(at: place)
          }
        }
        Self.readAll(bytes)
      }
    }
  }

  @Test(
    "a hundred thousand levels of nesting",
    arguments: ["[", "{\"a\":", "<DL><DT>", "[{\"url\":", "\"", "{\"members\":[", "&", "<a "])
  func deep(piece: String) throws {
    let bytes = Array(String(repeating: piece, count: 100_000).utf8)
    Self.readAll(bytes)
  }

  @Test(
    "one long line, and many small pieces",
    arguments: ["x", "\"\"", "\"\n", ",", "\",\"a\n", "[],", "<a>", "&amp;", "{\"a\":1},", "<", "\"a\""])
  func long(piece: String) throws {
    let count = (1 << 17) / piece.utf8.count
    for (format, library, opening) in [
      (CSVFormat(), "things", "id,a\n"), (BookmarksFormat(), "things", "<DL><DT><A HREF=\""),
      (BookmarksFormat(), "things", "<DL>"),
      (UserDefaultsFormat(), "books", "[{\"fileURL\":1},"),
      (GeoJSONFormat(), "cities", "{\"type\":\"FeatureCollection\",\"features\":["),
      (ArchiveJSONFormat(), "archives", "["),
    ] as [(any FileFormat, String, String)] {
      let bytes = Array(opening.utf8) + Array(String(repeating: piece, count: count).utf8)
      _ = format.recognizes(Array(bytes.prefix(4_096)), for: LibraryRegistry.standard[library])
      _ = try? format.read(bytes, for: LibraryRegistry.standard[library])
    }
  }
}

/// Numbers that another run can repeat.
private struct AnnouncedRandom: RandomNumberGenerator {
  private let random: SeededRandom

  init() {
    let seed = SeededRandom.testSeed()
    random = SeededRandom(seed: seed)
  }

  func next() -> UInt64 { random.next() }
}
