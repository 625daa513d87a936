import Heartlog

/// Formats what sealing did, as text and as JSON.
struct SealPage {
  let report: SealReport

  var line: String {
    guard report.sealedFiles > 0 else { return "everything is already sealed" }
    return "\(Quantity.count(report.replacedFiles, "segment")) sealed into \(report.sealedFiles): "
      + "\(Quantity.size(bytes: report.bytesBefore)) became \(Quantity.size(bytes: report.bytesAfter)), "
      + "\(Quantity.count(report.events, "event"))"
  }

  func write(to json: inout JSONWriter) {
    json.member("replacedFiles", report.replacedFiles)
    json.member("sealedFiles", report.sealedFiles)
    json.member("events", report.events)
    json.member("bytesBefore", report.bytesBefore)
    json.member("bytesAfter", report.bytesAfter)
  }
}
