import Foundation
import Testing

@Suite("The files for Apple platforms")
struct BranchFilesTests {
  @Test("each is chosen by one condition, and compiled here too")
  func files() throws {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let sources = try #require(
      FileManager.default.enumerator(atPath: package.appending(path: "Sources").path))
    var count = 0
    for case let path as String in sources where path.hasSuffix(".swift") {
      let text = try String(contentsOf: package.appending(path: "Sources/\(path)"), encoding: .utf8)
      let marks = ["import CryptoKit", "import Compression", "HEARTLOG_STAND_INS"]
      guard marks.contains(where: { text.contains($0) }) else { continue }
      count += 1
      #expect(text.hasPrefix("#if canImport(Darwin) || HEARTLOG_STAND_INS\n"), "\(path)")
      let folders = [
        "import os": "AppleTracing", "import FoundationNetworking": "AppleHub",
        "import SwiftUI": "DocumentationTests/Views", "import UIKit": "DocumentationTests/Views",
      ]
      let folder = folders.first { text.contains($0.key) }?.value ?? "AppleBranches"
      let link = package.appending(path: "Tests/\(folder)/\(URL(filePath: path).lastPathComponent)")
      let target = try FileManager.default.destinationOfSymbolicLink(atPath: link.path)
      #expect(target.hasSuffix("../Sources/\(path)") && FileManager.default.fileExists(atPath: link.path))
    }
    #expect(count == 8)
  }
}
