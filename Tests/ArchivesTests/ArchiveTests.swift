import Foundation
import Heartlog
import HeartlogEvents
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("archives: what archive.org sends becomes an Archive")
struct ArchiveTests {
  @Test("an item and a search answer, as iaAPI ships them", .needsRealData)
  func realAnswers() throws {
    let expected = Archive(
      identifier: "HunterLeeBrownPianoWorks2010-2011", title: "Hunter Lee Brown - Piano Works",
      archiveTitle: "Hunter Lee Brown - Piano Works", mediatype: "audio", creators: ["Hunter Lee Brown"],
      desc: "Piano works from 2010 - 2011",
      iconUrlString: "https://archive.org/services/img/HunterLeeBrownPianoWorks2010-2011")
    #expect(try Archive.archives(answer: RealData.json("archives/search-result.json")) == [expected])
    #expect(try Archive.archives(answer: RealData.json("archives/item.json")) == [expected])
    #expect(expected.displayCreator == "Hunter Lee Brown" && expected.publisher == nil)
  }

  @Test("fifty documents, strings in one and arrays in the next, survive the store", .needsRealData)
  func manyDocuments() throws {
    let archives = try Archive.archives(answer: RealData.json("archives/advancedsearch-50.json"))
    #expect(archives.count == 50 && Set(archives.map(\.id)).count == 50)
    #expect(archives.filter { $0.creator == nil }.count == 4)
    for archive in archives { #expect(try stored(archive) == archive) }
    let collection = try Archive.archives(answer: RealData.json("archives/collection-gratefuldead.json"))
    #expect(collection.first?.mediatype == "collection")
  }

  @Test("a string or an array: joined, or the first where there can be one")
  func stringsAndArrays() throws {
    let document = try JSONValue.parse(
      #"""
      {"identifier":"a","title":["One","Two"],"creator":["Brown, Hunter","Lee"],"publisher":"P",
       "description":["x","y"],"mediatype":"hologram"}
      """#)
    let archive = try Archive(document: document)
    #expect(archive.title == "One" && archive.displayTitle == "One")
    #expect(archive.creators == ["Brown, Hunter", "Lee"] && archive.creator == "Brown, Hunter, Lee")
    #expect(archive.publisher == "P" && archive.desc == "x\ny" && archive.mediatype == "other")
    #expect(try stored(archive) == archive)
    let fields = try FieldEncoder.fields(of: archive)
    #expect(fields.first { $0.name == "publishers" }?.value == .string("P"))
    #expect(fields.first { $0.name == "creators" }?.value.jsonValue.jsonText == #"["Brown, Hunter","Lee"]"#)
  }

  @Test("what is missing is nil, and an archive without a title is Unknown")
  func missing() throws {
    let archive = try Archive(document: JSONValue.parse(#"{"identifier":"a","creator":[]}"#))
    #expect(archive.creator == nil && archive.publisher == nil && archive.title == nil)
    #expect(archive.displayTitle == "Unknown")
    #expect(archive.iconUrl?.absoluteString == "https://archive.org/services/img/a")
    #expect(try stored(archive) == archive)
    for text in [#"{"title":"x"}"#, #"{"identifier":""}"#, #"{"identifier":[]}"#, "[]"] {
      #expect(throws: LibraryError.self) { try Archive(document: JSONValue.parse(text)) }
      #expect(throws: LibraryError.self) { try Archive.archives(answer: JSONValue.parse(text)) }
    }
  }

  @Test("the date of adding is the favorited date, and no field")
  func dateAdded() throws {
    let date = Date(timeIntervalSince1970: 1_709_294_400.5)
    let archive = Archive(identifier: "a", dateAdded: date)
    #expect(try stored(archive, isFavorite: true, favoritedDate: date) == archive)
    #expect(try stored(archive).dateAdded == nil)
    #expect(try FieldEncoder.fields(of: archive).allSatisfy { $0.value == .null })
  }
}

@Suite("tracks: the files of an archive")
struct TrackTests {
  @Test("every file of a real item survives the store", .needsRealData)
  func realFiles() throws {
    let item = try RealData.json("archives/item.json")
    let files = try #require(item["files"]?.array)
    let tracks = try files.map { try Track(file: $0, archiveIdentifier: "HunterLeeBrownPianoWorks2010-2011") }
    #expect(tracks.count == 37 && Set(tracks.map(\.url)).count == 37)
    #expect(tracks[0].title == "2011 Tracey Lullaby" && tracks[1].title == "2011Lullaby.ogg")
    #expect(
      tracks[0].url.absoluteString
        == "https://archive.org/download/HunterLeeBrownPianoWorks2010-2011/2011Lullaby.mp3")
    for track in tracks { #expect(try stored(track) == track) }
  }

  @Test("names with spaces, signs and letters of all kinds make one URL")
  func names() throws {
    let file = JSONValue.object([JSONMember("name", .string("CD 1/50% é?#.mp3"))])
    let track = try Track(file: file, archiveIdentifier: "a")
    #expect(track.url.absoluteString == "https://archive.org/download/a/CD%201/50%25%20%C3%A9%3F%23.mp3")
    #expect(try stored(track) == track)
    #expect(throws: LibraryError.self) { try Track(file: .object([]), archiveIdentifier: "a") }
  }
}
