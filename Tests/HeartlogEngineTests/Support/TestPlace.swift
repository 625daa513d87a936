import HeartlogCrashModel

extension TestPlace {
  /// A new store in it.
  func store(seed: UInt64 = 1) throws -> TestStore {
    let store = TestStore(files: files, path: path("store"))
    try store.create(seed: seed)
    return store
  }
}
