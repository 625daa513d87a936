import Heartlog
import HeartlogFormat

/// The sections on what was verified, and what follows from it.
extension EvidenceReport {
  func writeVerification(_ html: inout HTML) {
    html.element(
      .p,
      text:
        "Every byte of the log and of the snapshots was read, and compared with checksums, hash trees and signatures. This covers the whole "
        + "store as it was when the report was made, also if the report is of an earlier moment.")
    guard !verification.streams.isEmpty else {
      html.element(.p, text: "The store is empty: there was nothing to verify.")
      return
    }
    html.table(
      caption: "The streams of the devices",
      [
        .text("device"), .text("result"), .number("commits"), .number("events"), .number("signed"),
        .number("not signed"), .text("key"), .text("root"),
      ]
    ) { html in
      html.element(.tbody) { html in
        for stream in verification.streams {
          html.row { html in
            html.rowHeading { device(stream.replica, &$0) }
            result(stream.isSound ? "sound" : "damaged", isGood: stream.isSound, &html)
            html.number(stream.commits)
            html.number(stream.events)
            html.number(stream.signedCommits)
            html.number(stream.commits - stream.signedCommits)
            html.element(
              .td,
              text: stream.checkpoint == nil
                ? "none" : stream.isOwn ? "own" : stream.isTrusted ? "confirmed" : "not confirmed")
            html.cell { $0.code("\(stream.root)") }
          }
        }
      }
    }
    if !verification.snapshots.isEmpty {
      html.table(
        caption: "The snapshots, which the log does not need",
        [.text("snapshot"), .text("result"), .number("events")]
      ) { html in
        html.element(.tbody) { html in
          for snapshot in verification.snapshots {
            html.row { html in
              html.rowHeading { $0.name(snapshot.name) }
              result(
                snapshot.problem.map { "damaged: \($0)" } ?? (snapshot.isOfUse ? "sound" : "unused"),
                isGood: snapshot.problem == nil, &html)
              html.number(snapshot.events)
            }
          }
        }
      }
    }
  }

  private func result(_ text: String, isGood: Bool, _ html: inout HTML) {
    html.cell { $0.element(.span, ["class": isGood ? "good" : "bad"], text: text) }
  }

  // MARK: - What follows

  func writeMeaning(_ html: inout HTML) {
    html.element(.h3, text: "What the verification shows")
    html.element(.ul) { html in
      for stream in verification.streams {
        html.element(.li) { html in
          device(stream.replica, &html)
          html.text(": \(Self.meaning(of: stream))")
        }
      }
      if verification.snapshots.contains(where: { $0.problem != nil }) {
        html.element(
          .li,
          text:
            "A snapshot is damaged. If it differs from the log, one of the two was changed: compare with another device."
        )
      }
    }
    html.element(.h3, text: "What it does not show")
    html.element(.ul) { html in
      for sentence in Self.limits { html.element(.li, text: sentence) }
    }
    html.element(.h3, text: "How to check it yourself")
    html.element(
      .p,
      text:
        "This page is a copy, and anybody can edit a page. With the store at hand, run \"heartlog verify\" and \"heartlog devices --keys\", "
        + "and compare roots, digest and fingerprints; with a device at hand, compare the fingerprint that it shows of itself."
    )
  }

  /// What is known of a stream.
  private static func meaning(of stream: StreamVerification) -> String {
    var sentences: [String] = []
    let commits = Quantity.count(stream.commits, "commit")
    if let finding = stream.finding {
      sentences.append(
        finding.verdict == .torn
          ? "The last batch was not finished, which is no damage: it was never acknowledged."
          : "Damaged: \(finding.error.description).")
    }
    let sound =
      stream.isSound
      ? "All \(commits) agree with their checksums"
      : "The \(commits) before the damage agree with their checksums"
    sentences.append(
      sound
        + " and with one hash tree. That finds accidents; a person with write access can put checksums right."
    )
    let signed = stream.signedCommits
    if signed == 0 {
      sentences.append(
        "Nothing is signed: who wrote these commits, and that nobody changed them since, is not proved.")
    } else {
      sentences.append(
        "Up to commit \(Quantity.count(signed)) they are what the holder of the key signed: a change there, made without the key, would have "
          + "been found.")
      if stream.commits > signed {
        sentences.append(
          "The \(Quantity.count(stream.commits - signed, "commit")) after that \(stream.commits - signed == 1 ? "is" : "are") not signed yet, "
            + "and could have been changed, added or cut off unnoticed.")
      }
      if !stream.isOwn, !stream.isTrusted {
        sentences.append(
          "Nobody has confirmed the key: it is the one that came at the first contact, and may be that of somebody who was in between. "
            + "\"heartlog devices trust\" confirms it.")
      }
    }
    return sentences.joined(separator: " ")
  }

  /// What no store can prove, whatever its verification says.
  private static let limits = [
    "Freshness: that there is nothing newer. A device may have written more that this store has not received, and a whole store can be put "
      + "back to an earlier state; only a device or a witness that has seen more can tell.",
    "An honest clock: times are what the devices' clocks said. The order of a device's signed commits is proved, their times are not.",
    "Copies elsewhere: what was removed or erased here may exist on other devices, in backups, or in exports.",
    "Who held the device: a signature shows which key signed, not which person tapped. A stolen or copied key signs as well as the device.",
    "Completeness: that a device recorded everything that was done with it.",
  ]
}

extension StreamVerification {
  fileprivate var signedCommits: UInt64 { checkpoint?.checkpoint.size ?? 0 }
}
