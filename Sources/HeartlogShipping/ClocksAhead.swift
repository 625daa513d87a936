import Heartlog

extension SyncReport {
  /// A clock that is so far ahead is named.
  static let clockAheadMillisecondsMin: Milliseconds = 3_600_000

  /// Names the devices whose clocks were far ahead at their last commits that are here.
  mutating func noteClocks(of replicas: [ReplicaID], in store: any ShippedStreams, now: Milliseconds) {
    for replica in replicas {
      guard let wallTime = store.lastWallTime(of: replica), wallTime - now >= Self.clockAheadMillisecondsMin
      else { continue }
      // A store that cannot list its streams now still knows whose they are.
      let head = (try? store.streamHeads())?.first { $0.replica == replica }
      noteClock(of: replica, called: head?.name, ahead: wallTime - now)
    }
  }

  /// Names a device if its clock is far ahead, once.
  mutating func noteClock(of replica: ReplicaID?, called name: String?, ahead milliseconds: Milliseconds) {
    guard milliseconds >= Self.clockAheadMillisecondsMin,
      replica == nil || !clocksAhead.contains(where: { $0.replica == replica })
    else { return }
    clocksAhead.append(
      ClockAhead(replica: replica, name: name.flatMap { $0.isEmpty ? nil : $0 }, milliseconds: milliseconds))
  }
}
