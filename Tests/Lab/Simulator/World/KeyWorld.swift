import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogFormat
import HeartlogSync
import HeartlogTesting

/// Devices of an encrypted vault that share one place: some join it while others rotate its keys, and one was stolen. All driven by one
/// seed.
final class KeyWorld: SimulatedWorld {
  /// What happens in a run. Some runs have no faults, because a fault hides what goes wrong without it.
  struct Profile {
    let isFolder: Bool
    let joiners: Int
    let watches: Bool
    let losesCalls: Bool
    let isLate: Bool
    /// Epochs that members make, and those that the recovery code makes.
    let rotations: Int
    let renewals: Int
    let hasThief: Bool

    init(_ random: inout RandomSource) {
      isFolder = random.chance(40)
      joiners = random.element(of: [2, 2, 2, 3, 3, 3, 10, 20]) ?? 2
      watches = random.chance(50)
      losesCalls = random.chance(40)
      isLate = random.chance(40)
      rotations = random.chance(30) ? 0 : random.number(1...3)
      renewals = random.chance(40) ? 0 : random.number(1...3)
      hasThief = random.chance(50)
    }
  }

  /// What a person does, or a thief.
  private enum Command {
    case join(VaultDevice)
    /// A member invites a device.
    case invite(VaultDevice)
    case rotate(VaultDevice)
    case renew(VaultDevice)
    /// The thief goes on with what it has, and puts it where the others are.
    case steal
    /// The thief, or the phone before it was stolen, admits a device of the person.
    case befriend(VaultDevice)
    /// A member and the thief sync with each other.
    case meet(VaultDevice)
  }

  /// A recovery code that was printed.
  private struct Code {
    let text: String
    /// On which device, and the code that had to be entered for it.
    let device: VaultDevice
    let former: String
  }

  private static let founders = ["desk", "phone", "tablet"]
  private static let stepsOfCommands = 0...60

  private let seed: UInt64
  private let profile: Profile
  private var random: RandomSource
  private(set) var story: [String]?
  private(set) var checks = 0
  private let network: Network
  private let clock = ManualClock()
  private let uptime = SimulatedUptime()
  private let place: any Place
  /// What is behind the place, if that is a share or a bucket.
  private let storage: FakeStorage?
  private let disk: MemoryFileSystem
  /// Where the thief goes on alone: what the place had before anything happened.
  private let hidden = MemoryPlace()
  private var devices: [VaultDevice] = []
  /// All that were ever there, those without a part in the vault included.
  private var everybody: [VaultDevice] = []
  private var thief: VaultDevice?
  /// Devices that the thief admitted.
  private var accomplices: [VaultDevice] = []
  private var plan: [Int: [Command]] = [:]
  private var paper = ""
  private var codes: [Code] = []
  private var epochsOfPersons = 1
  private var isThiefRemoved = false
  private var failures: [Violation] = []
  private var step = -1

  init(seed: UInt64, tellsStory: Bool) throws {
    self.seed = seed
    var random = RandomSource(seed: seed)
    let profile = Profile(&random)
    self.profile = profile
    self.random = random
    story = tellsStory ? ["\(profile)"] : nil
    let network = Network(random)
    self.network = network
    disk = MemoryFileSystem()
    try disk.createDirectory(Device.folderPath)
    // One in four is a share or a bucket, and of these every second one does not keep conditions.
    storage =
      profile.isFolder || seed % 4 != 0
      ? nil : FakeStorage(seed % 8 == 0 ? .s3 : .webDAV, seed % 16 < 8 ? .kept : .ignored, pageMax: 50)
    place =
      profile.isFolder
      ? DirectoryPlace(Device.folderPath, on: disk)
      : storage?.place ?? MemoryPlace(pageMax: 50) { network.random.next() }
    let desk = try newDevice(Self.founders[0])
    var keys = try VaultKeys(of: desk.store)
    try keys.make(at: clock.milliseconds) { paper = $0 }
    devices = [desk]
    for name in Self.founders.dropFirst() { devices.append(try newDevice(name)) }
    if profile.hasThief { thief = try newDevice("thief") }
    let founders = devices + (thief.map { [$0] } ?? [])
    for device in founders.dropFirst() { try join(device, with: paper) }
    for _ in 0..<3 { for device in founders { try sync(device, writing: true) } }
    for name in try names() { hidden.replace(name, with: try bytes(name)) }
    makePlan()
    for device in devices where profile.watches { device.carrier = PlaceCarrier(device.place) }
    network.losesCalls = profile.losesCalls
    network.isLate = profile.isLate
    (place as? MemoryPlace)?.faults.lateLists = profile.isLate ? 30 : 0
  }

