import HeartlogFiles
import HeartlogFormat
import HeartlogEngine

/// What verifying a store found: damage of streams, and what is wrong with snapshots, on which the log does not depend.
public struct StoreVerification: Sendable {
  /// The streams, sorted by replica.
  package let streams: [StreamVerification]
  /// The snapshots, those with the most events first.
  package let snapshots: [SnapshotVerification]

  /// The damage that ends the sound part of a stream: at most one for each stream.
  public var findings: [Finding] { streams.compactMap(\.finding) }
}

/// The result of verifying a snapshot.
package struct SnapshotVerification: Hashable, Sendable {
  /// The name of its file, in the store's folder `snapshots`.
  package let name: String
  /// The number of events that it covers, according to its name.
  package let events: UInt64
  /// What is wrong with it; nil if nothing is. The log does not depend on it.
  package let problem: String?
  /// Whether a store can still be opened from it. False if it is from another version, from another store, or from a stream that ended
  /// before it.
  package let isOfUse: Bool
}

extension FavoritesStore {
  /// Reads every byte of the log and the snapshots, and checks everything the format guarantees: checksums, hashes, and that segments,
  /// snapshots, heads and the lock page agree with each other.
  ///
  /// - Parameter progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `inputOutput` if a file cannot be read. Damage does not throw; it is reported as a finding.
  public func verify(progress: LogProgress? = nil) throws(HeartlogError) -> StoreVerification {
    try Self.verify(at: path, on: fileSystem, progress: progress)
  }

  /// Verifies the store in a folder without opening it, like `verify(progress:)`.
  ///
  /// - Parameters:
  ///   - path: the folder of the store.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `notAStore`, `newerFormat`, `inputOutput`. Damage does not throw; it is reported as a finding.
  public static func verify(
    at path: String, progress: LogProgress? = nil
  ) throws(HeartlogError) -> StoreVerification {
    try verify(at: path, on: POSIXFileSystem(), progress: progress)
  }

  package static func verify(
    at path: String, on fileSystem: any FileSystem, trusting keys: [ReplicaID: Digest]? = nil,
    progress: LogProgress?
  ) throws(HeartlogError) -> StoreVerification {
    try heartlogErrors {
      let folder = SnapshotFolder(at: path, on: fileSystem)
      let snapshots = try folder.checked()
      var streams = try Verification.run(
        at: path, on: fileSystem, snapshots: snapshots.compactMap { $0.content?.claim }, progress: progress)
      let trusted = try keys ?? CommitLog.trustedKeys(at: path, on: fileSystem)
      for index in streams.indices {
        guard let key = streams[index].checkpoint?.key, !streams[index].isOwn else { continue }
        streams[index].isTrusted = trusted[streams[index].replica] == key.fingerprint
      }
      // A snapshot cannot be compared with a damaged log.
      let isLogSound = streams.allSatisfy { $0.finding?.verdict ?? .torn == .torn }
      return StoreVerification(
        streams: streams,
        snapshots: try snapshots.map { snapshot in
          var problem = snapshot.problem
          var isOfUse = snapshot.isOfThisVersion
          if let content = snapshot.content {
            isOfUse = try LogReplay(at: path, on: fileSystem).isOfUse(content.claim.positions)
            if isLogSound, isOfUse, try content.differs(fromLogAt: path, on: fileSystem) {
              // Content may have been erased since: then nobody opens the store from it.
              isOfUse = try folder.erasedGeneration() == content.state.erasedGeneration
              if isOfUse { problem = SnapshotProblem.otherState }
            }
          }
          return SnapshotVerification(
            name: snapshot.file.name, events: snapshot.file.eventCount, problem: problem, isOfUse: isOfUse)
        })
    }
  }
}

private enum SnapshotProblem {
  static let otherState = "the log up to it produces a different state"
}

/// A snapshot with every page checked.
private struct CheckedSnapshot {
  struct Content {
    let claim: SnapshotClaim
    let state: FavoritesState

    /// Whether replaying the log up to the snapshot's positions gives a different state.
    func differs(fromLogAt path: String, on fileSystem: any FileSystem) throws -> Bool {
      let heads = claim.positions.map { Head(replica: $0.replica, commit: $0.commit) }
      var replayed = FavoritesState()
      _ = try LogReplay(at: path, on: fileSystem).run { replayed.apply($0, upTo: heads) }
      return replayed.digest != state.digest || replayed.heads != state.heads
        || replayed.eventCount != state.eventCount || replayed.conflicts != state.conflicts
    }
  }

  let file: SnapshotFile
  /// Nil if the snapshot is damaged or of another version.
  var content: Content?
  var problem: String?
  var isOfThisVersion = true
}

extension SnapshotFolder {
  /// Reads and checks all existing snapshots.
  fileprivate func checked() throws -> [CheckedSnapshot] {
    try files().compactMap { file in
      guard let mapping = try map(file) else { return nil }
      var checked = CheckedSnapshot(file: file)
      guard FavoritesState.isSnapshotOfThisVersion(mapping.bytes) else {
        checked.isOfThisVersion = false
        return checked
      }
      do {
        var (state, log) = try FavoritesState.snapshot(mapping.bytes, owner: mapping)
        let positions = try SnapshotKeeper.positions(log)
        state.loadSnapshot()
        if state.isDamaged {
          checked.problem = SnapshotKeeper.damage
        } else {
          checked.content = CheckedSnapshot.Content(
            claim: SnapshotClaim(positions: positions, file: path(of: file)), state: state)
        }
      } catch let error as MalformedError {
        checked.problem = error.reason
      }
      return checked
    }
  }
}

