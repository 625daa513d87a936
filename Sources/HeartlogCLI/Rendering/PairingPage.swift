import Heartlog
import HeartlogShipping

/// What `keys pair` prints.
struct PairingPage {
  let report: PairingReport
  /// The other device as it was named.
  let peer: String

  var lines: [String] {
    var lines: [String] = []
    let other = Self.shown(report.peer, report.peerName)
    if let device = report.admitted {
      lines.append("admitted: \(Self.shown(device.replica, device.name))")
      lines.append("  key  \(Fingerprint.text(device.fingerprint))")
      lines.append(
        device.isOwn
          ? "Sync \(other) once, and then this device: a hub does not let it in before."
          : "Sync this device once, and then \(other): a hub does not let it in before.")
    } else {
      let exchanged = [(report.epochsReceived, "received"), (report.epochsSent, "sent")].filter { $0.0 > 0 }
        .map { "\(Quantity.count($0.0, "key epoch")) \($0.1)" }
      if exchanged.isEmpty {
        lines.append("nothing had to be done: this device and \(other) have the keys already")
      } else {
        lines.append("this device and \(other) have the same keys now: \(exchanged.joined(separator: ", "))")
      }
    }
    return lines.map(DisplayText.visible)
  }

  private static func shown(_ replica: ReplicaID, _ name: String) -> String {
    "\(replica.description.prefix(EventLine.prefixDigits))\(name.isEmpty ? "" : " \(name)")"
  }

  func write(to json: inout JSONWriter) {
    json.member("peer", peer)
    json.member("peerReplica", report.peer.description)
    json.member("peerName", report.peerName)
    if let device = report.admitted {
      json.name("admitted")
      json.beginObject()
      json.member("replica", device.replica.description)
      json.member("name", device.name)
      json.member("fingerprint", device.fingerprint.description)
      json.member("isOwn", device.isOwn)
      json.endObject()
    }
    json.member("epochsReceived", report.epochsReceived)
    json.member("epochsSent", report.epochsSent)
  }
}
