import HeartlogCrashModel
import Glibc
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// Several devices, their processes and disks, and the network between them, all driven by one seed.
///
/// The devices sync with each other, through folders that a courier carries, and through a server: all at once.
final class World: SimulatedWorld {
  static let libraries = ["papers", "books"]
  /// Two of them differ in nothing but case.
  private static let items = ["item 1", "item 2", "item 3", "item 4", "item 5", "Item 1"]

  let devices: [Device]
  private let uptime = SimulatedUptime()
  private let server: any Place
  /// What is behind the server, if that is a share or a bucket.
  private let storage: FakeStorage?
  private let network: Network
  private var ledger = Ledger()
  private let seed: UInt64
  private let profile: Profile
  private var random: RandomSource
  /// What happened, for people; nil if nobody wants to know.
  private(set) var story: [String]?
  private var step = 0
  private var tokens = 0
  /// Notes that were erased by whoever had them.
  private var erasedNotes: Set<String> = []
  /// What ended on a strand and has to be checked.
  private var endings: [() throws -> Void] = []
  private(set) var checks = 0

  /// Which faults a run has. Some runs have none at all, because a fault hides what goes wrong without it.
  struct Profile {
    var devices: Int
    var appsPerDevice: Int
    var signs: Bool
    var losesPower: Bool
    var kills: Bool
    var interrupts: Bool
    var failsCalls: Bool
    var rots: Bool
    var damagesNetwork: Bool
    var changesClocks: Bool

    init(_ random: inout RandomSource) {
      devices = random.number(1...3)
      appsPerDevice = random.number(1...2)
      signs = random.chance(40)
      losesPower = random.chance(50)
      kills = random.chance(60)
      interrupts = random.chance(50)
      failsCalls = random.chance(30)
      rots = random.chance(15)
      damagesNetwork = random.chance(40)
      changesClocks = random.chance(50)
    }
  }

  init(seed: UInt64, tellsStory: Bool) throws {
    self.seed = seed
    random = RandomSource(seed: seed)
    let profile = Profile(&random)
    self.profile = profile
    story = tellsStory ? ["\(profile)"] : nil
    let uptime = uptime
    var devices: [Device] = []
    for index in 0..<profile.devices {
      devices.append(
        try Device(
          index, seed: seed &+ UInt64(index) &* 77, apps: profile.appsPerDevice, signs: profile.signs,
          uptime: uptime, keepsTrace: tellsStory))
    }
    self.devices = devices
    let network = Network(RandomSource(seed: seed ^ 0x5EED_0F4E_7C15_9E37))
    self.network = network
    storage =
      switch seed % 3 {
      case 0: nil
      case 1: FakeStorage(.webDAV, seed % 2 == 0 ? .kept : .refused)
      default: FakeStorage(.s3, seed % 2 == 0 ? .kept : .ignored, pageMax: 5)
      }
    let hub = MemoryPlace(pageMax: 5) { network.random.next() }
    server = storage?.place ?? hub
    network.losesCalls = profile.damagesNetwork
    network.isLate = profile.damagesNetwork
    if profile.damagesNetwork { hub.faults = MemoryPlace.Faults(each: 10) }
  }

  private func tell(_ text: @autoclosure () -> String) {
    if story != nil { story?.append("\(step): \(text())") }
  }

  /// Ends all threads of the world.
  func end() {
    for device in devices {
      for app in device.apps {
        app.process.die()
        app.process.unwind()
        app.store = nil
        app.closed = []
        app.process.strand.end()
      }
    }
  }

  // MARK: - Steps

  /// Takes one step. What it does depends on the seed, its number and the state alone, so that other steps can be left out.
  func take(step: Int) throws {
    self.step = step
    random = RandomSource(seed: seed ^ (UInt64(step) &+ 1) &* 0x9E37_79B9_7F4A_7C15)
    guard let device = random.element(of: devices), let app = random.element(of: device.apps) else { return }
    // Often no time passes: writes in a row are a series.
    uptime.nanoseconds += UInt64(max(0, random.number(-10...30))) * 1_000_000
    if app.process.isFrozen, random.chance(70) { return }
    app.process.isFrozen = false
    if app.process.strand.isBusy {
      tell("process \(name(device, app)) goes on")
      if profile.interrupts, random.chance(5) { return freeze(device, app) }
      app.process.strand.resume()
    } else if let job = app.process.takeDueJob() {
      tell("process \(name(device, app)) does a job")
      plan(app)
      app.process.strand.begin(job)
    } else {
      try act(device, app)
    }
    try settle()
    for device in devices {
      guard let steps = device.stepsUntilPowerLoss else { continue }
      device.stepsUntilPowerLoss = steps > 1 ? steps - 1 : nil
      if steps == 1 { try losePower(device) }
    }
  }

