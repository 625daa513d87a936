/// The arguments of the command line.
struct Arguments {
  /// The apps, in the order in which they were named; all of them if none was.
  private(set) var stories: [any Story.Type] = []
  /// The path of the store; a new one in the temporary folder if `nil`.
  private(set) var store: String?
  private(set) var wantsHelp = false

  static var all: [any Story.Type] {
    [ArchivesStory.self, PapersStory.self, CitiesStory.self, BreedsStory.self, BooksStory.self]
  }

  static let usage = """
    heartlog-example [APP …] [--store DIR]

    Plays what five small apps do with their favorites, all in one store, and prints what their screens show.
    APP is archives, papers, cities, breeds or books; all of them where none is named. Without --store a new
    store is made in the temporary folder, and left there to look into. Run it in the folder of the package.
    """

  init(_ words: some Sequence<String>) throws(UsageError) {
    var words = words.makeIterator()
    while let word = words.next() {
      switch word {
      case "--help", "-h": wantsHelp = true
      case "--store":
        guard let folder = words.next() else { throw UsageError("--store needs a folder") }
        store = folder
      default:
        guard let story = Self.all.first(where: { $0.name == word }) else {
          throw UsageError(
            "there is no app \"\(word)\"; there are \(Self.all.map { $0.name }.joined(separator: ", "))")
        }
        stories.append(story)
      }
    }
    if stories.isEmpty { stories = Self.all }
  }
}

struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
