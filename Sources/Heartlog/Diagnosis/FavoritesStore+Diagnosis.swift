import HeartlogFiles
import HeartlogStorage

/// Something about a store that a person should know.
package typealias Fault = HeartlogStorage.Fault

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
