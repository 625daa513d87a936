import Heartlog
import HeartlogFormat

extension EvidenceReport {
  private struct Section {
    let id: String
    let title: String
    let body: (inout HTML) -> Void
  }

  private var sections: [Section] {
    [
      Section(id: "identity", title: "The store", body: writeIdentity),
      Section(id: "devices", title: "Devices and keys", body: writeDevices),
      Section(id: "activity", title: "Activity", body: writeActivity),
      Section(id: "favorites", title: "Favorites", body: writeFavorites),
      Section(id: "conflicts", title: "Conflicts", body: writeConflicts),
      Section(id: "verification", title: "Verification", body: writeVerification),
      Section(id: "meaning", title: "What this proves, and what it does not", body: writeMeaning),
    ]
  }

  /// The report as an HTML page that needs nothing else.
  func page() -> [UInt8] {
    var html = HTML()
    html.element(.html, ["lang": "en"]) { html in
      html.element(.head) { html in
        html.element(.meta, ["charset": "utf-8"])
        // Even if something got through the escaping, no browser would run or load it.
        html.element(
          .meta,
          [
            "http-equiv": "Content-Security-Policy",
            "content": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
          ])
        html.element(.meta, ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.element(.title, text: "Heartlog: evidence report of \(status.path)")
        html.style(ReportStyle.sheet)
      }
      html.element(.body) { html in
        html.element(.header) { html in
          html.element(.h1, text: "Evidence report")
          html.element(.p) { html in
            html.text(moment.map { "The store as of \($0). " } ?? "The store as of now. ")
            html.text("Made on ")
            html.time(generated)
            html.text(" by the clock of the machine that made it. All times are in UTC.")
          }
        }
        html.element(.nav, ["aria-label": "Contents"]) { html in
          html.element(.ul) { html in
            for section in sections {
              html.element(.li) { $0.element(.a, ["href": "#\(section.id)"], text: section.title) }
            }
          }
        }
        html.element(.main) { html in
          for section in sections {
            html.element(.section, ["id": section.id, "aria-labelledby": "\(section.id)-title"]) { html in
              html.element(.h2, ["id": "\(section.id)-title"], text: section.title)
              section.body(&html)
            }
          }
        }
        html.element(
          .footer,
          text:
            "heartlog \(Version.text). This page is a copy of what the store says, and is not signed itself.")
      }
    }
    return html.bytes
  }

  // MARK: - Identity

  private func writeIdentity(_ html: inout HTML) {
    func entry(_ title: String, _ html: inout HTML, _ body: (inout HTML) -> Void) {
      html.element(.dt, text: title)
      html.element(.dd, [:], body)
    }
    html.element(.dl) { html in
      entry("Store", &html) { $0.name(status.path) }
      entry("Vault", &html) { html in
        if let vault { html.code("\(vault)") } else { html.text("none: it has never synced") }
      }
      entry("This device", &html) { html in
        html.name(status.name)
        html.text(" ")
        html.code("\(status.replica)")
      }
      entry("Digest", &html) { $0.code("\(status.digest)") }
      entry("Events", &html) { html in
        html.count(status.events)
        html.text(" in ")
        html.count(status.commits)
        html.text(" commits")
        if status.eventsWithoutContent > 0 {
          html.text(", of which ")
          html.count(status.eventsWithoutContent)
          html.text(" are without content and not covered by the digest")
        }
      }
      entry("Size", &html) { $0.text("\(Quantity.size(bytes: status.bytes)) on disk, now") }
      entry("Versions", &html) {
        $0.text("heartlog \(Version.text), store format \(Version.storeFormat)")
      }
    }
    html.element(
      .p,
      text:
        "The digest covers everything that is visible at that moment: two stores that show the same have the same digest, on any machine."
    )
  }

  // MARK: - Devices

  private func writeDevices(_ html: inout HTML) {
    html.table(
      caption: "The devices whose commits are in the store, with their commits and events at that moment",
      [.text("device"), .text("replica"), .number("commits"), .number("events"), .text("remarks")]
    ) { html in
      html.element(.tbody) { html in
        for replica in status.replicas {
          html.row { html in
            html.rowHeading { $0.name(replica.name.isEmpty ? "(no name)" : replica.name) }
            html.cell { $0.code("\(replica.id)") }
            html.number(replica.head)
            html.number(replica.events)
            html.element(.td, text: remarks(on: replica.id))
          }
        }
      }
    }
    html.element(.h3, text: "Keys, checkpoints and witnesses")
    html.element(
      .p,
      text:
        "A device signs a checkpoint with its key: a text that fixes its first commits by the root of their hash tree. Another device that has "
        + "seen the checkpoint cosigns it as a witness. These are the newest that this store has, now."
    )
    html.table(
      caption: "The key, the newest signed checkpoint and the witnesses of each device",
      [.text("device"), .text("fingerprint of the key"), .number("signed commits"), .text("witnesses")]
    ) { html in
      html.element(.tbody) { html in
        for device in devices {
          html.row { html in
            html.rowHeading { self.device(device.replica, &$0) }
            guard let signature = signatures[device.replica] else {
              html.element(.td, text: "no key, or nothing signed yet")
              html.number(0)
              html.element(.td, text: "none")
              return
            }
            html.cell { html in
              html.code(Fingerprint.text(signature.checkpoint.key.fingerprint))
              html.element(
                .div, text: device.isOwn ? "this device" : signature.isTrusted ? "confirmed" : "not confirmed"
              )
            }
            html.number(signature.checkpoint.checkpoint.size)
            html.cell { html in
              if signature.witnesses.isEmpty { html.text("none") }
              for witness in signature.witnesses { html.element(.div) { self.device(witness, &$0) } }
            }
          }
        }
      }
    }
    for device in devices {
      guard let signature = signatures[device.replica] else { continue }
      html.element(.h3) { html in
        html.text("The signed checkpoint of ")
        self.device(device.replica, &html)
      }
      html.lines(String(decoding: signature.checkpoint.note.bytes.dropLast(), as: UTF8.self))
    }
  }

  private func remarks(on replica: ReplicaID) -> String {
    guard let device = devices.first(where: { $0.replica == replica }) else { return "" }
    var remarks: [String] = []
    if device.isOwn { remarks.append("this device") }
    if device.isEnded { remarks.append("forked: its two histories continue as separate replicas") }
    if device.isRetired { remarks.append("retired") }
    if let latest = device.latestTime, latest > generated {
      remarks.append("its clock was ahead, at \(TimeStyle.utc.text(latest))")
    }
    return remarks.joined(separator: ", ")
  }

  // MARK: - Activity

  private func writeActivity(_ html: inout HTML) {
    guard !activity.intervals.isEmpty else {
      html.element(.p, text: "There are no events.")
      return
    }
    html.element(
      .p,
      text:
        "Events count by the wall time of the device that wrote them, in \(activity.unit)s of UTC. An undo adds events and takes none away."
    )
    var omissions: [String] = []
    if activity.earlierPeriods > 0 {
      omissions.append(
        "\(Quantity.count(activity.earlierPeriods, "earlier \(activity.unit)")) with events")
    }
    if activity.otherLibraries > 0 {
      omissions.append(
        "\(Quantity.count(activity.otherLibraries, "library", "libraries")) with fewer events (included in the sums)"
      )
    }
    if !omissions.isEmpty {
      html.element(.p, text: "Not shown: \(omissions.joined(separator: "; ")).")
    }
    ActivityChart(activity: activity).write(to: &html)
    html.table(
      caption:
        "Events by \(activity.unit) and library: the numbers of the chart. \(activity.unit.prefix(1).uppercased() + activity.unit.dropFirst())s without events are left out.",
      [
        .text(activity.unit), .text("library"), .number("added"), .number("removed"), .number("changed"),
        .number("favorites at its end"),
      ]
    ) { html in
      for interval in activity.intervals { writeRows(of: interval, &html) }
    }
    html.table(
      caption: "Events by device and origin", [.text("device"), .text("origin"), .number("events")]
    ) { html in
      html.element(.tbody) { html in
        for source in activity.sources {
          html.row { html in
            html.rowHeading { device(source.replica, &$0) }
            html.cell { $0.name(source.origin ?? "(none)") }
            html.number(source.events)
          }
        }
      }
    }
  }

  private func writeRows(of interval: Statistics.Interval, _ html: inout HTML) {
    let rows =
      activity.libraries.compactMap { library in
        library.intervals[interval.start].map { (name: library.name, counts: $0) }
      }
    func numbers(_ counts: Statistics.Interval, _ html: inout HTML) {
      html.number(counts.favorited)
      html.number(counts.unfavorited)
      html.number(counts.changed)
      html.number(counts.favoritesAtEnd)
    }
    html.element(.tbody) { html in
      html.row { html in
        html.element(
          .th, ["scope": "rowgroup", "rowspan": "\(rows.count + 1)"], text: activity.label(interval))
        html.element(.td) { $0.element(.strong, text: "all libraries") }
        numbers(interval, &html)
      }
      for row in rows {
        html.row { html in
          html.cell { $0.name(row.name) }
          numbers(row.counts, &html)
        }
      }
    }
  }
}
