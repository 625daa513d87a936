import Heartlog
import HeartlogFormat

/// Where an object's bytes stand.
struct ObjectPlace: Hashable {
  let file: UInt32
  let offset: UInt32
  let byteCount: UInt32
}

/// What a directory engine knows of a vault: its keys, and where its objects are, by name and by number.
///
/// An object takes about 110 bytes: 32 of them for its entry, 16 at most in the table, and the last part of its name. The first parts,
/// which many objects share, are kept once.
struct VaultIndex {
  let generation: UInt64
  private(set) var admitted = AdmittedKeys([])
  /// The number of the last change.
  private(set) var last: UInt64 = 0
  private(set) var byteCount = 0
  private(set) var count = 0

  private struct Entry {
    let number: UInt64
    var place: ObjectPlace
    let nameStart: UInt32
    let folder: UInt32
    let owner: UInt16
    let nameCount: UInt8
    var isLive: Bool
  }

  /// A member that has put something.
  struct Owner {
    var id: ReplicaID
    var count = 0
    var byteCount = 0
  }

  /// In the order of their numbers, deleted ones among them until there are too many.
  private var entries: [Entry] = []
  private var nameBytes: [UInt8] = []
  private var owners: [Owner] = []
  private var folders: [String] = []
  private var folderNumbers: [String: UInt32] = [:]
  /// The index of an entry plus one, at the hash of its name or behind it; 0 where there is none.
  private var table = [UInt32](repeating: 0, count: 8)

  init(generation: UInt64) { self.generation = generation }

  // MARK: Keys

  func isAdmitted(_ key: PublicKey) -> Bool { admitted.keys.contains(key) }

  mutating func change(_ admitted: AdmittedKeys) {
    // What one root put is the next one's.
    if let old = self.admitted.root?.key.replica, let new = admitted.root?.key.replica, old != new {
      for index in owners.indices where owners[index].id == old { owners[index].id = new }
    }
    self.admitted = admitted
  }

  // MARK: Owners

  /// What a member has put.
  func held(by owner: ReplicaID) -> Owner {
    owners.reduce(into: Owner(id: owner)) { held, other in
      guard other.id == owner else { return }
      held.count += other.count
      held.byteCount += other.byteCount
    }
  }

  /// The objects that go with a change of keys.
  func objects(goingWith change: KeyChange) -> [(name: String, number: UInt64)] {
    guard !change.gone.isEmpty else { return [] }
    return entries.filter { $0.isLive && change.removes(name(of: $0), of: owners[Int($0.owner)].id) }.map {
      (name(of: $0), $0.number)
    }
  }

  var places: [ObjectPlace] { entries.filter(\.isLive).map(\.place) }

  /// The index of an owner, which is added if it is new; `nil` if there are too many.
  private mutating func index(of owner: ReplicaID) -> UInt16? {
    if let known = owners.firstIndex(where: { $0.id == owner }) ?? owners.firstIndex(where: { $0.count == 0 })
    {
      owners[known].id = owner
      return UInt16(known)
    }
    guard let index = UInt16(exactly: owners.count) else { return nil }
    owners.append(Owner(id: owner))
    return index
  }

  // MARK: Objects

  func place(of name: String) -> ObjectPlace? { find(name).map { entries[$0].place } }

  func number(of name: String) -> UInt64? { find(name).map { entries[$0].number } }

  /// Adds an object. Returns false if there is one of this name, or if the number is not the next.
  mutating func add(_ name: String, number: UInt64, at place: ObjectPlace, of owner: ReplicaID) -> Bool {
    guard number > last, find(name) == nil, let owner = index(of: owner) else { return false }
    let (folderName, file) = Self.parts(of: name)
    let folder: UInt32
    if let known = folderNumbers[folderName] {
      folder = known
    } else {
      folder = UInt32(folders.count)
      folders.append(folderName)
      folderNumbers[folderName] = folder
    }
    entries.append(
      Entry(
        number: number, place: place, nameStart: UInt32(nameBytes.count), folder: folder, owner: owner,
        nameCount: UInt8(file.utf8.count), isLive: true))
    owners[Int(owner)].count += 1
    owners[Int(owner)].byteCount += Int(place.byteCount)
    nameBytes.append(contentsOf: file.utf8)
    last = number
    count += 1
    byteCount += Int(place.byteCount)
    if entries.count * 2 > table.count { rebuild() } else { insert(entries.count - 1) }
    return true
  }

