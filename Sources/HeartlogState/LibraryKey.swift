/// The name of a library, prepared for repeated lookups.
package struct LibraryKey: Sendable {
  /// The name of the library.
  package let name: String
  let key: Key

  package init(_ name: String) {
    self.name = name
    key = name.withBytes { Key($0) }
  }
}

/// A library that was looked up, and its number.
struct LastLibrary {
  private var key = Key()
  private(set) var number: Int32 = 0

  /// No library. Its key equals no other, because it is longer than any name.
  init() { key.count = .max }

  init(key: Key, number: Int32) {
    self.key = key
    self.number = number
  }

  /// Returns whether a key is that of the library. False for a name that is too long for an inline key.
  @inline(__always)
  func isNamed(_ other: Key) -> Bool { key == other && key.isInline }
}
