/// The command line: what to do, then `name=value` in any order.
struct Arguments {
  let command: String
  private let values: [String: String]

  init(_ arguments: some Collection<String>) throws {
    guard let command = arguments.first else { throw Failure("no measure is named") }
    self.command = command
    var values: [String: String] = [:]
    for argument in arguments.dropFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw Failure("\"\(argument)\" is no name=value") }
      values[parts[0]] = parts[1]
    }
    self.values = values
  }

  func text(_ name: String) throws -> String {
    guard let value = values[name] else { throw Failure("\(command) needs \(name)=…") }
    return value
  }

  func textIfGiven(_ name: String) -> String? { values[name] }

  func number(_ name: String) throws -> Int {
    guard let number = Int(try text(name)) else { throw Failure("\(name) is no number") }
    return number
  }
}
