extension CanonicalJSON {
  /// Takes what a log holds: text that must be canonical already.
  init(stored text: String) throws(MalformedError) {
    try FieldValue.checkByteCount(text.utf8.count)
    self.init(text: text)
  }
}
