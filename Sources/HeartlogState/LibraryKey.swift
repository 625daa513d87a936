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
