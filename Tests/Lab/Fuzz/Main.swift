import HeartlogFiles
import HeartlogFuzzing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tries inputs on a target: `HeartlogFuzz TARGET FILE|FOLDER…`. Built with `-DFUZZING` by Scripts/fuzz, the arguments behind the target are
/// those of libFuzzer.
@main
struct Main {
  static func main() {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "--list":
      for target in FuzzTarget.all { print(target.name, target.byteCountMax) }
    case "--words":
      guard let target = target(arguments) else { usage() }
      for word in target.words { print("\"\(Corpus.escaped(word))\"") }
    case let name?:
      guard let target = FuzzTarget.all.first(where: { $0.name == name }) else { usage() }
      #if FUZZING
        exit(LibFuzzer.run(target))
      #else
        replay(target, arguments.dropFirst(2))
      #endif
    case nil: usage()
    }
  }

  private static func target(_ arguments: [String]) -> FuzzTarget? {
    FuzzTarget.all.first { arguments.count == 3 && $0.name == arguments[2] }
  }

  private static func usage() -> Never {
    print("usage: HeartlogFuzz TARGET FILE|FOLDER…\n       HeartlogFuzz --list | --words TARGET")
    exit(64)
  }

  /// Ends with 1 at the first input for which something does not hold.
  private static func replay(_ target: FuzzTarget, _ paths: ArraySlice<String>) {
    var count = 0
    do {
      for path in paths {
        for input in try Corpus.inputs(at: path) {
          print("\(target.name) \(input.path)")
          try target.run(input.bytes)
          count += 1
        }
      }
    } catch {
      print("failed: \(error)")
      exit(1)
    }
    print("\(count) inputs hold")
  }
}
