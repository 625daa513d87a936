import HeartlogFiles

/// The possible contents of one file on disk: what is certain since its last sync, and the sectors and sizes
/// written since, any of which may be present.
struct UnsyncedFile: Sendable {
  /// The contents of one sector after a write, padded with zeros to a whole sector.
  struct Version: Sendable {
    var bytes: [UInt8]
    /// The operation that wrote it; 0 for the last sync.
    var operation: Int
  }

  struct Sector: Sendable {
    /// Oldest first. A single version is what a truncation hid, in case that is lost.
    var versions: [Version]
    /// Whether it was dirty when a sync failed and has not been written since: the next sync does not make it
    /// certain.
    var isDoubtful = false
  }

  struct Size: Sendable {
    var bytes: Int
    /// The operation that changed it; 0 for the last sync.
    var operation: Int
  }

  let sectorBytes: Int
  /// The contents as programs see them.
  private(set) var contents: [UInt8]
  private(set) var sizes: [Size]
  private(set) var sectors: [Int: Sector] = [:]
  private var areSizesDoubtful = false

  init(_ contents: [UInt8], sectorBytes: Int) {
    self.contents = contents
    self.sectorBytes = sectorBytes
    sizes = [Size(bytes: contents.count, operation: 0)]
  }

  mutating func write(_ bytes: [UInt8], at offset: Int, operation: Int) {
    if bytes.isEmpty { return }
    let touched = offset / sectorBytes...(offset + bytes.count - 1) / sectorBytes
    let before = touched.map(sector)
    bytes.withUnsafeBytes { contents.overwrite(at: offset, with: $0) }
    for (index, old) in zip(touched, before) {
      let new = sector(index)
      sectors[index]?.isDoubtful = false
      if new == old { continue }
      sectors[index, default: Sector(versions: [Version(bytes: old, operation: 0)])].versions
        .append(Version(bytes: new, operation: operation))
    }
    noteSize(operation)
  }

  mutating func truncate(to size: Int, operation: Int) {
    if size < contents.count {
      for index in size / sectorBytes...(contents.count - 1) / sectorBytes where sectors[index] == nil {
        sectors[index] = Sector(versions: [Version(bytes: sector(index), operation: 0)])
      }
    }
    contents.resize(to: size)
    noteSize(operation)
  }

  mutating func synchronize() {
    let doubtful = sectors.filter { $0.value.isDoubtful }
    if areSizesDoubtful {
      sectors = doubtful
      return
    }
    sectors = [:]
    for (index, sector) in doubtful where sector.versions.count > 1 {
      // The truncations so far are certain from here on.
      let versions = sector.versions.map {
        Version(bytes: visible($0, of: index, atSize: sizes.count - 1), operation: 0)
      }
      sectors[index] = Sector(versions: versions, isDoubtful: true)
    }
    sizes = [Size(bytes: contents.count, operation: 0)]
  }

  mutating func failSynchronize() {
    for index in sectors.keys { sectors[index]?.isDoubtful = true }
    areSizesDoubtful = sizes.count > 1
  }

  /// Returns the file with one of its sizes and one version of each sector: the last version for sectors that
  /// are not named.
  func contents(sizeChoice: Int, versionChoices: [Int: Int]) -> [UInt8] {
    let size = sizes[sizeChoice].bytes
    var result = contents
    result.resize(to: size)
    for (index, sector) in sectors {
      let start = index * sectorBytes
      if start >= size { continue }
      let version = sector.versions[versionChoices[index] ?? sector.versions.count - 1]
      let bytes = visible(version, of: index, atSize: sizeChoice).prefix(size - start)
      bytes.withUnsafeBytes { result.overwrite(at: start, with: $0) }
    }
    return result
  }

  /// Returns a version without the bytes removed by later truncations, up to the chosen size.
  private func visible(_ version: Version, of index: Int, atSize choice: Int) -> [UInt8] {
    var bytes = version.bytes
    for (before, after) in zip(sizes, sizes.dropFirst()).prefix(choice)
    where after.bytes < before.bytes && after.operation > version.operation {
      let kept = min(max(after.bytes - index * sectorBytes, 0), sectorBytes)
      for cut in kept..<sectorBytes { bytes[cut] = 0 }
    }
    return bytes
  }

  private mutating func noteSize(_ operation: Int) {
    if contents.count == sizes[sizes.count - 1].bytes { return }
    sizes.append(Size(bytes: contents.count, operation: operation))
    areSizesDoubtful = false
  }

  /// Returns a whole sector as programs see it, with zeros after the end of the file.
  private func sector(_ index: Int) -> [UInt8] {
    let start = min(index * sectorBytes, contents.count)
    var bytes = [UInt8](contents[start..<min(start + sectorBytes, contents.count)])
    bytes.resize(to: sectorBytes)
    return bytes
  }
}
