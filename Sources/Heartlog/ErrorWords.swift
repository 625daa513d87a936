import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What an alert says of an error, in the language of the app: English, German, Spanish or French. The error's message has the details, in
/// English: for a log.
extension HeartlogError {
  /// A sentence for the title of an alert: "There is not enough space."
  public var title: String { code.words.title[Language.current] }

  /// A sentence that says what a person can do, for the text of an alert; `nil` if there is nothing that they can do.
  public var recoverySuggestion: String? { code.words.suggestion?[Language.current] }
}

/// The languages of alerts.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case german = "de"
  case spanish = "es"
  case french = "fr"

  /// The language of an identifier such as "de-AT" or "fr_CA.UTF-8"; English if it is another one.
  package init(identifier: String) {
    self = Language(rawValue: String(identifier.prefix { $0.isLetter }).lowercased()) ?? .english
  }

  /// The language in which the app speaks.
  package static let current: Language = {
    #if canImport(Darwin)
      Language(identifier: Bundle.main.preferredLocalizations.first ?? "")
    #else
      let environment = ProcessInfo.processInfo.environment
      let identifier = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }
        .first { !$0.isEmpty }
      return Language(identifier: identifier ?? "")
    #endif
  }()
}

/// A sentence in each language.
package struct Sentence: Sendable {
  private let texts: [Language: String]

  init(_ english: String, _ german: String, _ spanish: String, _ french: String) {
    texts = [.english: english, .german: german, .spanish: spanish, .french: french]
  }

  package subscript(language: Language) -> String {
    guard let text = texts[language] else { preconditionFailure("each language has a text") }
    return text
  }
}

extension HeartlogError.Code {
  /// The title of an alert, and what a person can do.
  package var words: (title: Sentence, suggestion: Sentence?) {
    switch self {
    case .diskFull: (Words.full, Words.freeSpace)
    case .locked: (Words.busy, Words.tryAgainSoon)
    case .readOnly: (Words.readOnly, nil)
    case .corrupt: (Words.damaged, Words.repair)
    case .newerFormat: (Words.newer, Words.update)
    case .wrongClock: (Words.clock, Words.setClock)
    case .outcomeUnknown: (Words.unsure, Words.restart)
    case .inputOutput: (Words.failed, Words.tryAgainSoon)
    case .timedOut, .peer, .notAStore: (Words.noAnswer, Words.tryAgainLater)
    case .otherVault: (Words.otherDevices, Words.join)
    case .notAdmitted, .noKey: (Words.stranger, Words.admit)
    case .cancelled: (Words.cancelled, nil)
    case .invalid, .invalidItem, .exists, .notFound, .misuse: (Words.impossible, nil)
    }
  }
}

