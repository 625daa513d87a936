import Dispatch
import HeartlogCrashModel
import Heartlog
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import Synchronization
import TestSupport

extension FuzzTarget {
  /// One message: `u8 kind, u8 streams announced, payload`.
  static let message = FuzzTarget(
    "message",
    seeds: { _ in
      var seeds: [Seed] = []
      for (number, scene) in try Scene.all.get().enumerated() {
        for (index, message) in scene.recorded.enumerated() where message.payload.count < 2_048 {
          seeds.append(
            Seed("scene-\(number)-\(index)", [message.kind, UInt8(scene.streamCount)] + message.payload))
        }
      }
      for message in pairingMessages {
        seeds.append(Seed("pairing-\(message.kind)", [message.kind, 0] + message.payload))
      }
      return seeds
    }
  ) { bytes in
    guard bytes.count >= 2 else { return }
    let payload = Array(bytes.dropFirst(2))
    func decoded(_ payload: [UInt8]) throws -> DecodedMessage {
      try DecodedMessage(kind: bytes[0], payload: payload, answering: Int(bytes[1]))
    }
    guard let message = try? decoded(payload) else { return }
    let encoded = message.payload
    let again = try decoded(encoded)
    try state(again == message, "a message is another one when it is read again")
    try state(again.payload == encoded, "a message has two forms")
  }

  /// One message of each kind that only a pairing has: docs/encryption.md, "Pairing".
  private static var pairingMessages: [RawMessage] {
    let id = Array(UInt8(0)..<16)
    var greeting = ByteWriter(Array("HLP".utf8) + [1, 8] + id)
    greeting.text("phone")
    // An established vault, one before it, that of the epochs, and one epoch.
    greeting.bytes += [2] + id + [1] + id + id + [1] + id
    var refusal = ByteWriter()
    refusal.text("it was revoked")
    return [
      RawMessage(kind: 13, payload: [UInt8](repeating: 7, count: 128)),
      RawMessage(kind: 14, payload: greeting.bytes),
      RawMessage(kind: 15, payload: id),
      RawMessage(kind: 16, payload: id),
      RawMessage(kind: 9, payload: [4] + refusal.bytes),
    ]
  }

  /// A whole dialogue: `u8 scene, u8 options, (u8 kind, bytes payload)*`. Checksums are made right.
  static let dialogue = dialogueTarget("dialogue", checksStore: false)

  /// The same, and what the store is afterwards, which takes longer.
  static let sync = dialogueTarget("sync", checksStore: true)

  private static func dialogueTarget(_ name: String, checksStore: Bool) -> FuzzTarget {
    FuzzTarget(
      name, byteCountMax: 8_192,
      seeds: { _ in
        try Scene.all.get().enumerated().map { number, scene in
          Seed("scene-\(number)", [UInt8(number), 0] + bytes(of: scene.recorded))
        }
      }
    ) { bytes in
      let scenes = try Scene.all.get()
      var reader = ByteReader(bytes)
      guard let number = try? reader.u8(), let flags = try? reader.u8() else { return }
      let messages = messages(&reader)
      // What is left is no message.
      try scenes[Int(number) % scenes.count].hear(
        RawMessage.joined(messages) + reader.rest, flags: flags, checksStore: checksStore)
    }
  }

  private static func messages(_ reader: inout ByteReader) -> [RawMessage] {
    var messages: [RawMessage] = []
    while let kind = try? reader.u8(), let payload = try? reader.lengthAndBytes() {
      messages.append(RawMessage(kind: kind, payload: Array(payload)))
    }
    return messages
  }

  /// The messages of a dialogue's input, and the bytes before them.
  static func messages(of input: [UInt8]) throws -> (header: [UInt8], messages: [RawMessage]) {
    try input.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      return (Array(try reader.take(2)), messages(&reader))
    }
  }

  /// Messages as the input of a dialogue has them.
  static func bytes(of messages: [RawMessage]) -> [UInt8] {
    var writer = ByteWriter()
    for message in messages {
      writer.u8(message.kind)
      writer.lengthAndBytes(message.payload)
    }
    return writer.bytes
  }
}

struct RawMessage {
  let kind: UInt8
  var payload: [UInt8]

  private static let checksumBytes = 4

