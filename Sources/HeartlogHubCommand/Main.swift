import HeartlogHubServer

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@main
struct Main {
  static func main() { exit(HubCommand.run(Array(CommandLine.arguments.dropFirst()))) }
}