private enum Words {
  static let full = Sentence(
    "There is not enough space.", "Es ist nicht genug Speicherplatz frei.", "No hay espacio suficiente.",
    "L’espace disponible est insuffisant.")
  static let freeSpace = Sentence(
    "Free up some space and try again.", "Gib Speicherplatz frei und versuche es erneut.",
    "Libera espacio e inténtalo de nuevo.", "Libérez de l’espace, puis réessayez.")
  static let busy = Sentence(
    "Another app is using your favorites.", "Eine andere App benutzt gerade deine Favoriten.",
    "Otra app está usando tus favoritos.", "Une autre app utilise vos favoris.")
  static let tryAgainSoon = Sentence(
    "Try again in a moment.", "Versuche es gleich noch einmal.", "Inténtalo de nuevo en un momento.",
    "Réessayez dans un instant.")
  static let readOnly = Sentence(
    "Your favorites cannot be changed here.", "Deine Favoriten lassen sich hier nicht ändern.",
    "Aquí no se pueden cambiar tus favoritos.", "Vos favoris ne peuvent pas être modifiés ici.")
  static let damaged = Sentence(
    "Some of your favorites are damaged.", "Einige deiner Favoriten sind beschädigt.",
    "Algunos de tus favoritos están dañados.", "Certains de vos favoris sont endommagés.")
  static let repair = Sentence(
    "They can be restored from another device or a backup.",
    "Sie lassen sich von einem anderen Gerät oder aus einem Backup wiederherstellen.",
    "Se pueden recuperar de otro dispositivo o de una copia de seguridad.",
    "Ils peuvent être récupérés depuis un autre appareil ou une sauvegarde.")
  static let newer = Sentence(
    "Your favorites were saved by a newer version of this app.",
    "Deine Favoriten stammen von einer neueren Version dieser App.",
    "Tus favoritos se guardaron con una versión más reciente de esta app.",
    "Vos favoris ont été enregistrés par une version plus récente de cette app.")
  static let update = Sentence(
    "Update the app.", "Aktualisiere die App.", "Actualiza la app.", "Mettez l’app à jour.")
  static let clock = Sentence(
    "The date of this device is wrong.", "Das Datum dieses Geräts stimmt nicht.",
    "La fecha de este dispositivo no es correcta.", "La date de cet appareil est incorrecte.")
  static let setClock = Sentence(
    "Correct the date and try again.", "Stelle das Datum richtig ein und versuche es erneut.",
    "Corrige la fecha e inténtalo de nuevo.", "Corrigez la date, puis réessayez.")
  static let unsure = Sentence(
    "The last change may not have been saved.", "Die letzte Änderung wurde vielleicht nicht gesichert.",
    "Es posible que el último cambio no se haya guardado.",
    "La dernière modification n’a peut-être pas été enregistrée.")
  static let restart = Sentence(
    "Quit the app, open it again, and check.", "Beende die App, öffne sie wieder und sieh nach.",
    "Cierra la app, ábrela de nuevo y compruébalo.", "Quittez l’app, rouvrez-la et vérifiez.")
  static let failed = Sentence(
    "Something went wrong.", "Etwas ist schiefgelaufen.", "Se ha producido un error.",
    "Une erreur est survenue.")
  static let noAnswer = Sentence(
    "Your favorites could not be synced.", "Deine Favoriten konnten nicht synchronisiert werden.",
    "No se pudieron sincronizar tus favoritos.", "Vos favoris n’ont pas pu être synchronisés.")
  static let tryAgainLater = Sentence(
    "Nothing is lost. Try again later.", "Es ist nichts verloren gegangen. Versuche es später noch einmal.",
    "No se ha perdido nada. Vuelve a intentarlo más tarde.", "Rien n’est perdu. Réessayez plus tard.")
  static let otherDevices = Sentence(
    "This location has favorites from other devices.",
    "An diesem Speicherort liegen Favoriten anderer Geräte.",
    "En esta ubicación hay favoritos de otros dispositivos.",
    "Cet emplacement contient les favoris d’autres appareils.")
  static let join = Sentence(
    "If they are yours too, merge them.", "Wenn sie auch dir gehören, führe sie zusammen.",
    "Si también son tuyos, combínalos.", "Si ce sont aussi les vôtres, fusionnez-les.")
  static let stranger = Sentence(
    "This device has no access to your favorites.", "Dieses Gerät hat keinen Zugriff auf deine Favoriten.",
    "Este dispositivo no tiene acceso a tus favoritos.", "Cet appareil n’a pas accès à vos favoris.")
  static let admit = Sentence(
    "Invite it from a device that has access.", "Lade es auf einem Gerät ein, das Zugriff hat.",
    "Invítalo desde un dispositivo que lo tenga.", "Invitez-le depuis un appareil qui y a accès.")
  static let cancelled = Sentence(
    "The change was cancelled.", "Die Änderung wurde abgebrochen.", "Se canceló el cambio.",
    "La modification a été annulée.")
  static let impossible = Sentence(
    "This is not possible.", "Das ist nicht möglich.", "Esto no es posible.", "Ce n’est pas possible.")
}