  static func joined(_ messages: [RawMessage]) -> [UInt8] {
    var hasher = SHA256Hasher()
    var running = [UInt8](repeating: 0, count: 32)
    var bytes: [UInt8] = []
    for message in messages {
      var writer = ByteWriter([message.kind])
      writer.varint(message.payload.count)
      hasher.update(running)
      hasher.update(writer.bytes)
      hasher.update(message.payload)
      running = hasher.finish().bytes
      bytes += writer.bytes + message.payload + running[..<checksumBytes]
    }
    return bytes
  }

  static func split(_ bytes: [UInt8]) throws -> [RawMessage] {
    try bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      var messages: [RawMessage] = []
      while !reader.isAtEnd {
        messages.append(RawMessage(kind: try reader.u8(), payload: Array(try reader.lengthAndBytes())))
        _ = try reader.take(checksumBytes)
      }
      return messages
    }
  }
}

/// A store that hears what a peer says, and what a good peer said.
private final class Scene: Sendable {
  let recorded: [RawMessage]
  let streamCount: Int
  private let role: SyncSession.Role
  private let files: MemoryFileSystem
  private let favorites: Set<String>
  private let options: StoreOptions
  /// The store on a copy of the files, as long as nothing changed these, and while no thread uses it.
  private let opened = Mutex<(files: MemoryFileSystem, store: FavoritesStore)?>(nil)

  /// A phone that knows a desk, a tablet, and two lives of the phone, each with what the other end says; then the same of signed stores.
  static let all: Result<[Scene], any Error> = Result {
    try scenes(areSigned: false) + scenes(areSigned: true)
  }

  private static func scenes(areSigned: Bool) throws -> [Scene] {
    func make(_ seed: UInt64, _ count: Int, _ files: MemoryFileSystem = MemoryFileSystem(recording: true))
      throws
      -> Store
    {
      let store = Store(files: files, options: options(seed: seed, isSigned: areSigned))
      let opened = try store.open(files)
      for index in 0..<count { try opened.library("papers").add("\(seed)-\(index)") }
      try opened.close()
      return store
    }
    let desk = try make(1, 3)
    let phone = try make(2, 4)
    _ = try exchange(phone, desk, keeping: true)
    let tablet = try make(3, 3)
    let first = try make(4, 2, phone.files.deepCopy())
    let second = try make(5, 3, phone.files.deepCopy())
    _ = try exchange(second, tablet, keeping: true)
    return try exchange(first, tablet, keeping: false) + exchange(second, first, keeping: false)
  }

  private struct Store {
    let files: MemoryFileSystem
    let options: StoreOptions

    func open(_ files: MemoryFileSystem) throws -> FavoritesStore { try StoreFiles.open(files, options) }
  }

  private static func options(seed: UInt64, isSigned: Bool) -> StoreOptions {
    var options = StoreFiles.options
    let random = SharedGenerator(seed: 0)
    for _ in 0..<seed * 1_000 { _ = random.next() }
    options.random = { random.next() }
    options.deviceKey = isSigned ? .folder : .none
    return options
  }

  /// Lets one store call another, and returns both with what they read.
  private static func exchange(_ caller: Store, _ server: Store, keeping: Bool) throws -> [Scene] {
    let files = keeping ? (caller.files, server.files) : (caller.files.deepCopy(), server.files.deepCopy())
    let stores = (try caller.open(files.0), try server.open(files.1))
    let (one, other) = try DescriptorChannel.pair()
    let channels = (TappedChannel(one), TappedChannel(other))
    var syncOptions = SyncOptions()
    syncOptions.clock = { 1_772_500_000_000 }
    let options = syncOptions
    let group = DispatchGroup()
    DispatchQueue(label: "serving").async(group: group) {
      _ = try? SyncSession(stores.1, over: channels.1, role: .serving, options: options).run()
    }
    _ = try SyncSession(stores.0, over: channels.0, role: .calling, options: options).run()
    // The serving end waits for more until then.
    channels.0.close()
    group.wait()
    channels.1.close()
    try stores.0.close()
    try stores.1.close()
    if keeping { return [] }
    return [
      try Scene(caller, .calling, hearing: channels.0.bytesRead),
      try Scene(server, .serving, hearing: channels.1.bytesRead),
    ]
  }

