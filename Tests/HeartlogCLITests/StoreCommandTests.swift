import Foundation
import HeartlogFiles
import Testing

@testable import Heartlog
@testable import HeartlogCLI

@Suite("Commands over a store")
struct StoreCommandTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())").path

  private func run(_ arguments: String...) -> (exitCode: Int32, standard: String, error: String) {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(
      arguments: ["--store", folder] + arguments, environment: [:], output: captured.output, clock: .test)
    return (exitCode, captured.standard, captured.error)
  }

  private func withStore(_ body: () throws -> Void) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(run("init", "--name", "phone").exitCode == 0)
    try body()
  }

  @Test("status names the vault in JSON, and so does init")
  func vault() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let made = try JSONValue.parse(Array(run("init", "--json").standard.utf8))
    let status = try JSONValue.parse(Array(run("status", "--json").standard.utf8))
    let store = try FavoritesStore(
      at: URL(filePath: folder).path, on: POSIXFileSystem(), options: StoreOptions())
    let vault = try #require(store.vault?.id.description)
    #expect(made["vault"] == .string(vault) && status["vault"] == .string(vault))
  }

  @Test("list and log tell ids apart that look equal, and JSON prints nothing that a terminal obeys")
  func lookAlikes() throws {
    try withStore {
      for id in ["caf\u{E9}", "cafe\u{301}", "a", "a\u{200B}", "\u{FEFF}a"] {
        #expect(run("add", "lib", id).exitCode == 0)
      }
      #expect(run("add", "lib", "x", "title=\u{9B}31m\u{202E}").exitCode == 0)
      for command in ["list", "log"] {
        let text = run(command, "lib").standard
        for id in ["caf\u{E9}", "cafe\\u{301}", "a\\u{200B}", "\\u{FEFF}a"] {
          #expect(text.contains(id), "\(command) \(id)")
        }
        let json = run(command, "lib", "--json").standard
        for scalar in ["\u{9B}", "\u{202E}", "\u{200B}", "\u{FEFF}"] as [Unicode.Scalar] {
          #expect(!json.unicodeScalars.contains(scalar))
        }
        #expect(json.contains("\\u009b31m\\u202e"))
      }
    }
  }

  @Test("undoing an erasure says why there is nothing to undo")
  func undoneErasure() throws {
    try withStore {
      #expect(run("add", "lib", "a").exitCode == 0)
      #expect(run("erase", "lib", "a").exitCode == 0)
      let undo = run("undo", "--last")
      #expect(undo.exitCode == 1)
      #expect(
        undo.error
          == "heartlog: there is nothing to undo: 1 event erased content, and an erasure cannot be undone. Nothing was written.\n"
      )
    }
  }

  @Test("a backup into the store is refused")
  func nestedBackup() throws {
    try withStore {
      for path in ["backup", "new/one.backup", "replicas/../backup"] {
        let backup = run("backup", "\(folder)/\(path)")
        #expect(backup.exitCode == 64 && backup.error.contains("is inside a store"), "\(backup)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(names == ["keys", "lock", "replicas", "store"])
    }
  }

  @Test(
    "no output file is written into a store", arguments: ["store", "replicas/report.html", "report.html"])
  func outputInStore(path: String) throws {
    try withStore {
      let report = run("inspect", "-o", "\(folder)/\(path)")
      #expect(report.exitCode == 73 && report.error.contains("it is inside a store"), "\(report)")
      #expect(run("verify").exitCode == 0)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(names == ["keys", "lock", "replicas", "store"])
    }
  }

  @Test("an evicted segment is not downloaded, with exit code 65, until it is there again")
  func evicted() throws {
    try withStore {
      for id in ["a1", "a2", "a3"] { #expect(run("add", "lib", id).exitCode == 0) }
      let stream = try #require(FileManager.default.contentsOfDirectory(atPath: "\(folder)/replicas").first)
      let (segment, placeholder) = ("0000000000000001.open", ".0000000000000001.open.icloud")
      func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(
          atPath: "\(folder)/replicas/\(stream)/\(name)", toPath: "\(folder)/replicas/\(stream)/\(other)")
      }
      try move(segment, to: placeholder)
      for command in [["list", "lib"], ["add", "lib", "z"], ["verify"], ["doctor"], ["repair"]] {
        let captured = CapturedOutput()
        let code = HeartlogCLI.run(
          arguments: ["--store", folder] + command, environment: [:], output: captured.output, clock: .test)
        #expect(code == 65, "\(command)")
        let said = captured.standard + captured.error
        #expect(
          said.contains("not downloaded") && said.contains(placeholder) && said.contains("commits from 1 on"),
          "\(command): \(said)")
        #expect(!said.contains("lost:"))
      }
      try move(placeholder, to: segment)
      #expect(run("add", "lib", "z").exitCode == 0 && run("verify").exitCode == 0)
    }
  }
}
