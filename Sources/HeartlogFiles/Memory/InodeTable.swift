/// Values by inode. Inodes are small numbers that are not used again, so a value is found without hashing: every word that is read from a
/// lock page is looked up here.
package struct InodeTable<Value: Sendable>: Sendable {
  private var values: [Value?] = []

  package subscript(inode: UInt64) -> Value? {
    get { inode < UInt64(values.count) ? values[Int(inode)] : nil }
    _modify {
      makeRoom(for: inode)
      yield &values[Int(inode)]
    }
  }

  /// The values of all inodes that have one.
  package var present: some Sequence<Value> { values.lazy.compactMap { $0 } }

  private mutating func makeRoom(for inode: UInt64) {
    while UInt64(values.count) <= inode { values.append(nil) }
  }

  /// Drops the values of all other inodes.
  mutating func keep(_ inodes: Set<UInt64>) {
    for index in values.indices where !inodes.contains(UInt64(index)) { values[index] = nil }
  }
}