  private func name(_ device: Device, _ app: App) -> String { "\(device.index)/\(app.process.id)" }

  private func freeze(_ device: Device, _ app: App) {
    tell("process \(name(device, app)) is frozen")
    app.process.isFrozen = true
  }

  /// Decides where the process's next action is interrupted.
  private func plan(_ app: App) {
    app.process.callsUntilKill = profile.kills && random.chance(8) ? random.number(1...60) : nil
    app.process.callsUntilPause = profile.interrupts && random.chance(25) ? random.number(1...40) : nil
  }

  /// Checks what ended, and buries what died.
  private func settle() throws {
    for device in devices {
      for app in device.apps where app.process.isDead { bury(app, on: device) }
    }
    let ended = endings
    endings = []
    for ending in ended { try ending() }
  }

  private func bury(_ app: App, on device: Device) {
    tell("process \(name(device, app)) is dead")
    app.process.unwind()
    app.store = nil
    app.closed = []
    app.process.strand.end()
    if let index = device.apps.firstIndex(where: { $0 === app }) {
      device.apps[index] = App(device.newProcess(uptime))
    }
  }

  private func act(_ device: Device, _ app: App) throws {
    guard let store = app.store else { return open(device, app) }
    plan(app)
    switch random.number(0...99) {
    case 0..<43: write(device, app, store)
    case 43: try forge(device, app, store)
    case 44..<50: flush(device, app, store)
    case 50..<54: run("seal", device, app) { _ = try store.seal() }
    case 54..<58: run("snapshot", device, app) { _ = try store.snapshot() }
    case 58..<62: run("refresh", device, app) { try store.refresh() }
    case 62..<64: erase(device, app, store)
    case 64..<66:
      run("compact", device, app) { _ = try store.compact() }
    case 66..<72: try close(device, app, store)
    case 72..<79: dialogue(device, app, store)
    case 79..<84: folder(device, app, store)
    case 84..<88: try courier()
    case 88..<92: sync(device, app, store)
    case 92..<95: disturb(device)
    case 95..<98: if profile.losesPower { try losePower(device) }
    default: if profile.kills { kill(device, app) }
    }
  }

  // MARK: - What processes do

  /// Does something on a process's strand. An error is an answer: what was acknowledged before still holds.
  private func run(
    _ what: String, _ device: Device, _ app: App, _ body: @escaping () throws -> Void,
    then: @escaping () throws -> Void = {}
  ) {
    tell("process \(name(device, app)): \(what)")
    app.process.strand.begin { [self] in
      var outcome = "done"
      var hasEnded = false
      do {
        try body()
        hasEnded = !app.process.isDead
      } catch {
        outcome = "\(error)"
      }
      tell("process \(name(device, app)): \(what): \(outcome)")
      if hasEnded { endings.append(then) }
      let store = app.store
      endings.append { [self] in try check(device, app, store, isWhole: false) }
    }
  }

  private func open(_ device: Device, _ app: App) {
    tell("process \(name(device, app)) opens the store")
    plan(app)
    app.process.strand.begin { [self] in
      do throws(HeartlogError) {
        app.store = try device.open(in: app)
      } catch {
        tell("process \(name(device, app)): open: \(error)")
        guard !app.process.isDead else { return }
        let isRotten = device.isRotten
        let hasFaults = profile.failsCalls
        if error.isRepairable {
          try? device.repair(in: app)
        } else if !isRotten, !hasFaults, error.code != .locked, error.code != .inputOutput {
          endings.append { throw Violation("a sound store does not open: \(error)") }
        }
        return
      }
      for finding in app.store?.findings ?? [] { tell("process \(name(device, app)) finds \(finding)") }
      endings.append { [self] in try check(device, app, app.store, isWhole: true) }
    }
  }

