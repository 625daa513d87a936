// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

/// What is measured, apart from the package that apps import: `Scripts/bench` runs it.
let package = Package(
  name: "heartlog-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "heartlog", path: "..")],
  targets: [
    .executableTarget(
      name: "merge-bench", dependencies: [.product(name: "Heartlog", package: "heartlog")],
      swiftSettings: settings),
    .executableTarget(
      name: "cities-bench",
      dependencies: [
        .product(name: "Heartlog", package: "heartlog"),
        .product(name: "HeartlogLibraries", package: "heartlog"),
      ],
      swiftSettings: settings),
  ]
)
