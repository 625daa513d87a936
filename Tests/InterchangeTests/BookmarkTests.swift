import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("bookmarks as browsers write them")
struct BookmarkTests {
  /// As Firefox writes them, with a folder in a folder, a live bookmark, a separator and a picture of its own.
  private static let firefox = """
    <!DOCTYPE NETSCAPE-Bookmark-file-1>
    <!-- This is an automatically generated file. <A HREF="https://no/"> -->
    <META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'self'; img-src data: *"></meta>
    <TITLE>Bookmarks</TITLE>
    <H1>Bookmarks Menu</H1>

    <DL><p>
        <DT><H3 ADD_DATE="1600000000" LAST_MODIFIED="1600000001" PERSONAL_TOOLBAR_FOLDER="true">Bookmarks Toolbar</H3>
        <DD>what a folder is about
        <DL><p>
            <DT><A HREF="https://example.org/?a=1&amp;b=2" ADD_DATE="1600000000" LAST_MODIFIED="1600000009" ICON="data:image/png;base64,\(String(repeating: "iVBORw0KGgo", count: 5_000))" TAGS="later, cooking,later">Ribollita &amp; &quot;more&quot; &#39;x&#39; &#x1F35D; &eacute;</A>
            <DD>With bread &lt;old&gt;
    and beans<br>and time

            <DT><A HREF="https://arxiv.org/abs/2006.08594v1" ADD_DATE="1600000000123456">[2006.08594] Title of it</A>
            <HR>
            <DT><H3>Nested</H3>
            <DL><p>
                <DT><A HREF="https://arxiv.org/pdf/quant-ph/0201082v1.pdf" ADD_DATE="1600000000123">0201082v1.pdf</A>
            </DL><p>
        </DL><p>
        <DT><A HREF="place:sort=8">Most visited</A>
    </DL>
    """

