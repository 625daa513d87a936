// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "heartlog", path: "..")],
  targets: [
    .executableTarget(
      name: "merge-bench", dependencies: [.product(name: "Heartlog", package: "heartlog")],
      swiftSettings: settings)
  ]
)