extension FavoritesStore {
  /// A clock that is wrong by less is not reported, as by a sync.
  package static let wrongClockMillisecondsMin: Milliseconds = 3_600_000
  /// A device that wrote nothing for longer, and is not retired, may never come back.
  private static let unseenMillisecondsMin: Milliseconds = 90 * 86_400_000

  /// Looks for everything that may be wrong with the store in a folder. Changes nothing, and takes the lock for one attempt at most.
  ///
  /// - Throws: `notAStore`, `inputOutput`. Faults do not throw.
  package static func diagnose(
    at path: String, options: StoreOptions = StoreOptions(), progress: LogProgress? = nil
  ) throws(HeartlogError) -> [Fault] {
    try diagnose(at: path, on: POSIXFileSystem(), options: options, progress: progress)
  }

  static func diagnose(
    at path: String, on fileSystem: any FileSystem, options: StoreOptions, progress: LogProgress? = nil
  ) throws(HeartlogError) -> [Fault] {
    var options = options
    options.access = .readOnly
    options.createsIfMissing = false
    let examination = try StoreExamination(at: path, on: fileSystem, options: options.storage)
    var faults = examination.faults
    let now = options.clock()
    if !(0...Limits.clockMillisecondsMax).contains(now) {
      faults.append(Fault(.clockOutOfRange, "it says \(timeText(now))", at: "this device"))
    }
    guard examination.isReadable else { return faults }
    do {
      // A damaged list of trusted keys is reported above. `verify` would end with it.
      let found = try verify(at: path, on: fileSystem, trusting: [:], progress: progress)
      for stream in found.streams {
        guard let finding = stream.finding else { continue }
        faults.append(
          Fault(
            Self.kind(of: finding), finding.error.description,
            at: finding.error.file ?? stream.replica.description))
      }
      for snapshot in found.snapshots {
        let file = "\(path)/snapshots/\(snapshot.name)"
        if let problem = snapshot.problem {
          faults.append(Fault(.damagedSnapshot, problem, at: file))
        } else if !snapshot.isOfUse {
          faults.append(Fault(.unusedSnapshot, at: file))
        }
      }
      let store = try FavoritesStore(at: path, on: fileSystem, options: options)
      faults += store.deviceFaults(now: now)
      for replica in try store.droppedReplicas() {
        faults.append(Fault(.droppedStream, at: "\(path)/replicas/\(replica).dropped"))
      }
    } catch {
      switch error.code {
      case .newerFormat: faults.append(Fault(.newerFormat, error.message, at: error.file ?? path))
      case .corrupt where error.isRepairable: break
      case .corrupt: faults.append(Fault(.damagedSegment, error.message, at: error.file ?? path))
      default: throw error
      }
    }
    return faults
  }

  private static func kind(of finding: Finding) -> Fault.Kind {
    switch finding.verdict {
    case .torn: return .tornTail
    case .lost: return .lostCommits
    case .corrupt: break
    }
    if finding.error.isNotDownloaded { return .notDownloaded }
    if finding.error.isRepairable { return .damagedEnd }
    return finding.error.file?.hasSuffix("/checkpoint") == true ? .damagedCheckpoint : .damagedSegment
  }

  private func deviceFaults(now: Milliseconds) -> [Fault] {
    var faults: [Fault] = []
    for device in devices {
      let place = device.name.isEmpty ? "\(device.replica)" : "\(device.name) (\(device.replica))"
      if device.isEnded {
        faults.append(Fault(device.isOwn ? .ownStreamEnded : .endedStream, at: place))
      }
      guard let lastSeen = device.lastSeen, let latest = device.latestTime else { continue }
      if lastSeen - now >= Self.wrongClockMillisecondsMin {
        faults.append(
          Fault(
            device.isOwn ? .clockBehind : .deviceClockAhead,
            "its last write is of \(Self.timeText(lastSeen)), and it is \(Self.timeText(now)) here", at: place
          ))
      }
      if device.isOwn, latest - lastSeen >= Self.wrongClockMillisecondsMin {
        faults.append(
          Fault(
            .clockWasSetBack, "it wrote at \(Self.timeText(latest)), and later at \(Self.timeText(lastSeen))",
            at: place))
      }
      let signed = (try? log.checkpoint(of: device.replica))?.checkpoint.size
      if device.isOwn {
        // A device signs when it syncs.
        if signed != nil || log.vault?.isEstablished == true, signed ?? 0 < device.head {
          faults.append(
            Fault(.unshippedCommits, "\(device.head - (signed ?? 0)) of \(device.head)", at: place))
        }
      } else if let signed, signed < device.head, !device.isEnded {
        faults.append(Fault(.unsignedCommits, "\(device.head - signed) of \(device.head)", at: place))
      } else if !device.isRetired, !device.isEnded, now - lastSeen >= Self.unseenMillisecondsMin {
        faults.append(Fault(.unseenDevice, "its last write is of \(Self.timeText(lastSeen))", at: place))
      }
    }
    return faults
  }

  private static func timeText(_ time: Milliseconds) -> String {
    RFC3339.text(min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax))
  }
}
