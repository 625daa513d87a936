import Foundation

/// The words of a command line: a verb, and options with a whole number each.
struct Arguments {
  let verb: String
  private var options: [String: UInt64] = [:]

  init(_ words: [String]) {
    verb = words.first ?? ""
    var rest = words.dropFirst()
    while let name = rest.popFirst() {
      guard name.hasPrefix("--"), let word = rest.popFirst(), let value = UInt64(word) else {
        print("HeartlogTorture: \(name) is not an option with a whole number")
        exit(64)
      }
      options[String(name.dropFirst(2))] = value
    }
  }

  /// Removes and returns the value of an option.
  mutating func take(_ name: String) -> UInt64? { options.removeValue(forKey: name) }

  /// Refuses options that nobody took.
  func requireNoMore() {
    guard let name = options.keys.min() else { return }
    print("HeartlogTorture: \(verb) has no option --\(name)")
    exit(64)
  }
}