  private func close(_ device: Device, _ app: App, _ store: FavoritesStore) throws {
    run("close", device, app) {
      defer { app.store = nil }
      try store.close()
      app.closed.append(store)
    } then: { [self] in
      // Others would wait for it until a job of the closed store runs, or its last reference is gone.
      if app.process.holdsLock {
        throw Violation("process \(name(device, app)) holds the lock of a store that it closed")
      }
    }
  }

  private func write(_ device: Device, _ app: App, _ store: FavoritesStore) {
    tokens += 1
    let token = "w\(tokens)"
    let isDurable = random.chance(60)
    let time: Milliseconds? = nil
    let isQuiet = random.chance(10)
    var actions: [(library: String, item: String, kind: Int, bytes: Int)] = []
    for _ in 0..<(random.chance(80) ? 1 : random.number(2...5)) {
      actions.append(
        (
          Self.libraries[random.number(0...1)], Self.items[random.number(0...5)], random.number(0...3),
          random.chance(10) ? random.number(100...1_500) : 3
        ))
    }
    var written: Commit?
    var heads: [Head] = []
    run(
      "write \(token) \(isDurable ? "durable" : "buffered") \(actions)", device, app,
      {
        heads = store.read { $0.heads }
        written = try self.refusing(token, in: app) {
          try store.commit(
            origin: token, durability: isDurable ? .durable : .buffered, time: time
          ) {
            for (index, action) in actions.enumerated() {
              let library = try store.library(action.library)
              let field = Field(
                name: "note",
                value: .string("note \(index) of \(token): " + .noise(action.bytes)),
                isQuiet: isQuiet)
              switch action.kind {
              case 0: _ = try library.add(action.item, fields: [field])
              case 1: _ = try library.remove(action.item)
              case 2: _ = try library.toggle(action.item)
              default: _ = try library.set([field], of: action.item)
              }
            }
          }.commit
        }
      },
      then: { [self] in
        guard let written else { return }
        try ledger.check(written)
        ledger.note(heads, before: written)
        raise(&device.written, written.replica, written.number)
        raise(&app.written, written.replica, written.number)
        if isDurable { raise(&device.durable, written.replica, written.number) }
      })
  }

  /// Writes. What is refused because nothing could be written must never turn up.
  private func refusing(_ token: String, in app: App, _ write: () throws -> Commit?) throws -> Commit? {
    do { return try write() } catch let error as HeartlogError {
      if [.diskFull, .locked, .readOnly, .wrongClock].contains(error.code), !app.process.isDead {
        ledger.noteRefused(token)
      }
      throw error
    }
  }

  private func raise(
    _ heads: inout [ReplicaID: CommitNumber], _ replica: ReplicaID, _ number: CommitNumber
  ) {
    heads[replica] = max(heads[replica] ?? number, number)
  }

  private func flush(_ device: Device, _ app: App, _ store: FavoritesStore) {
    // What other processes wrote is theirs to flush.
    let own = app.written
    run("flush", device, app, { try store.flush() }) { [self] in
      for (replica, number) in own { raise(&device.durable, replica, number) }
    }
  }

  private func erase(_ device: Device, _ app: App, _ store: FavoritesStore) {
    let library = Self.libraries[random.number(0...1)]
    let item = Self.items[random.number(0...5)]
    var known: [String] = []
    var before: [String] = []
    run(
      "erase \(item) in \(library)", device, app,
      { [self] in
        ledger.noteErasing(item)
        before = try notes(ledger.notes(of: item, in: library), in: device)
        known = ledger.notes(of: item, in: library, upTo: store.read { $0.heads })
        _ = try store.erase(item, in: library)
      },
      then: { [self] in
        erasedNotes.formUnion(known)
        // What another process writes or receives meanwhile may stay: also where nothing is interrupted, one waits for the lock.
        guard !profile.interrupts, !device.isRotten else { return }
        try checkErased(before, on: device)
      })
  }

  /// Looks for what was erased in the bytes of all files of a store.
  private func checkErased(_ notes: [String], on device: Device) throws {
    for path in Self.files(in: Device.storePath, of: device.disk) {
      if let note = try self.notes(notes, in: device, files: [path]).first {
        throw Violation(
          "\(path) of device \(device.index) still contains \"\(note.prefix(20))\", which was erased")
      }
    }
  }

