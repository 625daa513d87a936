import Heartlog
import HeartlogFiles
import HeartlogFormat
import HeartlogSync

/// The places with which a store has synced. Source: docs/format.md, `keys/known`.
enum KnownPlaces {
  private static let fileName = "known"

  static func all(of store: FavoritesStore) throws -> [Peer] {
    let text = String(decoding: try store.log.keyFile(fileName) ?? [], as: UTF8.self)
    var places: [Peer] = []
    // A line that a later version wrote is no place for this one.
    for line in text.split(separator: "\n") {
      guard let json = try? JSONValue.parse(Array(line.utf8)), let text = json["place"]?.string,
        let place = try? Peer(
          text, endpoint: json["endpoint"]?.string, isInsecure: json["isInsecure"] != nil),
        try place.remembered != nil, !places.contains(place)
      else { continue }
      places.append(place)
    }
    return places
  }

  /// Remembers a place, unless it is known or is none.
  static func add(_ peer: Peer, to store: FavoritesStore) throws {
    guard let place = try peer.remembered else { return }
    let known = try all(of: store)
    if !known.contains(place) { try write(known.filter { $0.text != place.text } + [place], to: store) }
  }

  /// Forgets the places of a name.
  ///
  /// - Returns: Whether there was one.
  static func remove(_ text: String, from store: FavoritesStore) throws -> Bool {
    let known = try all(of: store)
    let left = known.filter { $0.text != text }
    if left.count < known.count { try write(left, to: store) }
    return left.count < known.count
  }

  private static func write(_ places: [Peer], to store: FavoritesStore) throws {
    let bytes = places.flatMap { $0.json.bytes + [UInt8(ascii: "\n")] }
    try store.replaceKeyFile(fileName, with: bytes)
  }
}

extension Peer {
  /// The place as any command names it, wherever it runs. `nil` for the directory of a store and a command, which are none.
  var remembered: Peer? {
    get throws {
      switch address {
      case .store, .command: return nil
      case .folder(let path):
        guard let absolute = realpath(path, nil) else { return self }
        defer { free(absolute) }
        return try Peer("folder:\(String(cString: absolute))")
      // Of the vault of the store, whichever that is.
      case .hub(let address): return try Peer(address.base)
      case .ssh, .storage: return self
      }
    }
  }

  var json: JSONObject {
    ["place": text, "endpoint?": endpoint, "isInsecure?": isInsecure ? true : nil]
  }
}

/// `heartlog places`: lists and forgets the places that the store knows.
enum PlacesCommand: Command {
  private static let action = Argument(
    "ACTION", .optional, .choice(["list", "forget"]), "\"list\" is what happens if it is not given.")
  private static let place = Argument("PLACE", .optional, .text, "The place to forget, as the list shows it.")

  static let description = CommandDescription(
    name: "places", group: .devices, summary: "list the places that sync knows, and forget them",
    arguments: [action, place],
    page: #"""
      A folder, a hub, storage or another machine with which this store has synced is remembered, so that "heartlog sync" alone syncs with all
      of them, and "heartlog sync --watch" watches them all.

      heartlog places  # List them.
      heartlog places forget davs://cloud.example.org/anna  # Sync with it no more.

      Exit code 1: There are none, or none of this name.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let forgotten = arguments.optionalText(Self.place)
    guard (arguments.optionalText(Self.action) == "forget") == (forgotten != nil) else {
      throw misused(forgotten == nil ? "places forget needs a PLACE" : "places list takes no PLACE")
    }
    guard let forgotten else {
      let known = try KnownPlaces.all(of: try context.openForReading())
      let lines = known.map { place in
        DisplayText.visible(
          [place.text, place.endpoint.map { "at \($0)" }].compactMap(\.self).joined(separator: " "))
      }
      _ = try context.show(known.map(\.json), lines, findings: [])
      return known.isEmpty ? .no : .success
    }
    let store = try context.openForWriting(endsSoon: true)
    let wasKnown = try KnownPlaces.remove(forgotten, from: store)
    guard wasKnown else {
      throw CommandError(
        .no, "this store knows no place \(Quoted(forgotten))", hint: "\"heartlog places\" lists them.")
    }
    return try context.close(store)
  }
}

/// `heartlog invite`: makes an invitation.
enum InviteCommand: Command {
  private static let place = Argument(
    "PLACE", .optional, .peer,
    "Where the device will sync: folder:DIR, https://host, davs://host/path or s3://bucket. If it is not given, the place that this store knows."
  )
  private static let hours = Option.value("hours", "N", .count, "How long it is good. Default: 24.")
  private static let revoke = Option.flag("revoke", "Withdraw the invitations that nobody has used.")

