extension CanonicalJSON {
  /// Takes what a log holds: text that must be canonical already.
  init(stored bytes: UnsafeRawBufferPointer) throws(MalformedError) {
    try FieldValue.checkByteCount(bytes.count)
    self.init(text: try String(wellFormed: bytes))
  }
}