  /// Those of some notes that stand in the bytes of a file of a store.
  private func notes(_ notes: [String], in device: Device, files: [String]? = nil) throws -> [String] {
    let contents = try (files ?? Self.files(in: Device.storePath, of: device.disk)).map(device.disk.contents)
    return notes.filter { note in
      let needle = Array(note.utf8)
      return contents.contains { Self.contains(needle, in: $0) }
    }
  }

  /// As `contains` of the standard library, which takes a tenth of a whole simulation.
  static func contains(_ needle: [UInt8], in bytes: [UInt8]) -> Bool {
    guard let first = needle.first, bytes.count >= needle.count else { return needle.isEmpty }
    return bytes.withUnsafeBytes { bytes in
      (0...bytes.count - needle.count).contains {
        bytes[$0] == first && memcmp(bytes.baseAddress! + $0, needle, needle.count) == 0
      }
    }
  }

  private func dialogue(_ device: Device, _ app: App, _ store: FavoritesStore) {
    guard let peer = random.element(of: devices), peer !== device, let other = random.element(of: peer.apps),
      let far = other.store, !other.process.strand.isBusy, !other.process.isFrozen
    else { return }
    var faults = Wire.Faults()
    if profile.damagesNetwork {
      if random.chance(30) { faults.bytesUntilCut = random.number(0...3_000) }
      if random.chance(20) { faults.bytesUntilChange = random.number(0...2_000) }
    }
    let (near, distant) = Wire.connect(app.process, other.process, faults: faults)
    let calling = options(of: device)
    var serving = calling
    serving.joinsVault = false
    let heads = Heads()
    run("sync with \(name(peer, other))", device, app) {
      defer { near.close() }
      _ = try SyncSession(store, over: near, role: .calling, options: calling).run()
      heads.value = try store.streamHeads()
    } then: { [self] in
      for head in heads.value where head.commit.rawValue > 0 {
        raise(&device.durable, head.replica, head.commit)
        raise(&device.written, head.replica, head.commit)
      }
    }
    run("serve \(name(device, app))", peer, other) {
      defer { distant.close() }
      _ = try SyncSession(far, over: distant, role: .serving, options: serving).run()
    }
  }

  /// Gives a store the next commits of a peer with a root that they do not lead to.
  private func forge(_ device: Device, _ app: App, _ store: FavoritesStore) throws {
    guard let peer = random.element(of: devices), peer !== device, let other = random.element(of: peer.apps),
      let far = other.store, !other.process.strand.isBusy
    else { return }
    other.process.isChecking = true
    app.process.isChecking = true
    defer {
      other.process.isChecking = false
      app.process.isChecking = false
    }
    device.disk.clearFaults()
    peer.disk.clearFaults()
    guard let heads = try? far.streamHeads(), let mine = try? store.streamHeads(),
      let head = random.element(of: heads)
    else { return }
    let here = mine.first { $0.replica == head.replica }?.commit.rawValue ?? 0
    guard here < head.commit.rawValue,
      let sound = try? far.streamRun(of: head.replica, after: here, upTo: head.commit)
    else { return }
    let forged = StreamRun(
      replica: sound.replica, name: sound.name, firstCommit: sound.firstCommit,
      commitCount: sound.commitCount,
      body: sound.body, root: store.digest, proof: sound.proof)
    run("take a forged run of \(head.replica)", device, app) { [self] in
      guard case .appended = try store.receive(forged) else { return }
      endings.append { throw Violation("a run of \(head.replica) with another root was taken") }
    }
  }

  private final class Heads { var value: [StreamHead] = [] }

  private func folder(_ device: Device, _ app: App, _ store: FavoritesStore) {
    let options = options(of: device)
    run("sync with the folder", device, app) {
      let carrier = FolderCarrier(Device.folderPath, on: device.files(of: app.process))
      _ = try carrier.sync(store, options: options)
    }
  }

  /// Syncs through the server, as each process does it: with nothing in its memory of what it saw there before.
  private func sync(_ device: Device, _ app: App, _ store: FavoritesStore) {
    let options = options(of: device)
    let place = remotePlace(app.process)
    run("sync with the server", device, app) {
      _ = try PlaceCarrier(place).sync(store, options: options)
    }
  }

