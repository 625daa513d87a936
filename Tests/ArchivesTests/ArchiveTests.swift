import Foundation
import Heartlog
import HeartlogFormat
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

  @Test(
    "archives keep: title = archiveTitle = the API's title, names joined by \", \", description by a line feed, unknown mediatype is other, icon"
  )
  func document() throws {
    let document = try JSONValue.parse(
      #"""
      {"identifier":"a","title":"One","creator":["Brown, Hunter","Lee"],"publisher":["P","Q"],
       "description":["x","y"],"mediatype":"hologram"}
      """#)
    let archive = try Archive(document: document)
    #expect(archive.title == "One" && archive.archiveTitle == "One" && archive.displayTitle == "One")
    #expect(archive.creator == "Brown, Hunter, Lee" && archive.publisher == "P, Q")
    #expect(archive.desc == "x\ny" && archive.mediatype == "other")
    #expect(archive.iconUrlString == "https://archive.org/services/img/a")
    #expect(try stored(archive) == archive)
  }

  @Test(
    "archives keep: description, subject, creator, collection and publisher are a string or an array of strings; mend: title and date too",
    arguments: ["description", "subject", "creator", "collection", "publisher", "title", "date"])
  func stringOrArray(member: String) throws {
    func archive(_ value: String) throws -> Archive {
      try Archive(document: JSONValue.parse(#"{"identifier":"a","\#(member)":\#(value)}"#))
    }
    let one = try archive(#""1""#)
    #expect(try archive(#"["1"]"#) == one)
    let two = try archive(#"["1","2"]"#)
    switch member {
    case "description": #expect(two.desc == "1\n2")
    case "creator": #expect(two.creators == ["1", "2"])
    case "publisher": #expect(two.publishers == ["1", "2"])
    default: #expect(two == one)  // the first serves, or the item has no such property
    }
    #expect(one.title == (member == "title" ? "1" : nil))
  }

  @Test("archives mend: names are kept as a list, and a name with a comma stays one name")
  func commas() throws {
    let archive = try Archive(
      document: JSONValue.parse(#"{"identifier":"a","creator":["Brown, Hunter","Lee"],"publisher":"P"}"#))
    #expect(archive.creators == ["Brown, Hunter", "Lee"])
    let fields = try FieldEncoder.fields(of: archive)
    #expect(fields.first { $0.name == "publishers" }?.value == .string("P"))
    #expect(fields.first { $0.name == "creators" }?.value.jsonValue.jsonText == #"["Brown, Hunter","Lee"]"#)
  }

  @Test(
    "archives mend: a missing creator or publisher is nil, not an empty text",
    arguments: [
      "", #","creator":[],"publisher":[]"#, #","creator":"","publisher":[""]"#, #","creator":null"#,
    ])
  func missing(members: String) throws {
    let archive = try Archive(document: JSONValue.parse(#"{"identifier":"a"\#(members)}"#))
    #expect(archive.creator == nil && archive.publisher == nil && archive.title == nil)
    #expect(archive.displayTitle == "Unknown" && archive.displayCreator == nil)
    #expect(try stored(archive) == archive)
  }

  @Test("archives mend: a document without an identifier is refused")
  func refused() throws {
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

@Suite("archives: the app's own JSON")
struct ArchiveAppJSONTests {
  private let decoder = JSONDecoder()

  @Test("Archive takes identifier, joined names and dateAdded")
  func archive() throws {
    let archive = try decoder.decode(
      Archive.self,
      from: Data(
        #"{"identifier":"a","title":"T","creator":"Brown, Hunter","publisher":["P","Q"],"desc":"D","dateAdded":0}"#
          .utf8))
    #expect(
      archive.identifier == "a" && archive.creators == ["Brown, Hunter"] && archive.publishers == ["P", "Q"])
    #expect(archive.desc == "D" && archive.dateAdded == Date(timeIntervalSinceReferenceDate: 0))
    #expect(try decoder.decode(Archive.self, from: JSONEncoder().encode(archive)) == archive)
    #expect(try decoder.decode(Archive.self, from: Data(#"{"identifier":"b"}"#.utf8)).dateAdded == nil)
    let error = #expect(throws: DecodingError.self) {
      try decoder.decode(Archive.self, from: Data("{}".utf8))
    }
    #expect("\(error, default: "")".contains("identifier"))
  }

  @Test(
    "archives mend: an empty creator or publisher of the app's JSON is nil",
    arguments: [
      #"{"identifier":"a","creator":"","publisher":""}"#,
      #"{"identifier":"a","creator":[""],"publisher":[]}"#,
    ])
  func emptyNames(text: String) throws {
    let archive = try decoder.decode(Archive.self, from: Data(text.utf8))
    #expect(archive.creators == [] && archive.creator == nil && archive.publisher == nil)
  }

  @Test(
    "an alert shows the sentence of an error",
    arguments: [LibraryError.invalidItem("a"), .invalidAnswer("b"), .alreadyFavorite("c")])
  func localized(error: LibraryError) { #expect(error.localizedDescription == error.description) }

  @Test("Track takes url")
  func track() throws {
    let track = try decoder.decode(Track.self, from: Data(#"{"url":"https://a/b.mp3","title":"B"}"#.utf8))
    #expect(track.url.absoluteString == "https://a/b.mp3" && track.title == "B")
    #expect(try decoder.decode(Track.self, from: JSONEncoder().encode(track)) == track)
    #expect(throws: DecodingError.self) { try decoder.decode(Track.self, from: Data(#"{"title":"B"}"#.utf8)) }
  }

  @Test("answers are read from Data, bytes and strings")
  func sources() throws {
    let text = #"{"metadata":{"identifier":"a","title":"T"}}"#
    let archives = try Archive.archives(answer: text)
    #expect(archives.map(\.title) == ["T"])
    #expect(try Archive.archives(answer: Data(text.utf8)) == archives)
    #expect(try Archive.archives(answer: Array(text.utf8)) == archives)
    #expect(try Archive.archives(answer: JSONValue.parse(text)) == archives)
    #expect(throws: LibraryError.self) { try Archive.archives(answer: Data("{".utf8)) }
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
    #expect(throws: LibraryError.self) { try Track(file: JSONValue.object([]), archiveIdentifier: "a") }
  }
}
