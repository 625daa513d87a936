/// Starts and ends: what every Swift program takes.
@main
struct Main {
  static func main() {}
}
