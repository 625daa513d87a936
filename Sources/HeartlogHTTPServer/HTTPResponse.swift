package import HeartlogFormat

/// What a server answers to a request. Thrown where it refuses one.
package struct HTTPResponse: Error, Hashable, Sendable {
  package let status: UInt32
  package var contentType = "application/json"
  package var body: [UInt8] = []
  /// Besides those of the body.
  package var headers: [String: String] = [:]
  /// For the log of the operator.
  package var detail: String?

  package init(
    status: UInt32, contentType: String = "application/json", body: [UInt8] = [],
    headers: [String: String] = [:]
  ) {
    self.status = status
    self.contentType = contentType
    self.body = body
    self.headers = headers
  }

  package static func json(_ status: UInt32, _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
    var writer = JSONWriter()
    writer.beginObject()
    write(&writer)
    writer.endObject()
    return HTTPResponse(status: status, body: writer.bytes)
  }

  package static func text(_ text: String) -> HTTPResponse {
    HTTPResponse(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
  }

  /// - Parameters:
  ///   - retryAfter: When to try again, in seconds.
  ///   - allow: The methods that the path takes.
  ///   - time: This machine's clock, in seconds since 1970, for a client whose clock is another one.
  package static func refusal(
    _ status: UInt32, _ sentence: String, retryAfter: Int? = nil, allow: String? = nil, time: UInt64? = nil
  ) -> HTTPResponse {
    var answer = json(status) { writer in
      writer.member("error", sentence)
      if let time { writer.member("time", time) }
    }
    answer.headers["Retry-After"] = retryAfter.map(String.init)
    answer.headers["Allow"] = allow
    return answer
  }
}
