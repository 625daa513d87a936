/// A library by its name, made once for many look-ups.
package struct LibraryKey: Sendable {
  package let name: String
  let key: Key

  package init(_ name: String) {
    self.name = name
    key = name.withBytes { Key($0) }
  }
}