  private func newDevice(_ name: String) throws -> VaultDevice {
    let number = everybody.count + 1
    let device = try VaultDevice(
      name, SimulatedProcess(id: Int32(number), clock: uptime), seed &* 1_000 &+ UInt64(number), clock,
      storage?.place ?? place,
      network)
    everybody.append(device)
    return device
  }

  private func makePlan() {
    let members = devices
    func add(_ command: Command, _ steps: ClosedRange<Int>) {
      plan[random.number(steps), default: []].append(command)
    }
    // All at once, or one after the other.
    let steps = random.chance(50) ? 5...5 : Self.stepsOfCommands
    for number in 0..<profile.joiners {
      guard let device = try? newDevice("joiner-\(number)") else { continue }
      add(random.chance(40) ? .invite(device) : .join(device), steps)
    }
    for _ in 0..<profile.rotations { add(.rotate(random.element(of: members) ?? members[0]), steps) }
    for _ in 0..<profile.renewals { add(.renew(members[random.number(0...1)]), steps) }
    guard thief != nil else { return }
    if let guest = try? newDevice("guest") { add(.befriend(guest), Self.stepsOfCommands) }
    for _ in 0..<3 {
      add(.steal, 0...150)
      if random.chance(50) { add(.meet(random.element(of: members) ?? members[0]), Self.stepsOfCommands) }
    }
  }

  private func tell(_ text: @autoclosure () -> String) {
    if story != nil { story?.append("\(step): \(text())") }
  }

  func end() {
    for device in everybody {
      device.process.die()
      device.process.unwind()
      device.process.strand.end()
    }
  }

  // MARK: - Steps

  func take(step: Int) throws {
    self.step = step
    random = RandomSource(seed: seed ^ (UInt64(step) &+ 1) &* 0x9E37_79B9_7F4A_7C15)
    network.random = RandomSource(seed: random.next())
    clock.advance(by: 1)
    for command in plan[step] ?? [] { try run(command) }
    guard let device = random.element(of: devices) else { return }
    device.process.callsUntilPause = random.number(1...40)
    if device.process.strand.isBusy {
      device.process.strand.resume()
    } else if try hasNews(for: device) {
      let isWriting = random.chance(40)
      tell("\(device.name) syncs")
      device.process.strand.begin { [self] in
        do { try sync(device, writing: isWriting) } catch { judge(error, of: device) }
      }
    }
    if let failure = failures.first { throw failure }
  }

  /// Whether there may be objects that no sync of a device's carrier has seen.
  private func hasNews(for device: VaultDevice) throws -> Bool {
    guard let cursor = device.carrier?.cursor else { return true }
    return try (place as? MemoryPlace)?.hasMore(after: cursor) ?? (place.list(after: cursor).cursor != cursor)
  }

  private func run(_ command: Command) throws {
    switch command {
    case .join(let device):
      tell("\(device.name) gets the code on the paper")
      try join(device, with: paper)
      device.isJoiner = true
      if profile.watches { device.carrier = PlaceCarrier(device.place) }
      devices.append(device)
    case .invite(let device):
      let members = try devices.filter { device in
        let keys = try VaultKeys(of: device.store)
        return keys.isEncrypted && keys.reasonOut == nil && keys.isConfirmed
      }
      let member = random.element(of: members)
      guard let member, let vault = devices[0].store.vaultID else { return try run(.join(device)) }
      tell("\(member.name) invites \(device.name)")
      var keys = try VaultKeys(of: member.store)
      try VaultKeys.join(vault, with: try keys.invite(until: clock.milliseconds + 86_400_000), device.store)
      device.isInvited = true
      if profile.watches { device.carrier = PlaceCarrier(device.place) }
      devices.append(device)
    case .rotate(let device):
      var keys = try VaultKeys(of: device.store)
      guard keys.reasonOut == nil else { return }
      tell("\(device.name) rotates")
      try keys.rotate(at: clock.milliseconds)
      epochsOfPersons += 1
    case .renew(let device): try renew(device)
    case .steal: try steal()
    case .befriend(let guest):
      guard let thief else { return }
      admit(guest, by: thief)
      guard try VaultKeys(of: guest.store).isEncrypted else { return }
      tell("the thief admits \(guest.name)")
      devices.append(guest)
    case .meet(let device): try meet(device)
    }
  }

