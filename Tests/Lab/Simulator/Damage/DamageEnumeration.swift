import Heartlog

/// A store of about 64 KiB of which every bit is changed and every file is cut at every length, one at a time.
package enum DamageEnumeration {
  /// What was enumerated.
  package struct Counts: Sendable {
    /// The files of the store and their bytes.
    package var files = 0
    package var bytes = 0
    /// The changes that were tried.
    package var changes = 0
    /// The changes after which opening, reading, verifying, writing or syncing said that something is wrong.
    package var named = 0
    /// The changes that nothing named, and after which everything was as before.
    package var harmless: Int { changes - named }
    /// The frames that were copied to where they do not belong.
    package var misplaced = 0

    package init() {}
  }

  /// Tries those changes whose index, divided by `parts`, leaves `part`.
  ///
  /// - Parameter first: The index of the first change that is tried: where an earlier run ended.
  /// - Returns: what was found broken; nil if nothing was.
  package static func check(
    part: Int, of parts: Int, from first: Int = 0, _ counts: inout Counts
  ) -> String? {
    var damage: Damage?
    var index = 0
    do {
      try ForeignSnapshots.check()
      counts.misplaced = try MisplacedFrames.check(part: part, of: parts)
      let store = try DamagedStore()
      counts.files = store.sizes.count
      counts.bytes = store.sizes.map(\.bytes).reduce(0, +)
      for change in Damage.all(of: store.sizes) {
        defer { index += 1 }
        guard index >= first, index % parts == part else { continue }
        damage = change
        counts.changes += 1
        if try store.isNamed(change) { counts.named += 1 }
      }
      return nil
    } catch {
      return "\(damage.map { "change \(index - 1), \($0)" } ?? "making the store"): \(error)"
    }
  }
}

/// One change of one file.
struct Damage: CustomStringConvertible {
  enum Kind {
    /// The bit with this index is inverted.
    case bit(Int)
    /// Only this many bytes are left.
    case cut(Int)
  }

  let path: String
  let kind: Kind

  /// All changes of files of these sizes.
  static func all(of files: [(path: String, bytes: Int)]) -> some Sequence<Damage> {
    files.lazy.flatMap { path, bytes in
      (0..<bytes * 9).lazy.map { index in
        Damage(path: path, kind: index % 9 == 8 ? .cut(index / 9) : .bit(index / 9 * 8 + index % 9))
      }
    }
  }

  var description: String {
    switch kind {
    case .bit(let bit): "\(path): bit \(bit % 8) of byte \(bit / 8) changed"
    case .cut(let bytes): "\(path): cut to \(bytes) bytes"
    }
  }

  func apply(to bytes: inout [UInt8]) {
    switch kind {
    case .bit(let bit): bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    case .cut(let count): bytes.removeLast(bytes.count - count)
    }
  }
}
