import Foundation
import Heartlog
import Observation

/// The whole program: what is on the screen, and what a key changes. It knows no terminal.
@MainActor @Observable final class Program {
  enum Mode {
    case list
    /// The detail screen of a row, from a line on, with the history of its item.
    case detail(Row, history: [String], first: Int)
    case search
    case note(Row, text: String)
    case help
  }

  /// What is selected in an app.
  struct Place {
    var pane = 0
    /// By pane. The index counts if the item is gone, or there is none.
    var rows: [Int: (index: Int, item: String?)] = [:]
  }

  var size = Frame.Size()
  private(set) var isEnded = false
  private(set) var message = ""
  private(set) var mode = Mode.list
  private(set) var current = 0
  private(set) var places: [Place]
  /// Raised by everything that a frame shows and that is not observable by itself.
  private(set) var revision = 0

  let apps: [any App]
  let store: FavoritesStore
  @ObservationIgnored private let device: Device
  /// What was undone, and the undos: `u` passes over them.
  @ObservationIgnored private var undone: Set<EventID> = []
  @ObservationIgnored private let start: CommitNumber
  @ObservationIgnored private var listening: Task<Void, Never>?

  /// - Parameter app: the app that is shown first.
  init(_ device: Device, showing app: String? = nil) throws {
    self.device = device
    store = try device.open()
    start = store.read { [replica = store.replica] in $0.head(of: replica) } ?? CommitNumber(rawValue: 0)
    apps = [
      try ArchivesApp(store), try PapersApp(store), try CitiesApp(store, clock: device.clock),
      try BreedsApp(store), try BooksApp(store, clock: device.clock), DevicesApp(store),
    ]
    places = apps.map { _ in Place() }
    if let app { current = apps.firstIndex { $0.name == app } ?? 0 }
    // What another process writes shows by itself. The models listen for themselves.
    let changes = store.changes
    listening = Task { [weak self] in
      for await notice in changes { await self?.take(notice) }
    }
  }

  /// Ends the program: everything that waits is written.
  func close() async throws {
    listening?.cancel()
    for app in apps { try await app.finishWriting() }
    try store.close()
  }

  private func take(_ notice: ChangeNotice) async {
    revision += 1
    guard case .detail(let row, _, _) = mode, let item = row.item else { return }
    if case .change(let change) = notice, !item.isItem(of: change.event) { return }
    await attempt {
      let history = try await store.history(of: item)
      // Keys may have been pressed meanwhile.
      guard case .detail(let row, _, let first) = mode, row.item?.id == item.id else { return }
      mode = .detail(row, history: history, first: first)
    }
  }

  func tick() {
    attempt { for app in apps { try app.tick() } }
    revision += 1
  }

  // MARK: - What is selected

  var app: any App { apps[current] }
  var pane: Pane { app.panes[place.pane] }
  var place: Place { places[current] }

  /// The index of the selected row, which exists unless the list is empty. The selection stays on its item when another device or
  /// process adds one above it.
  func selected(in pane: Pane) -> Int {
    guard let row = place.rows[place.pane] else { return 0 }
    let index = row.item.flatMap { id in pane.rows.firstIndex { $0.item?.id == id } } ?? row.index
    return max(0, min(index, pane.rows.count - 1))
  }

  private var row: Row? {
    let pane = pane
    return pane.rows.isEmpty ? nil : pane.rows[selected(in: pane)]
  }

  private func move(by rows: Int) {
    let pane = pane
    guard !pane.rows.isEmpty else { return }
    let index = max(0, min(selected(in: pane) + rows, pane.rows.count - 1))
    places[current].rows[place.pane] = (index, pane.rows[index].item?.id)
  }

  private func search(_ query: String) {
    app.query = query
    places[current].rows = [:]
  }

  private func movePane(by panes: Int) {
    let count = app.panes.count
    places[current].pane = (place.pane + panes + count) % count
  }

  // MARK: - Keys

  func press(_ key: Key) async {
    device.manualClock?.advance(by: 1)
    tick()
    message = ""
    await attempt {
      switch mode {
      case .list: try await pressInList(key)
      case .detail(let row, let history, let first): try await pressInDetail(key, row, history, first)
      case .search: try pressInSearch(key)
      case .note(let row, let text): try await pressInNote(key, row, text)
      case .help: mode = .list
      }
    }
    revision += 1
  }