  private func remotePlace(_ process: SimulatedProcess) -> RemotePlace {
    guard let storage else { return RemotePlace(server, network, process) }
    return RemotePlace(storage.place, network, process) { name, part in
      if storage.objects[name] == nil { storage.replace(name, with: part) }
    }
  }

  private func options(of device: Device) -> SyncOptions {
    var options = SyncOptions()
    options.joinsVault = true
    options.clock = { device.wallTime }
    return options
  }

  // MARK: - What happens to them

  /// Takes files from one device's folder to another's: some, in any order, some cut off.
  private func courier() throws {
    guard let from = random.element(of: devices), let to = random.element(of: devices), from !== to else {
      return
    }
    to.disk.clearFaults()
    var counts = (copied: 0, cut: 0)
    for path in Self.files(in: Device.folderPath, of: from.disk) where random.chance(70) {
      var bytes = try from.disk.contents(of: path)
      if profile.damagesNetwork, random.chance(5) {
        bytes.removeLast(bytes.count / 2)
        counts.cut += 1
      }
      try Self.put(bytes, at: path, on: to.disk)
      counts.copied += 1
    }
    tell("a courier takes \(counts) from \(from.index) to \(to.index)")
  }

  static func files(in folder: String, of disk: MemoryFileSystem) -> [String] {
    var found: [String] = []
    for name in (try? disk.entries(of: folder)) ?? [] {
      let path = "\(folder)/\(name)"
      if (try? disk.info(path))?.kind == .directory {
        found += files(in: path, of: disk)
      } else {
        found.append(path)
      }
    }
    return found
  }

