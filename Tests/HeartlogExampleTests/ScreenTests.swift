import Foundation
import Testing

@testable import HeartlogExample

@Suite("Keys of a terminal")
struct KeyDecoderTests {
  private func keys(_ pieces: [UInt8]...) -> [Key] {
    var decoder = KeyDecoder()
    return pieces.flatMap { decoder.keys(in: $0) } + decoder.finish()
  }

  @Test("arrows, pages, Tab, Enter, Backspace and letters are decoded, as many as come at once")
  func known() {
    #expect(
      keys(Array("\u{1B}[A\u{1B}OB\u{1B}[C\u{1B}[D\u{1B}[5~\u{1B}[6~\t\u{1B}[Z\r\u{7F}\u{3}é日".utf8))
        == [
          .up, .down, .right, .left, .pageUp, .pageDown, .tab, .backTab, .enter, .backspace, .interrupt,
          .character("é"),
          .character("日"),
        ])
  }

  @Test(
    "a sequence in two pieces is one key, wherever it is cut",
    arguments: ["\u{1B}[A", "\u{1B}[5~", "é", "日", "😀"])
  func cut(text: String) {
    let bytes = Array(text.utf8)
    let whole = keys(bytes)
    #expect(whole.count == 1)
    for index in 1..<bytes.count { #expect(keys(Array(bytes[..<index]), Array(bytes[index...])) == whole) }
  }

  @Test("Esc is a key if nothing follows it, or a letter does")
  func escape() {
    #expect(keys([0x1B]) == [.escape])
    #expect(keys(Array("\u{1B}q".utf8)) == [.escape, .character("q")])
    #expect(keys([0x1B, 0x1B]) == [.escape, .escape])
  }

  @Test("what is no key and no UTF-8 is passed over")
  func unknown() {
    #expect(keys(Array("\u{1B}[15~\u{1B}[1;5Cx".utf8)) == [.character("x")])
    #expect(keys([0xFF, 0xC3, 0x41, 0xE6, 0x97]) == [.character("A")])
  }

  @Test("a script names keys, and types everything else")
  func script() {
    #expect(
      Key.script("tab / lö enter space") == [
        .tab, .character("/"), .character("l"), .character("ö"), .enter, .character(" "),
      ])
  }
}

@Suite("Lines of a screen")
struct FrameTests {
  @Test(
    "a text takes exactly the columns it is given",
    arguments: [
      ("Porto", 7, "Porto  "), ("Porto", 5, "Porto"), ("Porto", 4, "Por…"), ("日本語", 6, "日本語"),
      ("日本語", 5, "日本…"),
      ("日本語", 4, "日… "), ("🇵🇹 Faro", 4, "🇵🇹 …"), ("Tōkyō", 5, "Tōkyō"), ("x", 0, ""),
    ])
  func fitted(text: String, columns: Int, expected: String) {
    #expect(text.fitted(to: columns) == expected)
    #expect(text.fitted(to: columns).columns == columns)
  }

  @Test("a title cannot control the terminal")
  func controls() { #expect("a\u{1B}[2Jb\nc\u{202E}d".fitted(to: 9) == "a\u{FFFD}[2Jb c…") }

  @Test("words are kept whole where they fit")
  func wrapped() { #expect("one two  three\nfour".wrapped(to: 8) == ["one two", "three", "four"]) }

  @Test("only lines that differ are sent")
  func difference() {
    let first = Frame(lines: [.init(text: "one"), .init(text: "two", style: .selected)])
    let second = Frame(lines: [.init(text: "one"), .init(text: "2")])
    #expect(second.sequences(after: first) == "\u{1B}[2;1H2\u{1B}[0m\u{1B}[K")
    #expect(second.sequences(after: second).isEmpty)
    #expect(
      first.sequences(after: nil) == "\u{1B}[1;1Hone\u{1B}[0m\u{1B}[K\u{1B}[2;1H\u{1B}[7mtwo\u{1B}[0m\u{1B}[K"
    )
  }
}
