// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
]

/// A folder of archives, for programs that contain all libraries but the C library: Scripts/release. The linker takes the first library that it
/// finds, so nothing else may name a folder.
let archives = Context.environment["HEARTLOG_ARCHIVES"]

/// On Apple platforms the SDK has what these libraries do, and Heartlog what it lacks.
func linux(_ library: String) -> Target.Dependency {
  .target(name: library, condition: .when(platforms: [.linux]))
}

func libraryTests(_ name: String, alsoUsing others: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: name,
    dependencies: ["HeartlogLibraries", "HeartlogInterchange", "LibraryTestSupport", "TestSupport"] + others,
    swiftSettings: settings)
}

let package = Package(
  name: "heartlog",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Heartlog", targets: ["Heartlog"]),
    .library(name: "HeartlogSwiftUI", targets: ["HeartlogSwiftUI"]),
    .library(name: "HeartlogLibraries", targets: ["HeartlogLibraries"]),
    .library(name: "HeartlogInterchange", targets: ["HeartlogInterchange"]),
    .library(name: "HeartlogSync", targets: ["HeartlogSync"]),
    .library(name: "HeartlogFormat", targets: ["HeartlogFormat"]),
    .library(name: "HeartlogTesting", targets: ["HeartlogTesting"]),
    .executable(name: "heartlog", targets: ["HeartlogCommand"]),
    .executable(name: "heartlog-hub", targets: ["HeartlogHubCommand"]),
    .executable(name: "heartlog-example", targets: ["HeartlogExample"]),
  ],
  traits: [
    .trait(
      name: "Tracing", description: "Stores report what they measure of themselves to a tracer of the app.")
  ],
  targets: [
    // System libraries, lowest of all.
    .systemLibrary(
      name: "CLZ4", pkgConfig: archives == nil ? "liblz4" : nil, providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(
      name: "CXXHash", pkgConfig: archives == nil ? "libxxhash" : nil, providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: archives == nil ? "libcrypto" : nil, providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CQRencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CMicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .target(
      name: "CHeartlogPlatform",
      // On Linux, iconv is part of the C library.
      linkerSettings: [
        .linkedLibrary("iconv", .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS]))
      ]),

    // The layers, lowest first: each imports only what stands above it here.
    .target(
      name: "HeartlogFormat", dependencies: [linux("CLZ4"), linux("CXXHash"), linux("CCrypto")],
      swiftSettings: settings,
      // The standard library's rounding calls the C library's, which Glibc keeps apart.
      linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    .target(
      name: "HeartlogFiles", dependencies: ["CHeartlogPlatform", "HeartlogFormat"], swiftSettings: settings),
    .target(
      name: "HeartlogState", dependencies: ["CHeartlogPlatform", "HeartlogFormat"], swiftSettings: settings),
    .target(
      name: "HeartlogEngine",
      dependencies: ["HeartlogFiles", "HeartlogFormat", "HeartlogState"],
      swiftSettings: settings),
    .target(
      name: "Heartlog",
      dependencies: [
        "HeartlogFiles", "HeartlogFormat", "HeartlogEngine",
        "HeartlogState",
      ],
      swiftSettings: settings),
    .target(name: "HeartlogSwiftUI", dependencies: ["Heartlog"], swiftSettings: settings),
    .target(name: "HeartlogTesting", dependencies: ["Heartlog"], swiftSettings: settings),
    .target(name: "HeartlogLibraries", dependencies: ["Heartlog"], swiftSettings: settings),
    .target(
      name: "HeartlogInterchange", dependencies: ["CHeartlogPlatform", "HeartlogLibraries"],
      swiftSettings: settings),
    .target(
      name: "HeartlogSync",
      dependencies: [linux("CCurl"), "CHeartlogPlatform", "HeartlogFiles", "HeartlogFormat", "Heartlog"],
      swiftSettings: settings),
    .target(
      name: "HeartlogHTTPServer", dependencies: ["CMicrohttpd", "HeartlogFiles", "HeartlogFormat"],
      swiftSettings: settings),
    .target(
      name: "HeartlogHubServer",
      dependencies: [
        "CMicrohttpd", "CPostgreSQL", "CSQLite", "HeartlogFiles", "HeartlogFormat", "HeartlogHTTPServer",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "HeartlogHubCommand", dependencies: ["HeartlogHubServer"], swiftSettings: settings),
    // The files of the page are part of the program: page.c embeds them.
    .target(
      name: "CHeartlogPage", path: "Sources/HeartlogInspector/Page",
      exclude: ["index.html", "page.css"]
        + ["source", "file", "libraries", "pages", "screen"].map { "\($0).js" }),
    .target(
      name: "HeartlogInspector",
      dependencies: ["CHeartlogPage", "HeartlogFiles", "HeartlogFormat", "HeartlogHTTPServer", "Heartlog"],
      exclude: ["Page"], swiftSettings: settings),
    .target(
      name: "HeartlogCLI",
      dependencies: [
        linux("CQRencode"), "CHeartlogPlatform", "HeartlogFiles", "HeartlogFormat", "Heartlog",
        "HeartlogLibraries", "HeartlogInterchange", "HeartlogSync", "HeartlogInspector",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "HeartlogCommand", dependencies: ["HeartlogCLI", "HeartlogSync"], swiftSettings: settings),
    .executableTarget(
      name: "HeartlogExample", dependencies: ["HeartlogInterchange", "HeartlogTesting"],
      swiftSettings: settings),

    // What tests of all kinds share.
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
    // The lab: what looks for promises that are not kept. No products.
    .target(
      name: "HeartlogCrashModel", dependencies: ["HeartlogFiles", "HeartlogFormat", "TestSupport"],
      path: "Tests/Lab/CrashModel",
      swiftSettings: settings),
    .target(
      name: "HeartlogSimulator",
      dependencies: [
        "HeartlogFiles", "HeartlogCrashModel", "HeartlogFormat", "HeartlogEngine", "Heartlog",
        "HeartlogSync", "HeartlogTesting",
      ],
      path: "Tests/Lab/Simulator", swiftSettings: settings),
    .executableTarget(
      name: "HeartlogTorture",
      dependencies: ["HeartlogFiles", "Heartlog", "HeartlogSimulator", "HeartlogTesting"],
      path: "Tests/Lab/Torture", swiftSettings: settings),
    .systemLibrary(name: "CLibFuzzer", path: "Tests/Lab/CLibFuzzer"),
    .target(
      name: "HeartlogFuzzing",
      dependencies: [
        "HeartlogFiles", "HeartlogFormat", "HeartlogEngine", "HeartlogState", "Heartlog",
        "HeartlogLibraries", "HeartlogInterchange", "HeartlogSync", "HeartlogCrashModel", "HeartlogSimulator",
        "HeartlogCLI", "TestSupport",
      ],
      path: "Tests/Lab/Fuzzing", swiftSettings: settings),
    .executableTarget(
      name: "HeartlogFuzz", dependencies: ["CLibFuzzer", "HeartlogFuzzing"], path: "Tests/Lab/Fuzz",
      swiftSettings: settings),

    .testTarget(
      name: "HeartlogFilesTests", dependencies: ["HeartlogFiles", "HeartlogFormat", "HeartlogCrashModel"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogTracingTests", dependencies: ["HeartlogSync", "HeartlogTesting", "HeartlogCrashModel"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogFormatTests", dependencies: ["HeartlogFormat", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HeartlogEngineTests", dependencies: ["HeartlogEngine", "HeartlogCrashModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogStateTests", dependencies: ["HeartlogState", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "HeartlogTests",
      dependencies: ["Heartlog", "HeartlogTesting", "HeartlogCrashModel", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogTestingTests", dependencies: ["HeartlogTesting"], swiftSettings: settings),
    // One for each app, and what these share.
    .target(
      name: "LibraryTestSupport", dependencies: ["HeartlogInterchange", "HeartlogTesting"],
      path: "Tests/LibraryTestSupport",
      swiftSettings: settings),
    libraryTests("ArchivesTests"),
    libraryTests("PapersTests"),
    libraryTests("CitiesTests"),
    libraryTests("BreedsTests"),
    libraryTests("BooksTests", alsoUsing: ["HeartlogSync"]),
    // A library of an app's own, with a descriptor of its own.
    libraryTests("PodcastsTests", alsoUsing: ["HeartlogSync"]),
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "HeartlogFormat", "HeartlogLibraries", "HeartlogInterchange", "HeartlogSync", "HeartlogTesting",
      ],
      swiftSettings: settings + [.define("HEARTLOG_STAND_INS")]),
    // Links to the same sources, as an app compiles them whose default isolation is the main actor.
    .testTarget(
      name: "DocumentationOnMainActorTests",
      dependencies: [
        "HeartlogFormat", "HeartlogLibraries", "HeartlogInterchange", "HeartlogSync", "HeartlogTesting",
      ],
      swiftSettings: settings + [.defaultIsolation(MainActor.self), .define("HEARTLOG_STAND_INS")]),
    .testTarget(name: "HeartlogExampleTests", dependencies: ["HeartlogExample"], swiftSettings: settings),
    libraryTests("InterchangeTests"),
    .testTarget(
      name: "HeartlogSyncTests",
      dependencies: [
        "HeartlogSync", "HeartlogFormat", "HeartlogEngine", "HeartlogTesting", "HeartlogCrashModel",
        "HeartlogSimulator", "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogHubTests",
      dependencies: ["HeartlogSync", "HeartlogTesting", "HeartlogSimulator", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogHubServerTests",
      dependencies: ["HeartlogHubServer"], swiftSettings: settings),
    .testTarget(
      name: "HeartlogInspectorTests", dependencies: ["HeartlogInspector", "HeartlogTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogSimulatorTests", dependencies: ["HeartlogSimulator"], swiftSettings: settings),
    .testTarget(
      name: "HeartlogFuzzingTests", dependencies: ["HeartlogFuzzing", "HeartlogTesting", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HeartlogCLITests", dependencies: ["HeartlogCLI", "HeartlogSync"], swiftSettings: settings),
  ]
)

// The sources of Apple platforms, compiled and tested here too: Tests/AppleBranches links to them, and the modules that they import are
// stand-ins. Apple's own have the same names, so these are declared nowhere else.
#if os(Linux)
  package.targets += [
    .target(
      name: "Compression", dependencies: ["CLZ4"], path: "Tests/StandIns/Compression", swiftSettings: settings
    ),
    .target(
      name: "CryptoKit", dependencies: ["CCrypto"], path: "Tests/StandIns/CryptoKit", swiftSettings: settings),
    .target(
      name: "AppleBranches", dependencies: ["Compression", "CryptoKit"], path: "Tests/AppleBranches",
      swiftSettings: settings + [.define("HEARTLOG_STAND_INS")]),
    .target(name: "os", path: "Tests/StandIns/os", swiftSettings: settings),
    .target(
      name: "AppleTracing", dependencies: ["os", "HeartlogFormat"], path: "Tests/AppleTracing",
      swiftSettings: settings + [.define("HEARTLOG_STAND_INS")]),
    .target(
      name: "AppleHub", dependencies: ["HeartlogFiles", "HeartlogSync"], path: "Tests/AppleHub",
      swiftSettings: settings + [.define("HEARTLOG_STAND_INS")]),
    .testTarget(
      name: "AppleHubTests", dependencies: ["AppleHub", "HeartlogSync"], swiftSettings: settings),
    .testTarget(
      name: "AppleBranchesTests",
      dependencies: [
        "AppleBranches", "AppleTracing", "HeartlogFormat", "Heartlog", "TestSupport",
      ],
      swiftSettings: settings),
  ]
#endif

// Optimized sources that keep their assertions, for tests under a sanitizer: Scripts/test. The tests themselves are not: they are compiled
// more often than that pays.
if Context.environment["HEARTLOG_OPTIMIZED"] != nil {
  for target in package.targets where [.regular, .executable].contains(target.type) {
    target.swiftSettings? += [
      .unsafeFlags(
        [
          "-O", "-assert-config", "Debug", "-disable-batch-mode", "-whole-module-optimization",
          "-num-threads", "2",
        ],
        .when(configuration: .debug))
    ]
  }
}

if let archives {
  for target in package.targets
  where ["HeartlogCommand", "HeartlogExample", "HeartlogTorture"].contains(target.name) {
    target.linkerSettings =
      (target.linkerSettings ?? []) + [.unsafeFlags(["-L", archives, "-Xclang-linker", "-static-libgcc"])]
  }
}

// Some targets with all that they need, for a build that should not take long: Scripts/test.
if let names = Context.environment["HEARTLOG_TARGETS"] {
  var needed = Set(names.split(separator: ",").map(String.init))
  for target in package.targets.reversed() where needed.contains(target.name) {
    for case .targetItem(let name, _) in target.dependencies { needed.insert(name) }
    for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products.removeAll()
}
