/// A string that equals another only byte for byte; `String` itself takes a letter and its decomposed form
/// for one.
struct UTF8Key: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  /// Strings that differ for `String` differ in their bytes too, and that comparison is the faster one.
  static func == (a: UTF8Key, b: UTF8Key) -> Bool {
    a.text == b.text && a.text.utf8.elementsEqual(b.text.utf8)
  }

  func hash(into hasher: inout Hasher) {
    let isContiguous: Void? = text.utf8.withContiguousStorageIfAvailable {
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    if isContiguous == nil { for byte in text.utf8 { hasher.combine(byte) } }
    hasher.combine(text.utf8.count)
  }
}
