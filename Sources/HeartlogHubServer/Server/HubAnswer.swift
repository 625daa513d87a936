import Heartlog
import HeartlogFormat

/// What a hub answers to a request.
struct HubAnswer: Sendable {
  var status: UInt32
  var contentType = "application/json"
  var body: [UInt8] = []
  /// In seconds.
  var retryAfter: Int?
  /// The methods that a path takes.
  var allow: String?

  static func json(_ status: UInt32, _ write: (inout JSONWriter) -> Void) -> HubAnswer {
    var writer = JSONWriter()
    writer.beginObject()
    write(&writer)
    writer.endObject()
    return HubAnswer(status: status, body: writer.bytes)
  }

  static func bytes(_ bytes: [UInt8]) -> HubAnswer {
    HubAnswer(status: 200, contentType: "application/octet-stream", body: bytes)
  }

  static func text(_ text: String) -> HubAnswer {
    HubAnswer(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
  }
}

/// Why a request is refused: "Errors" in docs/hub.md.
struct HubRefusal: Error, Hashable {
  let status: UInt32
  let sentence: String
  var retryAfter: Int?
  var allow: String?
  /// For the log of the operator.
  var detail: String?

  init(_ status: UInt32, _ sentence: String, retryAfter: Int? = nil, allow: String? = nil) {
    self.status = status
    self.sentence = sentence
    self.retryAfter = retryAfter
    self.allow = allow
  }

  /// Whether its key may open another one, it is told when it tries.
  static let sessionOver = HubRefusal(401, "The session is over")

  static let unknownChallenge = HubRefusal(401, "The challenge is unknown, used or old")

  init(_ error: HeartlogError) {
    switch error.code {
    case .invalid: self.init(400, error.message)
    case .diskFull: self.init(507, "The hub's disk is full")
    case .notAdmitted: self = .sessionOver
    default: self.init(503, "The hub cannot do this now", retryAfter: 2)
    }
    if status >= 500 { detail = error.description }
  }

  var answer: HubAnswer {
    var answer = HubAnswer.json(status) { writer in
      writer.name("error")
      writer.value(sentence)
    }
    answer.retryAfter = retryAfter
    answer.allow = allow
    return answer
  }
}

/// Runs calls of an engine, and refuses what they throw.
func refusals<R>(_ body: () throws(HeartlogError) -> R) throws(HubRefusal) -> R {
  do { return try body() } catch { throw HubRefusal(error) }
}
