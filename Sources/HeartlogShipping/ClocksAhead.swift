import Heartlog

extension SyncReport {
  /// A clock at least this far ahead is reported.
  static let clockAheadMillisecondsMin: Milliseconds = 3_600_000

  /// Reports the devices whose clocks were far ahead at the last of their commits in the store.
  mutating func noteClocks(of replicas: [ReplicaID], in store: any ShippedStreams, now: Milliseconds) {
    for replica in replicas {
      guard let wallTime = store.lastWallTime(of: replica), wallTime - now >= Self.clockAheadMillisecondsMin
      else { continue }
      // If the streams cannot be listed, the device is still reported, without its name.
      let head = try? store.streamHead(of: replica)
      noteClock(of: replica, called: head?.name, ahead: wallTime - now)
    }
  }

  /// Reports a device once, if its clock is far ahead.
  mutating func noteClock(of replica: ReplicaID?, called name: String?, ahead milliseconds: Milliseconds) {
    guard milliseconds >= Self.clockAheadMillisecondsMin,
      replica == nil || !clocksAhead.contains(where: { $0.replica == replica })
    else { return }
    clocksAhead.append(
      ClockAhead(replica: replica, name: name.flatMap { $0.isEmpty ? nil : $0 }, milliseconds: milliseconds))
  }
}
