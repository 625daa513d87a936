internal import Heartlog
import HeartlogFormat

/// The page as one file with its data in it: "inspect" in docs/cli.md. Page/file.js reads it.
///
/// The element `heartlog-data` has base64 of the length of the data (4 bytes, little endian) and one LZ4 block. The data is a JSON object:
///
/// - `header`, `libraries`, and `answers`: what commands printed, by their words joined with spaces.
/// - `replicas` and `names`: the devices, in the order of `status`; `firstSequences` if a stream does not begin at event 1.
/// - `origins`, `libraryNames`, `items` (`[library, "id"]`), `texts` (names of fields): what the columns refer to by index.
/// - `commits`: columns, one element a commit in the order of the log. `number` is the difference from the commit before of the same
///   replica; `wall` and `stamp`, in milliseconds, from the commit before; `counter` is the rest of the stamp; `events` a count; `heads` an
///   object, by commit, of replica and number in turns.
/// - `events`: columns, one element an event. `item` is -1 for an event that names none, or that is of a library that is left out; `action` a
///   text of one letter each; `date` in milliseconds after the commit's wall time, or null; `fields` null, or name and value in turns, the
///   name as -1 - index if the write is quiet.
/// - `others`: by event, what `log --json` prints and no column has. `marks`: those of the band, by commit.
package struct InspectorFile {
  /// A column of a table: the text of a JSON array, without its brackets.
  private struct Column {
    private(set) var text: [UInt8] = []

    mutating func append(_ value: (inout JSONWriter) -> Void) {
      var writer = JSONWriter()
      value(&writer)
      append(json: writer.bytes)
    }

    mutating func append(json: [UInt8]) {
      if !text.isEmpty { text.append(UInt8(ascii: ",")) }
      text += json
    }

    mutating func append(_ number: some BinaryInteger) { append(json: Array("\(number)".utf8)) }
  }

  /// Numbers texts in the order in which they come.
  private struct Names {
    private(set) var all: [String] = []
    private var places: [UTF8Key: Int] = [:]

    mutating func place(of name: String) -> Int {
      let key = UTF8Key(name)
      if let place = places[key] { return place }
      places[key] = all.count
      all.append(name)
      return all.count - 1
    }
  }

  /// What the file is of.
  package struct Scope {
    /// A moment as WHEN; nil for now.
    var moment: String?
    var library: String?
    /// Whether a commit belongs to the moment, by its position and its time in the log.
    var contains: (CommitPosition, Milliseconds) -> Bool
    /// When the file is made.
    var now: Milliseconds

    package init(
      moment: String?, library: String?, now: Milliseconds,
      contains: @escaping (CommitPosition, Milliseconds) -> Bool
    ) {
      (self.moment, self.library, self.now, self.contains) = (moment, library, now, contains)
    }
  }

  private let store: InspectedStore
  private let scope: Scope
  private var answers = Column()
  private var replicas: [String] = []
  private var replicaNames: [String] = []
  private var digest = ""

  /// Reads a store.
  ///
  /// - Returns: The file, and the damage that was found.
  package static func make(of store: InspectedStore, _ scope: Scope) throws -> (
    page: [UInt8], findings: [Finding]
  ) {
    var file = InspectorFile(store: store, scope: scope)
    try file.ask()
    let (log, findings) = try file.log()
    return (try page(with: file.data(log)), findings)
  }

  private init(store: InspectedStore, scope: Scope) {
    self.store = store
    self.scope = scope
  }

  // MARK: Answers

  /// Keeps what commands say that the page cannot derive from events.
  private mutating func ask() throws {
    let at = scope.moment.map { ["--at", $0] } ?? []
    let status = store.run(["status"] + at)
    let json = try JSONValue.parse(status.lines)
    for replica in json["replicas"]?.array ?? [] {
      replicas.append(replica["id"]?.string ?? "")
      replicaNames.append(replica["name"]?.string ?? "")
    }
    digest = json["digest"]?.string ?? ""
    keep(of(scope.library, status, json), of: ["status"])
    for words in [
      ["devices"], ["devices", "--keys"], ["devices", "forks"], ["devices", "schemas"], ["verify"],
      ["doctor"], ["places"],
    ] { keep(store.run(words), of: words) }
  }

  /// The status without the names of other libraries.
  private func of(_ library: String?, _ status: InspectedStore.Answer, _ json: JSONValue)
    -> InspectedStore.Answer
  {
    guard let library, case .object(let members) = json else { return status }
    let kept = members.map { member -> JSONMember in
      guard member.name == "libraries", let libraries = member.value.array else { return member }
      return JSONMember(
        member.name,
        .array(libraries.filter { $0["name"]?.string.map { $0.hasSameBytes(as: library) } ?? false }))
    }
    return InspectedStore.Answer(
      exitCode: status.exitCode, lines: Self.json { $0.value(JSONValue.object(kept)) },
      message: status.message)
  }

  private mutating func keep(_ answer: InspectedStore.Answer, of words: [String]) {
    let lines = answer.lines.split(separator: UInt8(ascii: "\n")).joined(separator: [UInt8(ascii: ",")])
    let message = Self.json { $0.value(answer.message) }
    answers.append(
      json: Self.json { $0.value(words.joined(separator: " ")) }
        + Array(":{\"exit\":\(answer.exitCode),\"lines\":[".utf8)
        + Array(lines) + Array("],\"error\":".utf8) + message + [UInt8(ascii: "}")])
  }

  private static func json(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    write(&writer)
    return writer.bytes
  }

  private static func list(_ texts: [String]) -> [UInt8] {
    json { writer in
      writer.beginArray()
      for text in texts { writer.value(text) }
      writer.endArray()
    }
  }

  // MARK: The log

  /// Reads the commits of the scope into columns: a member of the data for each.
  private func log() throws -> (members: [(name: String, json: [UInt8])], findings: [Finding]) {
    let places = Dictionary(uniqueKeysWithValues: replicas.enumerated().map { ($1, $0) })
    var names = (origins: Names(), libraries: Names(), fields: Names())
    var items: [ItemKey: Int] = [:]
    var itemColumn = Column()
    var commits: [(name: String, column: Column)] =
      ["replica", "number", "wall", "stamp", "counter", "origin", "events"].map { ($0, Column()) }
    var heads = Column()
    var actions: [UInt8] = []
    var (itemOfEvent, dates, fields, others) = (Column(), Column(), Column(), Column())
    var numbers = [UInt64](repeating: 0, count: replicas.count)
    var firstSequences = [UInt64](repeating: 1, count: replicas.count)
    var (wall, stamp): (Milliseconds, Milliseconds) = (0, 0)
    var history = History()
    let reader = try LogReader(at: store.path)

    func appendEvent(_ record: EventRecord, of commit: Commit) {
      var other: [UInt8] = []
      var (item, action, date, written): (Int, String, [UInt8], [UInt8]) = (
        -1, "x", Array("null".utf8), Array("null".utf8)
      )
      switch record {
      case .event(let event):
        guard scope.library.map({ $0.hasSameBytes(as: event.library) }) ?? true else { break }
        let library = names.libraries.place(of: event.library)
        let key = ItemKey(library: library, id: UTF8Key(event.item))
        item = items[key] ?? items.count
        if items[key] == nil {
          items[key] = item
          itemColumn.append { writer in
            writer.beginArray()
            writer.value(library)
            writer.value(event.item)
            writer.endArray()
          }
        }
        action = Self.letter(event.action)
        if let favorited = event.favoritedDate { date = Array("\(favorited - commit.wallTime)".utf8) }
        if !event.fields.isEmpty {
          written = Self.json { writer in
            writer.beginArray()
            for field in event.fields {
              let name = names.fields.place(of: field.name)
              writer.value(field.isQuiet ? -1 - name : name)
              writer.value(field.value)
            }
            writer.endArray()
          }
        }
        if !event.unknownMembers.isEmpty {
          other = Self.json { writer in
            writer.beginObject()
            writer.name("members")
            writer.beginArray()
            for member in event.unknownMembers {
              writer.beginObject()
              writer.member("tag", member.tag)
              writer.member("bytes", Hexadecimal.text(member.bytes))
              writer.endObject()
            }
            writer.endArray()
            writer.endObject()
          }
        }
      case .withheld(let hash): other = Self.json { $0.object { $0.member("withheld", "\(hash)") } }
      case .unknown(let kind, let bytes):
        other = Self.json { writer in
          writer.object { writer in
            if let erased = record.erasedEvents { writer.member("erases", erased.count) }
            writer.member("unknownKind", kind)
            writer.member("bytes", Hexadecimal.text(bytes))
          }
        }
      }
      if !other.isEmpty { others.append(json: Array("\"\(actions.count)\":".utf8) + other) }
      actions += action.utf8
      itemOfEvent.append(item)
      dates.append(json: date)
      fields.append(json: written)
    }

    try reader.forEachCommit(where: scope.contains) { commit in
      guard let place = places["\(commit.replica)"] else { return }
      let number = commit.number.rawValue
      if numbers[place] == 0 { firstSequences[place] = commit.firstSequence.rawValue }
      if !commit.heads.isEmpty {
        let known = commit.heads.compactMap { head in places["\(head.replica)"].map { "\($0),\(head.commit)" }
        }
        heads.append(json: Array("\"\(history.count)\":[\(known.joined(separator: ","))]".utf8))
      }
      let values: [Int64] = [
        Int64(place), Int64(number - numbers[place]), commit.wallTime - wall,
        commit.stamp.milliseconds - stamp,
        Int64(commit.stamp.rawValue & 0xFFFF), Int64(names.origins.place(of: commit.origin ?? "")),
        Int64(commit.eventCount),
      ]
      for (index, value) in values.enumerated() { commits[index].column.append(value) }
      (numbers[place], wall, stamp) = (number, commit.wallTime, commit.stamp.milliseconds)
      _ = history.append(commit) { _ in false }
      for record in commit.records { appendEvent(record, of: commit) }
    }

    let marked =
      try store.conflicts().compactMap { history.commit(of: $0) }.map { (History.Mark.conflict, $0) }
      + reader.findings.compactMap { history.commit(before: $0) }.map { (History.Mark.loss, $0) }
      + history.marks
    var marks = Column()
    for (kind, commit) in marked {
      marks.append(json: Array("{\"kind\":\"\(kind.rawValue)\",\"commit\":\(commit)}".utf8))
    }
    var members: [(name: String, json: [UInt8])] = [
      ("origins", Self.list(names.origins.all)), ("libraryNames", Self.list(names.libraries.all)),
      ("items", Self.array(itemColumn)), ("texts", Self.list(names.fields.all)),
      (
        "commits",
        Self.object(commits.map { ($0.name, Self.array($0.column)) } + [("heads", Self.object(heads))])
      ),
      (
        "events",
        Self.object([
          ("item", Self.array(itemOfEvent)), ("action", Array("\"".utf8) + actions + Array("\"".utf8)),
          ("date", Self.array(dates)), ("fields", Self.array(fields)),
        ])
      ),
      ("others", Self.object(others)), ("marks", Self.array(marks)),
    ]
    if firstSequences.contains(where: { $0 != 1 }) {
      members.append(
        ("firstSequences", Array("[\(firstSequences.map(String.init).joined(separator: ","))]".utf8)))
    }
    return (members, reader.findings)
  }

  private struct ItemKey: Hashable {
    let library: Int
    let id: UTF8Key
  }

  private static func letter(_ action: Action) -> String {
    switch action {
    case .added: "a"
    case .removed: "r"
    case .toggled(on: true): "t"
    case .toggled(on: false): "u"
    case .changed: "c"
    }
  }

  private static func array(_ column: Column) -> [UInt8] {
    [UInt8(ascii: "[")] + column.text + [UInt8(ascii: "]")]
  }

  private static func object(_ column: Column) -> [UInt8] {
    [UInt8(ascii: "{")] + column.text + [UInt8(ascii: "}")]
  }

  private static func object(_ members: [(name: String, json: [UInt8])]) -> [UInt8] {
    var column = Column()
    for (name, text) in members { column.append(json: Array("\"\(name)\":".utf8) + text) }
    return object(column)
  }

  // MARK: The page

  private func data(_ log: [(name: String, json: [UInt8])]) -> [UInt8] {
    let header = Self.json { writer in
      writer.object { writer in
        writer.member("madeAt", RFC3339.text(scope.now))
        writer.member("heartlog", store.version)
        writer.member("store", store.path)
        writer.member("digest", digest)
        if let moment = scope.moment { writer.member("at", moment) }
        if let library = scope.library { writer.member("library", library) }
      }
    }
    return Self.object(
      [
        ("header", header), ("libraries", store.libraries), ("answers", Self.object(answers)),
        ("replicas", Self.list(replicas)), ("names", Self.list(replicaNames)),
      ] + log)
  }

  private static func page(with data: [UInt8]) throws -> [UInt8] {
    guard let packed = data.withUnsafeBytes({ LZ4.HighCompressor().compress($0) }) else {
      throw HeartlogError(.invalid, "\(data.count) bytes of data could not be compressed")
    }
    let count = withUnsafeBytes(of: UInt32(data.count).littleEndian) { Array($0) }
    return InspectorPage.file(data: Base64.text(count + packed))
  }
}

extension JSONWriter {
  fileprivate mutating func object(_ members: (inout JSONWriter) -> Void) {
    beginObject()
    members(&self)
    endObject()
  }
}
