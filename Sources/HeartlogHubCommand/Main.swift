import HeartlogHubServer

@main
struct Main {
  static func main() {}
}