  static func put(_ bytes: [UInt8], at path: String, on disk: MemoryFileSystem) throws {
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += "/\(part)"
      if try disk.info(folder) == nil { try disk.createDirectory(folder) }
    }
    if try disk.info(path) == nil { _ = try disk.open(path, .createNew) }
    try disk.replaceContents(of: path, with: bytes)
  }

  private func kill(_ device: Device, _ app: App) {
    tell("process \(name(device, app)) is killed")
    app.process.die()
  }

  private func losePower(_ device: Device) throws {
    tell("device \(device.index) loses its power")
    let disk = device.disk.crashState(sectorBytes: random.chance(50) ? 512 : 4_096, seed: random.next())
    for app in device.apps {
      app.process.die()
      bury(app, on: device)
    }
    if random.chance(50) { try Self.fillLostSectors(of: disk, from: device.disk, &random) }
    device.disk = disk
    device.disk.clearTrace()
    // What was only buffered may be gone, unless another device has it; its numbers are then used again.
    for replica in device.written.keys {
      let kept = devices.map { ($0 === device ? $0.durable : $0.written)[replica]?.rawValue ?? 0 }.max() ?? 0
      ledger.forget(replica, after: CommitNumber(rawValue: kept))
    }
    device.written = device.durable
  }

  /// Puts what another segment has there into sectors whose contents were lost: a file may get blocks that belonged to another.
  private static func fillLostSectors(
    of disk: MemoryFileSystem, from before: MemoryFileSystem, _ random: inout RandomSource
  ) throws {
    let sectorBytes = 512
    let segments = files(in: Device.storePath + "/replicas", of: before)
    for path in segments where try disk.info(path) != nil {
      let written = try before.contents(of: path)
      var found = try disk.contents(of: path)
      guard let other = random.element(of: segments), other != path else { continue }
      let stale = try before.contents(of: other)
      for start in stride(from: 0, to: min(found.count, written.count, stale.count), by: sectorBytes) {
        let range = start..<min(start + sectorBytes, found.count, written.count, stale.count)
        if found[range] != written[range], found[range].allSatisfy({ $0 == 0 }) {
          found.replaceSubrange(range, with: stale[range])
        }
      }
      try disk.replaceContents(of: path, with: found)
    }
  }

  /// Changes a clock, lets a call fail, or lets a bit rot.
  private func disturb(_ device: Device) {
    switch random.number(0...2) {
    case 0 where profile.changesClocks:
      switch random.number(0...3) {
      case 0: device.isClockFrozen.toggle()
      case 1: device.wallTime += Milliseconds(random.number(1...86_400_000))
      case 2: device.wallTime -= Milliseconds(random.number(1...86_400_000))
      default: device.wallTime = 1_700_000_000_000
      }
      tell("the clock of device \(device.index) shows \(device.wallTime)")
    case 1 where profile.failsCalls:
      // What is hard to get right, or anything.
      let kinds: [FaultKind] =
        random.chance(60) ? [.write, .synchronizeData, .synchronize] : FaultKind.allCases
      let kind = kinds[random.number(0...kinds.count - 1)]
      let code = [EIO, ENOSPC, EACCES, EMFILE][random.number(0...3)]
      let partial = random.chance(50) ? random.number(0...600) : nil
      let skip = random.number(0...(random.chance(50) ? 1 : 10))
      device.disk.failNext(
        kind, after: skip, code: code, partialBytes: partial, times: random.chance(80) ? 1 : 20)
      tell("on device \(device.index), \(kind) will fail with \(code) after \(skip)")
      // What an error left behind shows when the power goes before anything else is made durable.
      if profile.losesPower, random.chance(40) { device.stepsUntilPowerLoss = random.number(1...20) }
    case 2 where profile.rots: rot(device)
    default: break
    }
  }

  private func rot(_ device: Device) {
    let paths = Self.files(in: Device.storePath, of: device.disk).filter { !$0.hasSuffix("/lock") }
    guard let path = random.element(of: paths), var bytes = try? device.disk.contents(of: path),
      !bytes.isEmpty
    else { return }
    let index = random.number(0...bytes.count - 1)
    switch random.number(0...2) {
    case 0: bytes[index] ^= 1 << UInt8(random.number(0...7))
    case 1: bytes.removeLast(bytes.count - index)
    default:
      // A write of another file that ended up here.
      for offset in index..<min(bytes.count, index + 64) { bytes[offset] = UInt8(random.number(0...255)) }
    }
    guard (try? device.disk.replaceContents(of: path, with: bytes)) != nil else { return }
    device.isRotten = true
    tell("\(path) of device \(device.index) rots at \(index)")
  }

  // MARK: - Checks

  /// Compares what a store shows with the model.
  ///
  /// - Parameter isWhole: Whether the whole log is read, or only what is cheap.
  private func check(_ device: Device, _ app: App, _ store: FavoritesStore?, isWhole: Bool) throws {
    guard let store, app.store === store, !app.process.isDead else { return }
    app.process.isChecking = true
    defer { app.process.isChecking = false }
    checks += 1
    let wholeAnyway = random.chance(15)
    guard isWhole || wholeAnyway else { return }
    device.disk.clearFaults()
    try checkLog(device, store)
  }

  private func checkLog(_ device: Device, _ store: FavoritesStore) throws {
    let findings = store.findings.filter { $0.verdict != .torn }
    if let finding = findings.first, !device.isRotten {
      for operation in device.disk.trace.suffix(40) { tell("disk \(device.index): \(operation)") }
      throw Violation("device \(device.index) finds damage in what was never damaged: \(finding)")
    }
    // A last frame that rotted looks as one whose write was interrupted, and is named so.
    for finding in store.findings where device.isRotten { device.damaged.insert(finding.replica) }
    let reader: LogReader
    do throws(HeartlogError) { reader = try store.readLog() } catch {
      if device.isRotten { return }
      throw Violation("device \(device.index) cannot read its log: \(error)")
    }
    var heads: [ReplicaID: CommitNumber] = [:]
    var sequences: [ReplicaID: SequenceNumber] = [:]
    var rule = MergeRule()
    var origins: [String: CommitNumber] = [:]
    while let commit = try reader.next() {
      guard commit.number.rawValue == (heads[commit.replica]?.rawValue ?? 0) + 1 else {
        if device.isRotten { return }
        throw Violation(
          "after commit \(heads[commit.replica]?.rawValue ?? 0) of \(commit.replica) comes \(commit.number)")
      }
      if let expected = sequences[commit.replica], expected != commit.firstSequence {
        throw Violation("commit \(commit.number) of \(commit.replica) begins at \(commit.firstSequence)")
      }
      heads[commit.replica] = commit.number
      sequences[commit.replica] = commit.nextSequence
      try ledger.check(commit)
      if let origin = commit.origin, origins.updateValue(commit.number, forKey: origin) != nil {
        throw Violation("the write \(origin) is more than one commit")
      }
      try rule.take(commit)
      if !device.isRotten { try ledger.checkHeads(of: commit, by: rule) }
    }
    for (replica, number) in device.written where (heads[replica]?.rawValue ?? 0) < number.rawValue {
      // The store may have read it before it rotted.
      if device.isRotten, try device.damaged.contains(replica) || isDamageNamed(on: device) { return }
      throw Violation(
        "device \(device.index) lost commits \((heads[replica]?.rawValue ?? 0) + 1)...\(number) of \(replica)"
      )
    }
    if device.isRotten { return }
    for (replica, number) in heads { raise(&device.written, replica, number) }
    // A store that stopped after a failed fsync, or while another holds the lock, still reads what others wrote.
    guard (try? store.refresh()) != nil else { return }
    // While content is taken out of the log, a process may still show it.
    let erased = try ErasedList.read(StoreDirectory(fileSystem: device.disk, path: Device.storePath))
    if !erased.isPending { try compare(store, rule, on: device) }
    for (replica, signature) in try store.signatures() {
      let checkpoint = signature.checkpoint.checkpoint
      let last = CommitNumber(rawValue: checkpoint.size)
      try ledger.check(root: checkpoint.root, of: replica, at: last)
      if let root = try store.streamRoot(of: replica, at: last), root != checkpoint.root {
        throw Violation("the history of \(replica) is not what its owner signed")
      }
    }
  }

  private func isDamageNamed(on device: Device) throws -> Bool {
    let verified = try FavoritesStore.verify(at: Device.storePath, on: device.disk, progress: nil)
    return verified.streams.contains { $0.finding != nil }
  }

  private func compare(_ store: FavoritesStore, _ rule: MergeRule, on device: Device) throws {
    for name in Self.libraries {
      let library = try store.library(name)
      let shown = Dictionary(uniqueKeysWithValues: library.favorites().map { ($0.id, $0.favoritedDate) })
      let expected = rule.favorites(in: name)
      if shown != expected {
        throw Violation("device \(device.index) shows \(shown) in place of \(expected)")
      }
      for item in Self.items {
        let value = library.item(item)?.value(of: "note") ?? .null
        let wanted = rule.value(of: "note", item: item, in: name)
        if value != wanted {
          throw Violation("device \(device.index) shows \(value) of \(item) in place of \(wanted)")
        }
      }
    }
    let conflicts = Set(store.conflicts.map { Set($0.writes.map(\.event)) })
    if conflicts != rule.conflicts {
      throw Violation("device \(device.index) has the conflicts \(conflicts) in place of \(rule.conflicts)")
    }
    let replayed = try store.replay()
    if replayed.state.digest != store.digest {
      throw Violation("device \(device.index) shows something else than its log says")
    }
  }

  // MARK: - The end

  /// Calms everything down, lets everybody sync with everybody, and compares the results.
  func finish() throws {
    step = .max
    random = RandomSource(seed: ~seed)
    for device in devices {
      device.disk.clearFaults()
      for app in device.apps {
        app.process.callsUntilKill = nil
        app.process.callsUntilPause = nil
        app.process.isFrozen = false
      }
    }
    var turns = 0
    while devices.contains(where: { $0.apps.contains { $0.process.strand.isBusy } }) {
      for device in devices {
        for app in device.apps where app.process.strand.isBusy { app.process.strand.resume() }
      }
      turns += 1
      if turns > 20_000 { throw Violation("a process does not come to an end") }
    }
    try settle()
    for device in devices where !device.isRotten && !profile.failsCalls { try checkLocks(of: device) }
    for device in devices {
      for app in device.apps {
        app.process.die()
        bury(app, on: device)
      }
    }
    let sound = devices.filter { !$0.isRotten }
    var stores: [(Device, FavoritesStore)] = []
    for device in sound {
      let app = device.apps[0]
      app.process.isChecking = true
      do {
        let store: FavoritesStore
        do throws(HeartlogError) { store = try device.open(in: app) } catch {
          guard error.isRepairable else { throw error }
          try device.repair(in: app)
          store = try device.open(in: app)
        }
        app.store = store
        stores.append((device, store))
      } catch { throw Violation("at the end, device \(device.index) does not open: \(error)") }
      try checkLog(device, stores[stores.count - 1].1)
    }
    guard stores.count > 1 else { return }
    network.losesCalls = false
    network.isLate = false
    (server as? MemoryPlace)?.faults = MemoryPlace.Faults()
    // Whichever way they meet, they end up the same.
    let meetsAtServer = random.chance(50)
    var skipped: [SyncReport.SkippedStream] = []
    for _ in 0..<3 {
      skipped = []
      for (device, store) in stores {
        do throws(HeartlogError) {
          if meetsAtServer {
            skipped += try PlaceCarrier(remotePlace(device.apps[0].process))
              .sync(store, options: options(of: device)).skipped
          } else if device !== stores[0].0 {
            skipped += try exchange(device, store, stores[0].0, stores[0].1)
          }
        } catch { throw Violation("at the end, device \(device.index) cannot sync: \(error)") }
      }
    }
    if !skipped.isEmpty {
      // What a damaged device did not sign, or cannot show any more to have signed, stays where it is.
      guard sound.count < devices.count else {
        throw Violation("at the end, a sync skips a stream of sound devices: \(skipped)")
      }
      return
    }
    for (device, store) in stores {
      try checkLog(device, store)
      // What a damaged device erased may reach others without its request to erase it: they count content as missing.
      let counts = [store, stores[0].1].map { $0.read { $0.eventsWithoutContent } }
      let lacksContent = sound.count < devices.count && counts[0] != counts[1]
      if store.digest != stores[0].1.digest, !lacksContent {
        let heads = try [store, stores[0].1].map { store in
          try store.streamHeads().map {
            "\($0.replica) \($0.commit)\($0.checkpoint == nil ? " unsigned" : "")"
          }
        }
        throw Violation(
          "after all syncs\(meetsAtServer ? " with the server" : ""), devices \(stores[0].0.index) and \(device.index) "
            + "show different things: \(heads)")
      }
      if store.conflicts != stores[0].1.conflicts, !lacksContent {
        throw Violation(
          "after all syncs, devices \(stores[0].0.index) and \(device.index) have different conflicts")
      }
      // What a damaged device asked to be erased may not have reached the others.
      if sound.count == devices.count { try checkErased(erasedNotes.sorted(), on: device) }
    }
  }

  /// Checks that a new process can write once all others have nothing left to do.
  private func checkLocks(of device: Device) throws {
    for _ in 0..<20 {
      uptime.nanoseconds += 1_000_000_000
      for app in device.apps {
        while let job = app.process.takeDueJob() {
          app.process.strand.begin(job)
          while app.process.strand.isBusy { app.process.strand.resume() }
        }
      }
    }
    try settle()
    let app = App(device.newProcess(uptime))
    device.apps.append(app)
    var outcome: Result<Void, HeartlogError>?
    app.process.strand.begin {
      outcome = Result { () throws(HeartlogError) in
        let store = try device.open(in: app)
        _ = try store.library(Self.libraries[0]).toggle(Self.items[0])
        try store.close()
      }
    }
    while app.process.strand.isBusy { app.process.strand.resume() }
    if case .failure(let error) = outcome, !error.isRepairable {
      throw Violation("at the end, a new process on device \(device.index) cannot write: \(error)")
    }
  }

  /// One sync without faults.
  ///
  /// - Returns: what either side named as not received or not sent.
  private func exchange(
    _ device: Device, _ store: FavoritesStore, _ peer: Device, _ other: FavoritesStore
  ) throws(HeartlogError) -> [SyncReport.SkippedStream] {
    let near = device.apps[0].process
    let far = peer.apps[0].process
    let (one, another) = Wire.connect(near, far, faults: Wire.Faults())
    let options = SyncOptions()
    var calling = options
    calling.joinsVault = true
    var results: [Result<SyncReport, HeartlogError>] = []
    near.strand.begin {
      results.append(
        Result { () throws(HeartlogError) in
          try SyncSession(store, over: one, role: .calling, options: calling).run()
        })
      one.close()
    }
    far.strand.begin {
      results.append(
        Result { () throws(HeartlogError) in
          try SyncSession(other, over: another, role: .serving, options: options).run()
        })
      another.close()
    }
    while near.strand.isBusy || far.strand.isBusy {
      if near.strand.isBusy { near.strand.resume() }
      if far.strand.isBusy { far.strand.resume() }
    }
    var skipped: [SyncReport.SkippedStream] = []
    for result in results { skipped += try result.get().skipped }
    return skipped
  }
}
