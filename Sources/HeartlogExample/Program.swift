import Foundation
import Heartlog

/// The whole program: a command changes the store or prints what it holds. It knows no terminal.
@MainActor final class Program {
  nonisolated static let apps = ["archives", "papers", "cities", "breeds", "books"]

  let store: FavoritesStore
  private let device: Device
  private let apps: [App]
  private var app: App
  /// The rows that were printed last, by whose numbers commands name them.
  private var shown: [Row] = []
  private(set) var isEnded = false
  private let output: (String) -> Void
  private var listening: Task<Void, Never>?

  /// - Parameters:
  ///   - app: the app that is shown first.
  ///   - output: prints a line.
  init(_ device: Device, showing app: String? = nil, output: @escaping (String) -> Void) throws {
    self.device = device
    self.output = output
    store = try device.open()
    apps = [
      try .archives(store), try .papers(store), try .cities(store), try .breeds(store),
      try .books(store, clock: device.clock),
    ]
    self.app = apps.first { $0.name == app } ?? apps[0]
    let changes = store.changes
    listening = Task { [weak self] in
      for await notice in changes { self?.report(notice) }
    }
    try show(self.app.lists[0].value, "")
  }

  func close() throws {
    listening?.cancel()
    try store.close()
  }

  /// Prints what another program or device has done, as soon as it is in the store.
  private func report(_ notice: ChangeNotice) {
    guard case .change(let change) = notice,
      change.id.replica != store.replica || change.origin != Device.origin
    else { return }
    let mark = change.event.action.isFavorite.map { $0 ? "♥" : "♡" } ?? "·"
    let title = store.title(of: change.event.item, in: change.event.library)
    say("\(mark) \(change.event.library): \(title)  by \(change.origin ?? "another program")")
  }

  // MARK: - Commands

  static let help = """
    LIST [TEXT]     a list of the app, or its rows that contain a text
    APP             another app: \(apps.joined(separator: ", "))
    tap N           makes row N a favorite, or removes it
    open N          its item: since when, its note, its history
    note N [TEXT]   sets its note, or removes it
    undo            undoes the last commit of this device, which may be an undo
    quit
    """

  func run(_ line: String) async {
    device.manualClock?.advance(by: 1)
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    guard let name = words.first else { return }
    do { try await run(name, words.dropFirst().first ?? "") } catch { say("⚠ \(error)") }
  }

  private func run(_ name: String, _ argument: String) async throws {
    if let other = apps.first(where: { $0.name == name }) {
      app = other
      return try show(other.lists[0].value, argument)
    }
    if let list = app.lists.first(where: { $0.key == name }) { return try show(list.value, argument) }
    if let command = app.commands[name] { return say(try await command(argument)) }
    switch name {
    case "help":
      say(Self.help)
      let others = Set(shown.flatMap(\.commands.keys)).subtracting(["tap"]).sorted().map { "\($0) N" }
      let here = app.lists.map(\.key) + app.commands.keys.sorted() + others
      say("Here: \(here.joined(separator: ", "))")
    case "undo": try await undo()
    case "quit": isEnded = true
    default: try await run(name, onRow: argument)
    }
  }

  private func run(_ name: String, onRow argument: String) async throws {
    let words = argument.split(separator: " ", maxSplits: 1).map(String.init)
    guard let number = words.first.flatMap({ Int($0) }), shown.indices.contains(number - 1) else {
      throw UsageError("\"\(name)\" is no command here, or there is no such row; see \"help\"")
    }
    let row = shown[number - 1]
    let rest = words.dropFirst().first ?? ""
    if let command = row.commands[name] { return say(try await command(rest)) }
    guard let item = row.item, ["open", "note"].contains(name) else {
      throw UsageError("row \(number) has no command \"\(name)\"; see \"help\"")
    }
    if name == "note" {
      try await store.write { try item.library.setNote(rest.isEmpty ? nil : rest, of: item.id) }
    }
    try await open(row, item)
  }

  private func show(_ list: (String) throws -> [Row], _ text: String) throws {
    shown = try list(text)
    if shown.isEmpty { say("Nothing here.") }
    for (index, row) in shown.prefix(50).enumerated() { say("\(index + 1)  \(row.line)") }
    if shown.count > 50 {
      say("… and \(shown.count - 50) more: a text behind the name of the list finds them")
    }
  }

  private func open(_ row: Row, _ item: ItemReference) async throws {
    let since = item.library.item(item.id)?.favoritedDate.map { "since \(Date(milliseconds: $0).minute)" }
    for line in ["\(row.text)  \(item.id)"] + row.detail { say(line) }
    say("Favorite: \(since ?? "no")")
    say("Note: \(item.library.note(of: item.id) ?? "none")")
    for line in try await store.history(of: item) { say(line) }
  }

  private func undo() async throws {
    let plan = try await store.run { try $0.undo(.lastCommits(1)) }
    let items = Set(plan.writes.map { "\($0.library) \($0.item)" }).sorted().joined(separator: ", ")
    say(plan.writes.isEmpty ? "Nothing to undo." : "Undone: \(items)")
  }

  /// Prints lines, without characters that control a terminal or the direction of writing: a title comes from a service.
  private func say(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let scalars = line.unicodeScalars.map { scalar in
        [.control, .format].contains(scalar.properties.generalCategory) ? " " : scalar
      }
      output(String(String.UnicodeScalarView(scalars)))
    }
  }
}

extension FavoritesStore {
  /// What was ever done to an item, newest first: one line for each event.
  @concurrent
  func history(of item: ItemReference) async throws(HeartlogError) -> [String] {
    let names = Dictionary(uniqueKeysWithValues: devices.map { ($0.replica, $0.name) })
    return try item.library.history(of: item.id).reversed().map { change in
      let isFavorite = change.event.action.isFavorite
      let fields = isFavorite == nil ? change.event.fields.map(\.name).joined(separator: ", ") : ""
      return [
        change.date.minute, isFavorite.map { $0 ? "♥" : "♡" } ?? "·",
        names[change.id.replica] ?? "?", change.origin ?? "", fields,
      ].joined(separator: "  ")
    }
  }

  /// The title of an item, or its name; else its id.
  func title(of id: String, in library: String) -> String {
    let item = read { $0.item(id, in: library) }
    if case .string(let title)? = item?.value(of: "title") ?? item?.value(of: "name") { return title }
    return id
  }
}
