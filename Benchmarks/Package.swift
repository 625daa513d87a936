// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
let heartlog: Target.Dependency = .product(name: "Heartlog", package: "heartlog")

/// What is measured, apart from the package that apps import: `Scripts/bench` runs it.
let package = Package(
  name: "heartlog-benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    // To be loaded before a program, which then counts its allocations.
    .library(name: "AllocationCounter", type: .dynamic, targets: ["AllocationCounter"])
  ],
  dependencies: [.package(name: "heartlog", path: "..")],
  targets: [
    // Other people's stores and the raw limits, in C.
    .target(
      name: "CPeers", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])],
      linkerSettings: ["sqlite3", "lmdb", "leveldb", "rocksdb", "lz4", "xxhash"].map { .linkedLibrary($0) }),
    // SQLite for peers in Swift.
    .systemLibrary(name: "CPeerSQLite"),
    .target(name: "AllocationCounter", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
    // The papers, books and chances of every trace.
    .target(name: "Traces", swiftSettings: settings),
    .executableTarget(
      name: "heartlog-bench", dependencies: [heartlog, "CPeers", "CPeerSQLite", "Traces"],
      swiftSettings: settings
    ),
    // Two devices that went apart meet.
    .executableTarget(
      name: "merge-bench",
      dependencies: [heartlog, .product(name: "HeartlogSync", package: "heartlog"), "Traces"],
      swiftSettings: settings),
    .executableTarget(
      name: "cities-bench",
      dependencies: [heartlog, .product(name: "HeartlogLibraries", package: "heartlog")],
      swiftSettings: settings),
  ]
)
