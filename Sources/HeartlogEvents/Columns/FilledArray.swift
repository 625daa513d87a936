extension Array where Element: BitwiseCopyable {
  /// Creates an array of `count` uninitialized elements, all of which `fill` must write.
  init(
    count: Int, filledBy fill: (UnsafeMutableBufferPointer<Element>) throws(MalformedError) -> Void
  ) throws(MalformedError) {
    var failure: MalformedError?
    self.init(unsafeUninitializedCapacity: count) { buffer, initializedCount in
      do throws(MalformedError) {
        try fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
        initializedCount = count
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}
