import Heartlog

/// The command line of `heartlog-hub`: "Operating it" in docs/hub.md.
struct HubArguments {
  var listen: String?
  var data: String?
  var database: String?
  var names: [String] = []
  var invitations: String?
  var certificate: String?
  var key: String?
  var quota = 1 << 30
  var rate = 1_000
  /// A vault to remove.
  var reset: String?
  var wantsHelp = false

  static let help = """
    Usage: heartlog-hub --listen HOST:PORT (--data DIR | --database ADDRESS) [OPTION]…
           heartlog-hub --reset VAULT (--data DIR | --database ADDRESS)

    Keeps the objects of Heartlog's vaults, and serves them to devices over HTTP.

      --listen HOST:PORT     an address of this machine and a port; port 0 takes a free one
      --data DIR             the directory that keeps everything; created if there is none
      --database ADDRESS     a PostgreSQL database that keeps everything, as psql takes it: postgresql://…
      --name HOST            a name of this hub, again for each; others are refused. Needed unless only this machine
                             reaches it
      --invitations FILE     words, one a line, that each allow one new vault; without it, anybody may create one
      --certificate FILE     a certificate with its chain, in PEM, to serve HTTPS
      --key FILE             its key, in PEM
      --quota BYTES          the most bytes of objects of one vault (1073741824)
      --rate REQUESTS        the most requests of one address in a second (1000)
      --reset VAULT          removes a vault with its keys and objects, and ends; its devices put them again
      --help                 this text

    The first line of standard output is "listening on http://HOST:PORT". SIGTERM and SIGINT end it.

    """

  struct Failure: Error {
    let sentence: String
  }

  init(_ words: [String]) throws(Failure) {
    var rest = words[...]
    while let word = rest.popFirst() {
      var option = word
      var value: String?
      if let equals = word.firstIndex(of: "="), word.hasPrefix("--") {
        option = String(word[..<equals])
        value = String(word[word.index(after: equals)...])
      }
      func argument() throws(Failure) -> String {
        guard let found = value ?? rest.popFirst(), !found.isEmpty else {
          throw Failure(sentence: "\(option) takes a value")
        }
        return found
      }
      func number() throws(Failure) -> Int {
        let text = try argument()
        guard let number = Int(text), number > 0 else {
          throw Failure(sentence: "\(option) takes a positive number, not \"\(text)\"")
        }
        return number
      }
      switch option {
      case "--help", "-h": wantsHelp = true
      case "--listen": listen = try argument()
      case "--data": data = try argument()
      case "--database": database = try argument()
      case "--name": names.append(try argument())
      case "--invitations": invitations = try argument()
      case "--certificate": certificate = try argument()
      case "--key": key = try argument()
      case "--quota": quota = try number()
      case "--rate": rate = try number()
      case "--reset": reset = try argument()
      default: throw Failure(sentence: "\"\(word)\" is no option")
      }
    }
    if wantsHelp { return }
    guard listen != nil || reset != nil else { throw Failure(sentence: "--listen is missing") }
    guard (data == nil) != (database == nil) else {
      throw Failure(
        sentence: data == nil ? "--data or --database is missing" : "--data and --database exclude each other"
      )
    }
    guard (certificate == nil) == (key == nil) else {
      throw Failure(sentence: "--certificate and --key go together")
    }
  }
}