  static let description = CommandDescription(
    name: "invite", group: .devices, summary: "print one line that lets another device in",
    arguments: [place], options: [hours, revoke, SyncCommand.endpoint, SyncCommand.insecure],
    page: #"""
      The line names the place and the vault. For a vault that is encrypted, and at a hub, it contains a key that admits one device, once.
      Send it as you would send a password; on the other device, "heartlog join" takes it. The two need not be online at the same time. On a
      terminal, it is shown as a QR code, too.

      An invitation is void once it was used, when its time is over, after "invite --revoke", and after "keys rotate". If two devices use
      it, neither gets in, and the key of the vault is changed.

      heartlog invite  # Invite a device to the place that this store knows.
      heartlog invite davs://cloud.example.org/anna --hours 1  # To another one, for an hour.
      heartlog invite --revoke  # Withdraw what was not used.

      Exit code 1: This device is no member of the vault, or there was no invitation to withdraw.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let named = try Peer(arguments, Self.place)
    let revokes = arguments.has(Self.revoke)
    let hours = arguments.count(Self.hours) ?? 24
    guard 1...8_784 ~= hours else { throw misused("an invitation is good for 1 to 8784 hours") }
    try arguments.refuse(Self.revoke, with: Self.hours)
    let store = try context.openForWriting(endsSoon: true)
    let place = try named ?? known(of: store)
    let peer = try place.remembered ?? place
    if let warning = peer.address.warning { context.warn(warning) }
    do {
      let carrier = try peer.address.carrier(context, endsSoon: true)
      if revokes {
        let count = try store.withdrawInvitations(at: carrier)
        try context.show(["withdrawn": count], ["\(Quantity.count(count, "invitation")) withdrawn"])
        return try count == 0 ? .no : context.close(store)
      }
      let line = try store.invitation(to: carrier, goodForSeconds: hours * 3_600)
      try KnownPlaces.add(peer, to: store)
      let hasKey = try Invitation(text: line).key != nil
      let code = context.output.standard.isTerminal ? QRCode(line)?.lines ?? [] : []
      try context.show(
        ["invitation": line, "isOnce": hasKey, "hours?": hasKey ? hours : nil], code + [line])
      try context.output.flush()
      if !context.isJSON {
        context.output.errorLine(
          hasKey
            ? "good for one device, for \(Quantity.count(hours, "hour")): \"heartlog join -\" takes it there"
            : "\"heartlog join -\" takes it on another device; whoever can read the place needs no invitation, because it is not encrypted"
        )
      }
      return try context.close(store)
    } catch let error as HeartlogError { throw SyncRun.shown(error) }
  }

  /// The one place that a store knows to which a device can be invited.
  private static func known(of store: FavoritesStore) throws -> Peer {
    let known = try KnownPlaces.all(of: store).filter(\.address.isPlace)
    guard let only = known.first, known.count == 1 else {
      throw CommandError.usage(
        known.isEmpty
          ? "this store knows no place to invite a device to" : "this store knows \(known.count) places",
        hint: "Name one: \"heartlog invite PLACE\".")
    }
    return only
  }
}

/// `heartlog join`: joins the vault of an invitation.
enum JoinCommand: Command {
  private static let line = Argument(
    "LINE", form: "LINE|-", .required, .text,
    "What \"heartlog invite\" printed; \"-\" reads it from standard input.")
  private static let place = Argument(
    "PLACE", .optional, .peer, "The folder as this device names it, if its path is another one here.")

  static let description = CommandDescription(
    name: "join", group: .devices, summary: "join the vault of an invitation, and sync",
    arguments: [line, place], options: [.join, SyncCommand.insecure],
    page: #"""
      Does everything that a new device needs: creates the store if there is none, takes the key, syncs with the place, and remembers it, so that
      "heartlog sync" alone syncs from then on. With "-", the line gets into no shell's history.

      heartlog join -  # Read the line from the terminal.
      heartlog join - folder:Dropbox/heartlog  # The same, where the folder has another path.

      Exit code 1: The invitation was used or withdrawn, or its time is over.
      Exit code 64: The line is not whole.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let text = arguments.text(Self.line)
    let place = arguments.optionalText(Self.place)
    let line = text == "-" ? try SecretPrompt.read("invitation", context) : text
    let invitation: Invitation
    do throws(MalformedError) { invitation = try Invitation(text: line) } catch {
      throw CommandError.usage(error.description)
    }
    let peer = try Peer(
      place ?? invitation.place, endpoint: invitation.endpoint,
      isInsecure: arguments.has(SyncCommand.insecure))
    guard peer.address.isPlace else {
      throw CommandError.usage(
        "an invitation leads to a folder, a hub or storage, not to \(Quoted(peer.text))")
    }
    if case .storage = peer.address, place == nil, context.environment["HEARTLOG_WEBDAV_USER"] != nil,
      !peer.text.hasPrefix("s3:")
    {
      throw CommandError.usage(
        "the invitation leads to \(peer.text), and HEARTLOG_WEBDAV_PASSWORD is for any host",
        hint: "If it may have the password, name it: \"heartlog join - \(peer.text)\".")
    }
    // What is wrong with the place should not leave a store.
    _ = try peer.address.carrier(context, endsSoon: true)
    let directory = try context.storeDirectory()
    if try POSIXFileSystem().info("\(directory)/store") == nil {
      try FavoritesStore.create(at: directory, options: StoreOptions(named: nil))
      context.unreported.add("the new store \(directory)")
    }
    var options = SyncOptions()
    options.joinsVault = arguments.has(.join)
    return try SyncRun(context: context, options: options).once(peer, joining: invitation)
  }
}
