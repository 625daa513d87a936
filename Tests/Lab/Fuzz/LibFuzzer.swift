#if FUZZING
  import CLibFuzzer
  import Glibc
  import HeartlogFuzzing

  /// libFuzzer as a function of this program: it tries inputs until one fails or its time is over.
  enum LibFuzzer {
    /// Set once, before anything is tried. libFuzzer passes nothing else to the function that it calls.
    nonisolated(unsafe) private static var target: FuzzTarget?

    static func run(_ target: FuzzTarget) -> Int32 {
      self.target = target
      // The target's name is not an argument of libFuzzer.
      let strings = [CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)
      var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
      var count = Int32(strings.count)
      return pointers.withUnsafeMutableBufferPointer { buffer in
        var arguments = buffer.baseAddress
        return LLVMFuzzerRunDriver(&count, &arguments) { @Sendable bytes, count in
          do {
            try LibFuzzer.target?.run(UnsafeRawBufferPointer(start: bytes, count: count))
          } catch {
            fatalError("\(error)")
          }
          return 0
        }
      }
    }
  }
#endif
