@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("Recovery codes")
struct RecoveryCodeTests {
  private func code(_ seed: UInt64) -> RecoveryCode {
    var random = SeededGenerator(seed: seed)
    return RecoveryCode(using: &random)
  }

  /// The message of the error; nil if there is none.
  private func refusal(_ text: String) -> String? {
    do {
      _ = try RecoveryCode(text: text)
      return nil
    } catch { return error.description }
  }

  @Test("what is written down is read again, however it is typed")
  func roundTrip() throws {
    for seed in 0..<100 as Range<UInt64> {
      let code = code(seed)
      let text = code.text
      #expect(text.utf8.count == 14 * 4 + 13)
      let spellings = [
        text, text.lowercased(), text.replacing("-", with: ""), " " + text.replacing("-", with: " \n") + "\t",
        text.replacing("0", with: "O").replacing("1", with: "l"),
        text.replacing("0", with: "o").replacing("1", with: "I"),
      ]
      for spelling in spellings { #expect(try RecoveryCode(text: spelling).key.seed == code.key.seed) }
    }
  }

  @Test("a wrong character is found, with its group, and so are neighbors in the wrong order")
  func typos() throws {
    let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    let characters = Array(code(1).text.replacing("-", with: ""))
    for place in characters.indices {
      let expected = "the recovery code has a mistake in group \(place / 4 + 1)"
      for step in [place % 31 + 1] {
        var typed = characters
        let value = try #require(alphabet.firstIndex(of: typed[place]))
        typed[place] = alphabet[(value + step) % 32]
        #expect(refusal(String(typed)) == expected)
      }
      guard place % 3 == 0, place + 1 < characters.count, characters[place] != characters[place + 1] else {
        continue
      }
      var typed = characters
      typed.swapAt(place, place + 1)
      #expect(refusal(String(typed)) == expected)
    }
  }

  @Test("what cannot be a code is refused with the reason")
  func refused() {
    let text = code(2).text
    #expect(refusal("") == "a recovery code has 56 letters and digits, this one has 0")
    #expect(refusal(String(text.dropLast())) == "a recovery code has 56 letters and digits, this one has 55")
    #expect(refusal(text + "0") == "a recovery code has 56 letters and digits, this one has 57")
    #expect(refusal("ABCD-EFU") == "\"U\" in group 2 is no character of a recovery code")
    #expect(refusal("ABCD-é") == "\"é\" in group 2 is no character of a recovery code")
    #expect(refusal("\u{1B}") == "\"\\u{1B}\" in group 1 is no character of a recovery code")
    #expect(refusal(text + "!") == "\"!\" in group 14 is no character of a recovery code")
    #expect(
      refusal(String(text.reversed())) == "the recovery code has more than one wrong character, or is not one"
    )
    #expect(refusal(String(repeating: " ", count: 1_025)) == "a recovery code has 56 letters and digits")
    #expect(RecoveryCode(secret: [1, 2, 3]) == nil)
  }

  @Test("no secret gets into a message")
  func redacted() {
    let code = code(3)
    let secret = Hexadecimal.text(code.key.seed)
    for value in [code as Any, code.agreementKey as Any] {
      var dumped = ""
      dump(value, to: &dumped)
      for text in [dumped, String(describing: value), String(reflecting: value)] {
        #expect(
          !text.contains(secret) && !text.contains(code.text) && !text.contains("\(code.key.seed[0]), "))
      }
    }
  }
}
