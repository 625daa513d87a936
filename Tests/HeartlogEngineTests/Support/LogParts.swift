import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles

@testable import HeartlogEngine

/// The parts of a log that holds the store's lock and has read every stream, without the log.
struct LogParts {
  let files: MemoryFileSystem
  let projection = RecordingProjection()
  let lease: StoreLease
  let appender: SegmentAppender
  let streamSet: StreamSet
  let recovery: TailRecovery
  let receiver: RunReceiver

  init(_ files: MemoryFileSystem, options: StorageOptions = TestStore.options(seed: 50)) throws {
    self.files = files
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    let monitor = Monitor()
    let lease = StoreLease(try StoreLock(directory), monitor: monitor)
    try monitor.withLock { () throws(HeartlogError) in try lease.acquire(waitingAtMost: 0) }
    self.lease = lease
    appender = SegmentAppender(directory, lease)
    streamSet = StreamSet(
      directory, identity: try StoreIdentity.read(directory),
      checkpoints: Checkpoints(directory, options, lease.lock),
      erased: ErasedEvents(directory, options, lease.lock), snapshots: [], projection: projection)
    recovery = TailRecovery(directory, options, lease, appender, streamSet)
    receiver = RunReceiver(directory, options, lease, appender, streamSet, recovery)
    var meter = ProgressMeter(nil, total: 0)
    for replica in try directory.replicas() {
      streamSet.readers[replica] = StreamReader(directory, replica: replica)
      try streamSet.readOn(replica, lease.lock.page(), &meter)
    }
    files.clearTrace()
  }

  /// The operations that changed the store since the parts were made.
  var trace: [String] { files.trace.map(\.description) }
}
