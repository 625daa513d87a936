import HeartlogCrashModel
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("Who else may read a store")
struct PermissionTests {
  /// Files that everybody may read, of one owner.
  private static func openToOthers(owner: UInt32 = 0, user: UInt32 = 0) -> InterceptedFiles.Hooks {
    var hooks = InterceptedFiles.Hooks()
    hooks.describe = { info in
      info.owner = owner
      info.permissions = 0o755
    }
    hooks.userID = user
    return hooks
  }

  /// A store with one commit, whose files everybody may read.
  private func store(owner: UInt32 = 0, user: UInt32 = 0) throws -> (TestStore, InterceptedFiles) {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    open.log.close()
    let intercepted = InterceptedFiles(files, Self.openToOthers(owner: owner, user: user))
    return (TestStore(files: intercepted, path: store.path), intercepted)
  }

  @Test("a folder that was made for a store is closed to others before anything is in it")
  func creation() throws {
    let memory = MemoryFileSystem(recording: true)
    try memory.createDirectory("/store")
    let files = InterceptedFiles(memory, Self.openToOthers())
    try TestStore(files: files, path: "/store").create()
    #expect(files.restrictedPaths == ["/store"])
  }

  @Test("the first write closes each file to others, and the folder at last")
  func firstWrite() throws {
    let (store, files) = try store()
    let open = try store.open()
    #expect(files.restrictedPaths.isEmpty && !open.log.hasTakenPermissions)
    try open.write(1)
    let stream = "/store/replicas/\(open.replica)"
    #expect(
      files.restrictedPaths == [
        "/store/lock", "\(stream)/0000000000000001.open", stream, "/store/replicas", "/store/store", "/store",
      ])
    #expect(open.log.hasTakenPermissions)
  }

  @Test("the files of the device-local fields are closed too")
  func localFields() throws {
    let (store, files) = try store()
    try files.createDirectory("/store/local")
    for name in ["lock", "0123.fields"] { _ = try files.open("/store/local/\(name)", .createNew) }
    let (before, open) = (files.restrictedPaths.count, try store.open())
    try open.write(1)
    let local = files.restrictedPaths.dropFirst(before).filter { $0.hasPrefix("/store/local") }
    #expect(local == ["/store/local/0123.fields", "/store/local/lock", "/store/local"])
  }

  @Test("where permissions cannot be changed, they are left, and the store is written")
  func refused() throws {
    let (store, files) = try store()
    files.change { $0.canRestrict = false }
    let open = try store.open()
    try open.write(1)
    #expect(files.restrictedPaths.isEmpty && !open.log.hasTakenPermissions)
  }

  @Test("only the owner and the administrator change permissions", arguments: [0, 501, 502] as [UInt32])
  func owner(user: UInt32) throws {
    let (store, files) = try store(owner: 501, user: user)
    let open = try store.open()
    try open.write(1)
    #expect(files.restrictedPaths.isEmpty == (user == 502))
    #expect(open.log.hasTakenPermissions == (user != 502))
  }
}