  @Test("a library of an app's own takes them by their addresses, with notes and tags")
  func own() throws {
    let store = try FavoritesStore.inMemory()
    #expect(
      FileFormats.standard.guess(Array(Self.firefox.utf8), name: nil, for: "links")?.name == "bookmarks")
    let report = try store.take(Self.firefox, BookmarksFormat(), into: "links")
    #expect(report.added == 4 && report.refusals.isEmpty)
    let item = try #require(store.library("links").item("https://example.org/?a=1&b=2"))
    #expect(item.value(of: "title") == .string("Ribollita & \"more\" 'x' 🍝 &eacute;"))
    #expect(item.value(of: "@note") == .string("With bread <old>\nand beans\nand time"))
    #expect(item.favoritedDate == 1_600_000_000_000)
    #expect(item.value(of: "tags")?.jsonValue.array == [.string("later"), .string("cooking")])
    #expect(try store.library("links").collections == ["Bookmarks Toolbar", "Nested"])
    #expect(
      try store.library("links").collection("Bookmarks Toolbar").ids == [
        "https://example.org/?a=1&b=2", "https://arxiv.org/abs/2006.08594v1",
        "https://arxiv.org/pdf/quant-ph/0201082v1.pdf",
      ])
    #expect(try store.take(Self.firefox, BookmarksFormat(), into: "links").events == 0)
    try checkRoundTrip(of: "links", as: BookmarksFormat(), from: store)
  }

  @Test("papers are told by arXiv's addresses; others are refused with their line")
  func papers() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(Self.firefox, BookmarksFormat(), into: "papers")
    #expect(try store.stored("papers").map(\.id) == ["2006.08594v1", "quant-ph/0201082v1"])
    #expect(report.refusals.map(\.line) == [12, 23])
    let library = try store.library("papers")
    let paper = try #require(library.item("2006.08594v1"))
    #expect(paper.favoritedDate == 1_600_000_000_123 && paper.value(of: "title") == .string("Title of it"))
    #expect(paper.value(of: "pdfURL") == .string("https://arxiv.org/pdf/2006.08594v1"))
    #expect(library.item("quant-ph/0201082v1")?.favoritedDate == 1_600_000_000_123)
    #expect(library.item("quant-ph/0201082v1")?.value(of: "title") == nil)
  }

  @Test(
    "an address of arXiv is a paper where it names one",
    arguments: [
      ("https://arxiv.org/abs/2006.08594", "2006.08594"),
      ("http://export.arxiv.org/abs/0704.0001v12", "0704.0001v12"),
      ("https://www.arxiv.org/html/2101.09077v1#S1", "2101.09077v1"),
      ("https://arxiv.org/abs/math.GT/0309136", "math.GT/0309136"),
      ("https://arxiv.org/abs/solv-int/9901001v2?x=1", "solv-int/9901001v2"),
      ("https://arxiv.org/list/cs/recent", nil),
      ("https://arxiv.org/abs/", nil), ("https://arxiv.org/abs/12", nil),
      ("https://notarxiv.org/abs/2006.08594", nil),
      ("https://arxiv.org/abs/2006.08594v", nil), ("https://arxiv.org/abs/a/b/c", nil),
    ] as [(String, String?)])
  func arXiv(address: String, id: String?) throws {
    let store = try FavoritesStore.inMemory()
    try store.take("<DL><DT><A HREF=\"\(address)\">x</A>", BookmarksFormat(), into: "papers")
    #expect(try store.stored("papers").map(\.id) == (id.map { [$0] } ?? []))
  }

  @Test("Chrome's and Safari's files are read: other case, no dates, unquoted and missing ends")
  func others() throws {
    let text = """
      <!DOCTYPE NETSCAPE-Bookmark-file-1>
      <html><dl><p>
      <dt><h3 folded>Favourites</h3><dl><p>
      <dt><a href=https://a/>A <b>bold</b> one</a>
      <dt><A HREF='https://b/' ADD_DATE=\"0\" TAGS=''>B
      <dt><A ADD_DATE="x" HREF="https://c/"></A>
      <DT><A>nowhere</A>
      <DT><A HREF="https://d/" ADD_DATE="99999999999999999999">1 < 2 & 3 &amp;
      """
    let store = try FavoritesStore.inMemory()
    let report = try store.take(text, BookmarksFormat(), into: "links")
    #expect(try store.stored("links").map(\.id) == ["https://a/", "https://b/", "https://c/", "https://d/"])
    #expect(refusals(report) == ["7: a bookmark without an address"])
    let library = try store.library("links")
    #expect(library.item("https://a/")?.value(of: "title") == .string("A bold one"))
    #expect(try library.favorites().allSatisfy { try #require($0.favoritedDate) > 1_600_000_000_000 })
    #expect(library.item("https://c/")?.value(of: "title") == nil)
    #expect(library.item("https://d/")?.value(of: "title") == .string("1 < 2 & 3 &"))
  }

  @Test("what is no bookmarks file says so, and what belongs to another library is refused")
  func refused() throws {
    let store = try FavoritesStore.inMemory()
    #expect(throws: LibraryError.self) { try store.take("<p>hello</p>", BookmarksFormat(), into: "links") }
    try store.library("links").add("a")
    let bytes = try store.library("links").exportFile(format: BookmarksFormat())
    #expect(
      try refusals(store.take(bytes, BookmarksFormat(), into: "others")) == [
        "8: the item belongs to links, not to others"
      ])
  }

  @Test("after a browser has dropped what it does not know, an item is still known by its address")
  func throughABrowser() throws {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("recipes")
    try library.add(
      "pasta e fagioli/ü", fields: [Field(name: "title", value: .string("Soup"))],
      favoritedDate: 1_700_000_000_000)
    var text = try String(decoding: library.exportFile(format: BookmarksFormat()), as: UTF8.self)
    while let start = text.firstRange(of: " DATA-"),
      let end = text[start.upperBound...].firstRange(of: "\" ")
        ?? text[start.upperBound...].firstRange(of: "\">")
    {
      text.replaceSubrange(start.lowerBound..<text.index(after: end.lowerBound), with: "")
    }
    #expect(!text.contains("DATA-"))
    let copy = try FavoritesStore.inMemory()
    try copy.take(text, BookmarksFormat(), into: "recipes")
    #expect(try copy.stored("recipes").map(\.id) == ["pasta e fagioli/ü"])
  }
}