  /// Removes an object. Returns where it was; `nil` if there is none.
  mutating func remove(_ name: String) -> ObjectPlace? {
    guard let index = find(name) else { return nil }
    entries[index].isLive = false
    let place = entries[index].place
    count -= 1
    byteCount -= Int(place.byteCount)
    owners[Int(entries[index].owner)].count -= 1
    owners[Int(entries[index].owner)].byteCount -= Int(place.byteCount)
    if entries.count > 64, count < entries.count / 2 { rebuild() }
    return place
  }

  /// Knows that a number was given, to an object that is gone.
  mutating func note(number: UInt64) { last = max(last, number) }

  /// Moves an object to another place, if it still is where it was.
  mutating func move(_ name: String, from old: ObjectPlace, to new: ObjectPlace) {
    guard let index = find(name), entries[index].place == old else { return }
    entries[index].place = new
  }

  /// Objects with numbers above `number`, at most `limit`.
  func list(after number: UInt64, limit: Int) -> (entries: [HubList.Entry], last: UInt64, hasMore: Bool) {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number > number { high = middle } else { low = middle + 1 }
    }
    var found: [HubList.Entry] = []
    var lastFound = number
    while low < entries.count {
      let entry = entries[low]
      if entry.isLive {
        if found.count == limit { return (found, lastFound, true) }
        found.append(HubList.Entry(name: name(of: entry), byteCount: Int(entry.place.byteCount)))
        lastFound = entry.number
      }
      low += 1
    }
    return (found, last, false)
  }

  // MARK: The table

  private static func parts(of name: String) -> (folder: String, file: Substring) {
    let start = name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex
    return (String(name[..<start]), name[start...])
  }

  private func name(of entry: Entry) -> String {
    let start = Int(entry.nameStart)
    let file = String(decoding: nameBytes[start..<start + Int(entry.nameCount)], as: UTF8.self)
    return folders[Int(entry.folder)] + file
  }

  /// Nobody can choose names that stand behind each other.
  private static let seed = UInt64.random(in: .min ... .max)

  private static func hash(_ name: String) -> Int {
    var name = name
    return name.withUTF8 { Int(truncatingIfNeeded: XXH3.hash(UnsafeRawBufferPointer($0), seed: seed) >> 1) }
  }

  private func find(_ name: String) -> Int? {
    let (folderName, file) = Self.parts(of: name)
    guard let folder = folderNumbers[folderName] else { return nil }
    var slot = Self.hash(name) & (table.count - 1)
    while table[slot] != 0 {
      let entry = entries[Int(table[slot]) - 1]
      if entry.isLive, entry.folder == folder, Int(entry.nameCount) == file.utf8.count,
        nameBytes[Int(entry.nameStart)..<Int(entry.nameStart) + Int(entry.nameCount)].elementsEqual(file.utf8)
      {
        return Int(table[slot]) - 1
      }
      slot = (slot + 1) & (table.count - 1)
    }
    return nil
  }

  private mutating func insert(_ index: Int) {
    var slot = Self.hash(name(of: entries[index])) & (table.count - 1)
    while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
    table[slot] = UInt32(index + 1)
  }

  /// Forgets deleted entries, and makes the table large enough for as many entries again.
  private mutating func rebuild() {
    var names: [UInt8] = []
    entries = entries.compactMap { entry in
      guard entry.isLive else { return nil }
      let start = Int(entry.nameStart)
      defer { names.append(contentsOf: nameBytes[start..<start + Int(entry.nameCount)]) }
      return Entry(
        number: entry.number, place: entry.place, nameStart: UInt32(names.count), folder: entry.folder,
        owner: entry.owner, nameCount: entry.nameCount, isLive: true)
    }
    nameBytes = names
    var size = 8
    while size < entries.count * 3 { size *= 2 }
    table = [UInt32](repeating: 0, count: size)
    for index in entries.indices { insert(index) }
  }
}
