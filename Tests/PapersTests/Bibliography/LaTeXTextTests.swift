import HeartlogTesting
import Testing

@testable import HeartlogInterchange

@Suite("papers: text of LaTeX")
struct LaTeXTextTests {
  @Test(
    "accents, letters and signs become Unicode",
    arguments: [
      (#"Gr\"obner and Gr{\"o}bner and Gr\"{o}bner"#, "Gröbner and Gröbner and Gröbner"),
      (
        #"Erd{\H o}s, Erd\H{o}s, Ho\v{r}ava, {\v S}koda, \c{C}a \c c, \k{a}, \r{u}, \d{s}, \b{d}, \u{g}"#,
        "Erdős, Erdős, Hořava, Škoda, Ça ç, ą, ů, ṣ, ḏ, ğ"
      ),
      (
        #"na\"{\i}ve, \'{\i}, \'\i, \i, stra\ss e, stra{\ss}e, \O{}re, {\o}l, \L{}\'od\'z"#,
        "naïve, í, í, ı, straße, straße, Øre, øl, Łódź"
      ),
      (#"\'{\^e} Nguy\~{\^e}n \=a \.z \`a \^o \~n"#, "ế Nguyễn ā ż à ô ñ"),
      (#"\' e \~{} \^{} \t{oo}"#, "é ~ ^ o\u{361}o"),
      (#"A {\em very} \textbf{bold} \emph{text}, {TLA+}"#, "A very bold text, TLA+"),
      (
        ##"50\% \& \#1 \_x \$5 \{a\} a\textbackslash{}b a\textasciitilde{}b \textless{}x\textgreater"##,
        #"50% & #1 _x $5 {a} a\b a~b <x>"#
      ),
      (#"\unknown{Caf\'e}{x} \alpha\beta \foo bar"#, #"\unknown{Café}{x} \alpha\beta \foo bar"#),
      (#"$\alpha_{i}$ and {$\frac{a}{b}$}, $$\sum$$"#, #"$\alpha_{i}$ and $\frac{a}{b}$, $$\sum$$"#),
      ("  wrapped\n    over\tlines  ", "wrapped over lines"),
      (#"D.~E. Knuth, a\ b, x\\y, hy\-phen"#, "D. E. Knuth, a b, x y, hyphen"),
      (#"``quoted'' -- 'so'"#, #"``quoted'' -- 'so'"#),
      (#"\'"#, #"\'"#), (#"\'}"#, #"\'"#), (#"\"{ab}c"#, "äbc"), ("\\", "\\"), ("cost $5", "cost $5"),
      (#"{\'{e}}"#, "é"),
      (#"\symbol{955} \symbol{99999999} \symbol{x}"#, #"λ \symbol{99999999} \symbol{x}"#),
    ])
  func decoded(value: String, text: String) {
    #expect(Array(LaTeXText.decoded(value).unicodeScalars) == Array(text.unicodeScalars))
  }

  @Test("addresses are read as they stand, and without escapes")
  func addresses() {
    #expect(
      LaTeXText.decodedAddress(#"https://x.org/~a/b_c?d=$e&f=%20g"#) == "https://x.org/~a/b_c?d=$e&f=%20g")
    #expect(
      LaTeXText.decodedAddress(##"\url{https://x.org/\~{}a/b\_c\%20\&d\#e}"##)
        == "https://x.org/~a/b_c%20&d#e")
  }

  @Test("math and Unicode are written as they are, and braces stand in pairs")
  func encoded() {
    #expect(LaTeXText.encoded("Łódź: $O(n^2)$ at 5%") == #"Łódź: $O(n^2)$ at 5\%"#)
    #expect(LaTeXText.encoded(#"Koll\'ar"#) == #"Koll\textbackslash{}'ar"#)
    #expect(LaTeXText.encoded("a}b") == #"a\textbraceright{}b"#)
  }

  @Test("what is encoded is decoded as it was, in any mixture of signs")
  func roundTrip() {
    let seed = SeededRandom.testSeed()
    var random = SeededRandom(seed: seed)
    let pieces = [
      "\\", "{", "}", "$", "$", "$$", " ", "\n", "\t", "a", "é", "e\u{301}", "~", "^", "#", "c", "symbol{9}",
      "\"", "newline", "\u{A0}",
    ]
    for _ in 0..<4_000 {
      let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }.joined()
      let encoded = LaTeXText.encoded(text)
      #expect(
        Array(LaTeXText.decoded(encoded).utf8) == Array(text.utf8), "\(text.debugDescription) as \(encoded)")
      let address = LaTeXText.encodedAddress(text)
      #expect(
        Array(LaTeXText.decodedAddress(address).utf8) == Array(text.utf8),
        "\(text.debugDescription) as \(address)")
      var depth = 0
      for byte in encoded.utf8 {
        depth += byte == UInt8(ascii: "{") ? 1 : byte == UInt8(ascii: "}") ? -1 : 0
        #expect(depth >= 0)
      }
      #expect(depth == 0)
    }
  }
}