  private init(_ store: Store, _ role: SyncSession.Role, hearing bytes: [UInt8]) throws {
    self.role = role
    files = store.files.deepCopy()
    options = store.options
    recorded = try RawMessage.split(bytes)
    let opened = try store.open(files)
    favorites = Set(opened.read { $0.favoriteIDs(in: "papers") })
    streamCount = try opened.streamHeads().count
    // What a sync does first is done before each dialogue begins.
    try opened.prepareToShip()
    try opened.close()
    files.clearTrace()
  }

  /// Whatever comes, a session ends, and the store that heard it is sound, keeps its favorites, and is the same when it is opened again.
  func hear(_ bytes: [UInt8], flags: UInt8, checksStore: Bool) throws {
    let unused = opened.withLock { opened in
      defer { opened = nil }
      return opened
    }
    let (files, store) = try unused ?? open()
    try hear(bytes, flags: flags, store)
    guard files.trace.contains(where: \.changesFiles) else {
      files.clearTrace()
      return opened.withLock { $0 = (files, store) }
    }
    // Looking takes as long as the dialogue, so some are looked at, the same ones in each run.
    if checksStore, bytes.checksum(0..<bytes.count, seed: 0) % 4 == 0 {
      try check(store, on: files)
    } else {
      try store.close()
    }
  }

  private func open() throws -> (files: MemoryFileSystem, store: FavoritesStore) {
    let copy = files.deepCopy()
    let store = try StoreFiles.open(copy, options)
    copy.clearTrace()
    return (copy, store)
  }

  private func hear(_ bytes: [UInt8], flags: UInt8, _ store: FavoritesStore) throws {
    let isRecorded = flags == 0 && bytes == RawMessage.joined(recorded)
    var options = SyncOptions()
    options.clock = { 1_772_500_000_000 }
    if role == .calling {
      options.isPull = flags & 1 != 0
      options.isDryRun = flags & 2 != 0
      options.joinsVault = flags & 4 != 0
    } else {
      options.isReadOnly = flags & 1 != 0
    }
    let session = SyncSession(store, over: HeardChannel(bytes), role: role, options: options)
    switch Result(catching: { () throws(HeartlogError) in try session.run() }) {
    case .success(let report):
      // The branches of forked streams are derived alike, so that a replay is understood to its end.
      try state(report.isComplete || !isRecorded, "what was recorded is not taken as it is")
    case .failure(let error):
      try state(!isRecorded, "what was recorded is refused: \(error)")
      try state(
        [.peer, .inputOutput, .newerFormat, .locked, .otherVault].contains(error.code),
        "a peer caused the error \(error.code): \(error)")
    }
  }

  private func check(_ store: FavoritesStore, on files: MemoryFileSystem) throws {
    let finding = try store.verify().streams.compactMap(\.finding).first
    try state(finding == nil, "a store is not sound: \(String(describing: finding?.error))")
    try state(
      favorites.isSubset(of: store.read { $0.favoriteIDs(in: "papers") }), "a store lost favorites of its own"
    )
    let digest = store.digest
    try store.close()
    let again = try StoreFiles.open(files, options)
    try state(again.digest == digest, "a store is another one when it is opened again")
    _ = try again.library("papers").add("one more")
    try again.close()
  }
}

extension TraceOperation {
  fileprivate var changesFiles: Bool {
    switch self {
    case .lock, .unlock: false
    default: true
    }
  }
}

/// A peer that says what was recorded, and hears nothing.
private final class HeardChannel: ByteChannel {
  private let rest: Mutex<ArraySlice<UInt8>>

  init(_ bytes: [UInt8]) { rest = Mutex(bytes[...]) }

  func read(atMost count: Int, milliseconds: Int) -> [UInt8]? {
    rest.withLock { rest in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) -> Int { bytes.count }

  func close() {}
}

/// Passes everything on, and keeps what came.
private final class TappedChannel: ByteChannel {
  private let channel: any ByteChannel
  private let read = Mutex<[UInt8]>([])

  init(_ channel: any ByteChannel) { self.channel = channel }

  var bytesRead: [UInt8] { read.withLock { $0 } }

  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    let bytes = try channel.read(atMost: count, milliseconds: milliseconds)
    if let bytes { read.withLock { $0 += bytes } }
    return bytes
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    try channel.write(bytes, milliseconds: milliseconds)
  }

  func close() { channel.close() }
}
