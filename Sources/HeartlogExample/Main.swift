import Heartlog

#if canImport(Glibc)
  import Glibc
#endif

/// heartlog-example [APP …] [--store DIR]: five small apps with one store, and what their screens show.
@main
struct Main {
  @MainActor static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      guard !arguments.wantsHelp else { return print(Arguments.usage) }
      let device = arguments.store.map(Device.init(existing:)) ?? .new()
      let display = Display { print($0) }
      for story in arguments.stories { try await story.play(on: device, display) }
      try device.switchOff()
      print("\nThe store of all that: \(device.path)")
      print("To look around: heartlog --store \(device.path) log")
    } catch {
      print("heartlog-example: \(error)")
      exit(error is UsageError ? 64 : 1)
    }
  }
}
