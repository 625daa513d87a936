import Foundation
import Heartlog
import Testing

@Suite("What an alert says of an error")
struct ErrorWordsTests {
  private static let codes: [HeartlogError.Code] = [
    .invalid, .invalidItem, .corrupt, .newerFormat, .notAStore, .exists, .readOnly, .locked, .diskFull,
    .inputOutput, .wrongClock, .outcomeUnknown, .cancelled, .notFound, .timedOut, .peer, .otherVault,
    .notAdmitted, .noKey, .misuse,
  ]

  @Test("each code has its sentences in each language, and no two languages have the same")
  func sentences() {
    for code in Self.codes {
      let (title, suggestion) = code.words
      for sentence in [title, suggestion].compactMap(\.self) {
        let texts = Language.allCases.map { sentence[$0] }
        #expect(Set(texts).count == texts.count && texts.allSatisfy { $0.hasSuffix(".") }, "\(code)")
      }
    }
  }

  @Test(
    "the language is that of the app, and English if it is none of the four",
    arguments: [
      ("de", .german), ("de-AT", .german), ("fr_CA.UTF-8", .french), ("ES", .spanish), ("en_US", .english),
      ("pt-BR", .english), ("C.UTF-8", .english), ("", .english), ("deu", .english),
    ] as [(String, Language)])
  func language(identifier: String, language: Language) {
    #expect(Language(identifier: identifier) == language)
  }

  @Test("a localized error has them, beside the message")
  func alert() {
    let (title, suggestion) = HeartlogError.Code.notAdmitted.words
    #expect(title[.german] == "Dieses Gerät hat keinen Zugriff auf deine Favoriten.")
    #expect(title[.english] == "This device has no access to your favorites.")
    #expect(suggestion?[.spanish] == "Invítalo desde un dispositivo que lo tenga.")
    #expect(suggestion?[.french] == "Invitez-le depuis un appareil qui y a accès.")
    let error: any LocalizedError = HeartlogError(.diskFull, "write: no space left on device")
    #expect(error.errorDescription == "write: no space left on device")
    #expect(error.recoverySuggestion == HeartlogError.Code.diskFull.words.suggestion?[.current])
    #expect(HeartlogError(.misuse, "x").recoverySuggestion == nil)
  }
}
