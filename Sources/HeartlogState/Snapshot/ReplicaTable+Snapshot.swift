import HeartlogFormat

extension ReplicaTable {
  func append(to directory: inout ByteWriter, _ writer: inout SnapshotWriter) throws {
    directory.varint(replicas.count)
    for replica in replicas {
      directory.replica(replica.id)
      directory.u64(replica.head)
      directory.u64(replica.eventCount)
      directory.u64(replica.lastStamp.rawValue)
      directory.varint(replica.beyond.count)
      for (number, events) in replica.beyond.sorted(by: { $0.key < $1.key }) {
        directory.u64(number)
        directory.u64(events.firstSequence)
        directory.varint(events.eventCount)
      }
      directory.location(try writer.records(replica.commitNumbers.runs))
      directory.u64(replica.commitNumbers.next.commit)
      directory.u64(replica.commitNumbers.next.sequence)
      directory.varint(replica.seen.entries.count)
      for (other, entries) in replica.seen.entries.sorted(by: { $0.key.index < $1.key.index }) {
        directory.varint(Int(other.index))
        directory.location(try writer.records(entries))
      }
    }
  }

  init(_ reader: inout SnapshotReader) throws(MalformedError) {
    self.init()
    let count = try reader.count("replicas")
    for _ in 0..<count {
      var progress = Progress(id: try reader.bytes.replica())
      progress.head = try reader.number()
      progress.eventCount = try reader.number()
      progress.lastStamp = try reader.stamp()
      for _ in 0..<(try reader.count("commits beyond a gap")) {
        let number = try reader.number()
        let sequence = try reader.number()
        progress.beyond[number] = (
          sequence, try reader.number(atMost: Limits.blockEventsMax, "events of a commit")
        )
      }
      let runs: PagedTable<CommitNumbers.Run> = try reader.table()
      progress.commitNumbers = CommitNumbers(runs, next: (try reader.number(), try reader.number()))
      var seen: [ReplicaSlot: PagedTable<SeenCommits.Entry>] = [:]
      for _ in 0..<(try reader.count("replicas that were seen")) {
        let other = try reader.number(atMost: max(0, count - 1), "a replica")
        seen[ReplicaSlot(index: Int32(other))] = try reader.table()
      }
      progress.seen = SeenCommits(seen)
      guard append(progress) else { throw MalformedError("a replica that a snapshot has twice") }
    }
  }

  func loadAll() {
    for replica in replicas {
      replica.commitNumbers.loadAll()
      replica.seen.loadAll()
    }
  }
}