  private func join(_ device: VaultDevice, with code: String) throws {
    var keys = try VaultKeys(of: device.store)
    try keys.join(code)
  }

  /// Makes a code with whichever of those on the papers is good on a device.
  private func renew(_ device: VaultDevice) throws {
    for former in [paper] + codes.map(\.text) {
      var made: String?
      var keys = try VaultKeys(of: device.store)
      do {
        try keys.rotate(code: former, without: thief?.store.replica, at: clock.milliseconds) { made = $0 }
      } catch {
        guard (error as? HeartlogError)?.code == .noKey else { throw error }
        continue
      }
      guard let made else { return }
      tell("\(device.name) makes code \(codes.count + 1)\(thief == nil ? "" : ", without the thief")")
      codes.append(Code(text: made, device: device, former: former))
      epochsOfPersons += 1
      isThiefRemoved = thief != nil
      return
    }
  }

  /// - Throws: What the sync throws, and a violation.
  private func sync(_ device: VaultDevice, writing isWriting: Bool = false) throws {
    if isWriting { try device.write() }
    var options = SyncOptions()
    let clock = clock
    options.clock = { clock.milliseconds }
    let carrier = device.carrier ?? PlaceCarrier(device.place)
    let report = try carrier.sync(device.store, through: device.place, options: options)
    // What a lost call left half done passes.
    let hasFaults = network.losesCalls || network.isLate
    if let stream = report.skipped.first(where: { !hasFaults || !$0.cause.isPassing }) {
      throw Violation("\(device.name) skips a stream: \(stream)")
    }
    if let fork = report.forks.first { throw Violation("\(device.name) finds a fork: \(fork)") }
  }

  /// Whoever has a code or was admitted syncs, unless a call was lost or a rotation came between.
  private func judge(_ error: any Error, of device: VaultDevice) {
    tell("\(device.name): \(error)")
    if let error = error as? HeartlogError, error.message.hasPrefix(Network.lost) || isExcused(error, device)
    {
      return
    }
    failures.append(Violation("\(device.name) cannot sync: \(error)"))
  }

  private func isExcused(_ error: HeartlogError, _ device: VaultDevice) -> Bool {
    guard error.code == .noKey else { return false }
    if error.message.contains("only a device that was removed") { return isThiefRemoved }
    if error.message.contains("here yet") { return network.isLate }
    // The member has not put it yet, or a rotation voided it.
    if error.message.contains("invitation") { return device.isInvited }
    if error.message.contains("no member since") { return epochsOfPersons > 1 }
    return device.isJoiner && !codes.isEmpty && error.message.contains("code is void")
  }

  // MARK: - The thief

  /// The thief writes, makes an epoch, and puts all that it has beside the objects of the others.
  private func steal() throws {
    guard let thief else { return }
    try thief.write()
    var keys = try VaultKeys(of: thief.store)
    if random.chance(50) { _ = try? keys.rotate(at: clock.milliseconds) }
    _ = try? PlaceCarrier(hidden).sync(thief.store, options: SyncOptions())
    if !isThiefRemoved, random.chance(50) {
      let (admitter, accomplice) = (
        accomplices.last ?? thief, try newDevice("accomplice-\(accomplices.count)")
      )
      accomplices.append(accomplice)
      _ = try PlaceCarrier(hidden).sync(admitter.store, options: SyncOptions())
      admit(accomplice, by: admitter)
      try accomplice.write()
      _ = try PlaceCarrier(hidden).sync(accomplice.store, options: SyncOptions())
    }
    var count = 0
    for (name, bytes) in hidden.objects.sorted(by: { $0.key < $1.key }) {
      if (try? place.put(name, bytes)) != nil { count += 1 }
    }
    if !isThiefRemoved { epochsOfPersons += 1 }
    tell("the thief puts \(count) objects")
  }

  private func admit(_ device: VaultDevice, by member: VaultDevice) {
    hold(member, device) { store, wire, role in
      var options = SyncOptions()
      options.joinsVault = role == .serving
      _ = try PairingSession(store, over: wire, role: role, options: options).run()
    }
  }

  private func meet(_ member: VaultDevice) throws {
    guard let thief else { return }
    try complete(member)
    hold(member, thief) { store, wire, role in
      _ = try SyncSession(store, over: wire, role: role).run()
    }
  }

