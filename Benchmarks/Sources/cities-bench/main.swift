// The real list of cities with 10,000 favorites: what the libraries take, and what a loop over the array takes.
//
//   cities-bench CITIES.json [ROUNDS]
import Foundation
import HeartlogLibraries

guard CommandLine.arguments.count >= 2 else {
  FileHandle.standardError.write(Data("usage: cities-bench CITIES.json [ROUNDS]\n".utf8))
  exit(64)
}
let file = try Data(contentsOf: URL(filePath: CommandLine.arguments[1]))
let catalog = try City.catalog([UInt8](file))
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 15

let tasks = try CityTasks(catalog)

print(
  "\(catalog.count) cities, \(tasks.favorites.count) favorites, medians of \(rounds) rounds, in milliseconds")
print("task                                 loop     library     ratio")
for result in try Stopwatch(rounds: rounds).measure(tasks.all) {
  print(
    String(
      format: "%@ %9.3f  %9.3f  %7.1f×", result.name.padding(toLength: 32, withPad: " ", startingAt: 0),
      result.loop, result.library, result.loop / result.library))
}
