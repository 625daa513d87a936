import HeartlogHub

/// `heartlog-http`: requests for a `heartlog` that is linked statically. It is started by that program, not by people.
@main
struct Main {
  static func main() {
    #if !canImport(Darwin)
      HTTPService.run()
    #endif
  }
}