  /// Holds a dialogue between two devices.
  private func hold(
    _ one: VaultDevice, _ other: VaultDevice,
    _ body: @escaping (FavoritesStore, Wire, SyncSession.Role) throws -> Void
  ) {
    let (near, far) = Wire.connect(one.process, other.process, faults: Wire.Faults())
    for (device, wire, role) in [(one, near, SyncSession.Role.calling), (other, far, .serving)] {
      device.process.callsUntilPause = nil
      device.process.strand.begin { [self] in
        do { try body(device.store, wire, role) } catch { tell("\(device.name), \(role): \(error)") }
        wire.close()
      }
    }
    while one.process.strand.isBusy || other.process.strand.isBusy {
      for device in [one, other] where device.process.strand.isBusy { device.process.strand.resume() }
    }
  }

  private func complete(_ device: VaultDevice) throws {
    device.process.callsUntilPause = nil
    while device.process.strand.isBusy { device.process.strand.resume() }
    if let failure = failures.first { throw failure }
  }

  // MARK: - The end

  func finish() throws {
    step = .max
    random = RandomSource(seed: ~seed)
    for device in devices { try complete(device) }
    network.losesCalls = false
    network.isLate = false
    (place as? MemoryPlace)?.faults = MemoryPlace.Faults()
    // Whoever a rotation left out is admitted in the first round, unless its code is void by now.
    for _ in 0..<2 { try round(excusing: true) }
    if codes.isEmpty { try checkQuiet() }
    let good = try goodCode()
    for device in devices {
      let keys = try VaultKeys(of: device.store)
      guard !keys.isEncrypted || keys.reasonOut != nil else { continue }
      try join(device, with: good)
    }
    for _ in 0..<2 { try round(excusing: false) }
    try checkQuiet()
    try check()
    try checkThief()
  }

  private func round(excusing: Bool) throws {
    // Statements of others' streams are written every ten minutes at most.
    clock.advance(by: 700)
    for device in devices {
      do { try sync(device) } catch {
        guard excusing, let error = error as? HeartlogError, isExcused(error, device) else {
          throw Violation("at the end, \(device.name) cannot sync: \(error)")
        }
        tell("\(device.name): \(error.message)")
      }
    }
  }

  /// Nothing is put any more: no keys after two rounds, and no statement of what came in these after another one.
  private func checkQuiet() throws {
    let keys = try names().filter(ObjectPath.isKey)
    try round(excusing: true)
    guard try names().filter(ObjectPath.isKey) == keys else {
      throw Violation("keys are put after two rounds")
    }
    let count = network.putCount
    try round(excusing: true)
    if network.putCount != count {
      throw Violation("\(network.putCount - count) objects are put after three rounds")
    }
    checks += 1
  }

  /// Tries all codes that were ever printed: one is good, and the others are named void.
  private func goodCode() throws -> String {
    var good: [String] = []
    for (number, code) in ([paper] + codes.map(\.text)).enumerated() {
      let device = try newDevice("finder-\(number)")
      try join(device, with: code)
      do {
        try sync(device, writing: true)
        good.append(code)
        devices.append(device)
      } catch {
        // Nobody knows of one that was made with a void one.
        let isKnown = number == 0 || codes[number - 1].former == paper
        guard let error = error as? HeartlogError, error.code == .noKey,
          error.message.contains(isKnown ? "is void" : "recovery code")
        else {
          throw Violation("code \(number) is neither good nor named void: \(error)")
        }
      }
    }
    guard good.count == 1 else { throw Violation("\(good.count) codes are good") }
    // From the good one back, each was replaced by a person who had it. Whoever was shown another one is told.
    var line = good
    while let code = codes.first(where: { $0.text == line.last }) { line.append(code.former) }
    for (index, code) in codes.enumerated()
    where !codes[(index + 1)...].contains(where: { $0.device === code.device }) {
      let void = try VaultKeys(of: code.device.store).voidCode
      guard (void == nil) == line.contains(code.text) else {
        throw Violation("\(code.device.name) says of code \(index + 1): \(void ?? "nothing")")
      }
    }
    return good[0]
  }