  private func pressInList(_ key: Key) async throws {
    switch key {
    case .up, .character("k"): move(by: -1)
    case .down, .character("j"): move(by: 1)
    case .pageUp: move(by: -height)
    case .pageDown: move(by: height)
    case .left, .character("h"): movePane(by: -1)
    case .right, .character("l"): movePane(by: 1)
    case .tab: current = (current + 1) % apps.count
    case .backTab: current = (current + apps.count - 1) % apps.count
    case .escape: app.query = ""
    case .enter:
      guard let row else { return }
      if let open = row.open { take(try open()) } else { try await show(row) }
    case .character("/"): mode = .search
    case .character(let character):
      if try await pressAnywhere(key, row) { return }
      move(by: 0)
      if let action = row?.keys[character] { return take(try action()) }
      if let text = try app.press(character) { message = text }
    default: _ = try await pressAnywhere(key, row)
    }
  }

  private func pressInDetail(_ key: Key, _ row: Row, _ history: [String], _ first: Int) async throws {
    switch key {
    case .escape, .left, .backspace: mode = .list
    case .up, .character("k"): mode = .detail(row, history: history, first: max(0, first - 1))
    case .down, .character("j"):
      let lines = detail(row, history).count
      mode = .detail(row, history: history, first: min(first + 1, max(0, lines - height)))
    case .character("n"):
      guard let item = row.item else { return }
      mode = .note(row, text: item.library.note(of: item.id) ?? "")
    default:
      if try await pressAnywhere(key, row), case .detail = mode { try await show(row, first: first) }
    }
  }

  private func pressInSearch(_ key: Key) throws {
    switch key {
    case .enter:
      mode = .list
      try app.didSearch()
    case .escape:
      app.query = ""
      mode = .list
    case .backspace: search(String(app.query.dropLast()))
    case .character(let character): search(app.query + String(character))
    case .interrupt: isEnded = true
    case .up: move(by: -1)
    case .down: move(by: 1)
    default: break
    }
  }

  private func pressInNote(_ key: Key, _ row: Row, _ text: String) async throws {
    switch key {
    case .enter:
      if let item = row.item {
        try await store.async.write { try item.library.setNote(text.isEmpty ? nil : text, of: item.id) }
      }
      try await show(row)
    case .escape: try await show(row)
    case .backspace: mode = .note(row, text: String(text.dropLast()))
    case .character(let character): mode = .note(row, text: text + String(character))
    case .interrupt: isEnded = true
    default: break
    }
  }

  /// - Returns: whether the key means something in lists and in details.
  private func pressAnywhere(_ key: Key, _ row: Row?) async throws -> Bool {
    switch key {
    case .character("q"), .interrupt: isEnded = true
    case .character("?"): mode = .help
    case .character("u"): try await undo()
    case .character("s"): try await sync()
    case .character(" "):
      guard let row, row.heart != nil else { return false }
      move(by: 0)
      try app.toggle(row)
      // The heart shows already; the message waits for the disk.
      try await app.finishWriting()
      message = "\(row.item?.isFavorite == true ? "♥" : "♡") \(row.text)"
    default: return false
    }
    return true
  }

  // MARK: - Actions

  private func take(_ outcome: Outcome) {
    switch outcome {
    case .pane(let index): places[current].pane = index
    case .message(let text): message = text
    }
  }

  private func show(_ row: Row, first: Int = 0) async throws {
    guard let item = row.item else { return }
    mode = .detail(row, history: try await store.history(of: item), first: first)
  }

  private func undo() async throws {
    let events = try await store.lastAction(after: start, but: undone)
    guard !events.isEmpty else { return message = "Nothing to undo." }
    let plan = try await store.async.undo(.events(events))
    undone.formUnion(events + plan.events)
    let items = Set(plan.writes.map { "\($0.library) \($0.item)" }).sorted().joined(separator: ", ")
    message =
      plan.writes.isEmpty ? "Nothing to undo: it was changed again since." : "Undone: \(items)"
  }

  private func sync() async throws {
    guard let peer = device.peer else { return message = "There is no second device: start with --peer DIR." }
    message = "Syncing…"
    let report = try await device.sync(store, with: peer)
    let conflicts = store.conflicts.count
    message =
      "Synced with \(report.peerName ?? peer): \(report.received.commits) commits received, "
      + "\(report.sent.commits) sent; \(conflicts == 0 ? "no" : "\(conflicts)") open conflict\(conflicts == 1 ? "" : "s")"
  }

  private func attempt(_ body: () async throws -> Void) async {
    do { try await body() } catch { message = "⚠ \(error)" }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { message = "⚠ \(error)" }
  }
}
