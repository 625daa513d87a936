import Foundation

/// The arguments of the command line.
struct Arguments {
  static let apps = ["archives", "papers", "cities", "breeds", "books", "devices"]

  /// The app that is shown first.
  private(set) var app: String?
  /// The path of the store; a new one in the temporary folder if `nil`.
  private(set) var store: String?
  private(set) var peer: String?
  private(set) var name = "phone"
  private(set) var now: Date?
  /// Pressed in place of the keys of a terminal.
  private(set) var keys: [Key]?
  private(set) var wantsHelp = false

  static let usage = """
    heartlog-example [APP] [--store DIR] [--peer DIR] [--keys KEYS]

    Five small apps over one store: archives, papers, cities, breeds and books; "devices" syncs. The key ? lists the keys.

    --store DIR   the store; without it, a new one in the temporary folder
    --peer DIR    the store of a second device, which s syncs with; created if it is new
    --name NAME   the name of this device if the store is new: phone
    --keys KEYS   presses these keys without a terminal, and prints the last screen: "/ porto enter space down esc"
    --now TIME    stops the clock, which each key then moves by a second, and makes all ids reproducible, for tests

    Run it in the folder of the package.
    """

  init(_ words: some Sequence<String>) throws(UsageError) {
    var words = words.makeIterator()
    func value(of option: String) throws(UsageError) -> String {
      guard let value = words.next() else { throw UsageError("\(option) needs a value") }
      return value
    }
    while let word = words.next() {
      switch word {
      case "--help", "-h": wantsHelp = true
      case "--store": store = try value(of: word)
      case "--peer": peer = try value(of: word)
      case "--name": name = try value(of: word)
      case "--keys": keys = Key.script(try value(of: word))
      case "--now":
        let text = try value(of: word)
        guard let date = try? Date(text, strategy: .iso8601) else {
          throw UsageError("\"\(text)\" is no time as 2026-03-02T08:00:00Z")
        }
        now = date
      default:
        guard Self.apps.contains(word), app == nil else {
          throw UsageError("there is no app \"\(word)\"; there are \(Self.apps.joined(separator: ", "))")
        }
        app = word
      }
    }
  }
}

struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