  /// All members follow one epoch, know each other and show the same.
  private func check() throws {
    let others = isThiefRemoved ? [] : accomplices + (thief.map { [$0] } ?? [])
    let members = (devices + others).map(\.store.replica).sorted()
    let first = devices[0]
    let epochs = try VaultKeys(of: first.store).epochs
    // Where rotations at once or an admission gave somebody a key who was removed, a member makes one more.
    guard epochs.count <= epochsOfPersons + (isThiefRemoved ? 1 : 0) else {
      throw Violation("there are \(epochs.count) epochs, and \(epochsOfPersons) were made by persons")
    }
    for device in devices {
      let keys = try VaultKeys(of: device.store)
      let (known, shown) = (keys.epochs, keys.members)
      guard known.first(where: \.isCurrent)?.id == epochs.first(where: \.isCurrent)?.id else {
        throw Violation("\(device.name) follows another epoch than \(first.name)")
      }
      guard shown == members else {
        throw Violation("\(device.name) knows of \(shown), and not of \(members)")
      }
      guard device.store.digest == first.store.digest else {
        throw Violation("\(device.name) and \(first.name) show different things")
      }
      let own = try device.store.streamHead(of: device.store.replica)?.commit.rawValue ?? 0
      guard own == UInt64(device.written) else {
        throw Violation("\(device.name) wrote \(device.written) commits, and has \(own)")
      }
      for other in devices {
        for number in 0..<other.written where try !device.has(other.item(number)) {
          throw Violation("\(device.name) does not have \(other.item(number))")
        }
      }
    }
    checks += 1
  }

  /// Whoever was removed reads nothing that is written afterwards, and changes nothing, with all that it has and a friend.
  private func checkThief() throws {
    guard let thief, isThiefRemoved else { return }
    let before = Set(try names())
    let friend = try newDevice("friend")
    admit(friend, by: thief)
    let forged = thief.item(thief.written)
    try steal()
    try devices[0].write()
    let secret = devices[0].item(devices[0].written - 1)
    let current = try VaultKeys(of: devices[0].store).epochs.first(where: \.isCurrent)
    for _ in 0..<2 { try round(excusing: false) }
    try check()
    guard try VaultKeys(of: devices[0].store).epochs.first(where: \.isCurrent) == current else {
      throw Violation("the thief made an epoch that others follow")
    }
    for device in devices where try device.has(forged) {
      throw Violation("\(device.name) has what the thief wrote after its removal")
    }
    let stolen = Set(hidden.objects.keys)
    for name in try names() where !before.contains(name) && !stolen.contains(name) && !ObjectPath.isKey(name)
    {
      guard try ObjectHeader(try bytes(name)).epoch.description == current?.id else {
        throw Violation("\(name) is not under the epoch that all follow")
      }
    }
    for device in [thief, friend] + accomplices {
      do {
        try sync(device)
        throw Violation("\(device.name) syncs after the removal")
      } catch let error as HeartlogError where error.code == .noKey {}
      let epoch = try VaultKeys(of: device.store).epochs.first { $0.id == current?.id }
      if try epoch?.isReadable == true || device.has(secret) {
        throw Violation("\(device.name) reads what is written after the removal")
      }
    }
    checks += 1
  }

  // MARK: - The place

  private func names() throws -> [String] {
    if let storage { return storage.objects.keys.sorted() }
    if let memory = place as? MemoryPlace { return memory.objects.keys.sorted() }
    return World.files(in: Device.folderPath, of: disk)
      .map { String($0.dropFirst(Device.folderPath.utf8.count + 1)) }.sorted()
  }

  private func bytes(_ name: String) throws -> [UInt8] {
    if let storage { return storage.objects[name] ?? [] }
    if let memory = place as? MemoryPlace { return memory.objects[name] ?? [] }
    return try disk.contents(of: "\(Device.folderPath)/\(name)")
  }
}

/// A device of a vault, and the process that syncs it.
private final class VaultDevice {
  let name: String
  let process: SimulatedProcess
  let store: FavoritesStore
  let place: RemotePlace
  /// Goes on where it was, as a program that watches does; nil for one that looks at everything at each sync.
  var carrier: PlaceCarrier?
  var isJoiner = false
  var isInvited = false
  /// How many items it wrote.
  private(set) var written = 0

  init(
    _ name: String, _ process: SimulatedProcess, _ seed: UInt64, _ clock: ManualClock,
    _ place: any Place, _ network: Network
  ) throws {
    self.name = name
    self.process = process
    var options = StoreOptions.simulated(SeededRandom(seed: seed), clock, process)
    options.name = name
    store = try FavoritesStore.inMemory(options: options)
    self.place = RemotePlace(place, network, process)
  }

  func item(_ number: Int) -> String { "\(name)-\(number)" }

  func write() throws {
    try store.library(World.libraries[0]).set(
      [Field(name: "note", value: .string("a note of \(name)"))], of: item(written))
    written += 1
  }

  func has(_ item: String) throws -> Bool { try store.library(World.libraries[0]).item(item) != nil }
}
