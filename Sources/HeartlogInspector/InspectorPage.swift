import CHeartlogPage
import HeartlogFormat

/// The page: HTML, a style sheet and a script, none of which contains data.
enum InspectorPage {
  static let html = file("index.html")
  static let style = file("page.css")
  static let script: [UInt8] = {
    let scripts = files.filter { $0.name.hasSuffix(".js") }
    return Array("\"use strict\";\n".utf8) + scripts.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
  }()

  private static let files: [(name: String, bytes: [UInt8])] = {
    var files: [(name: String, bytes: [UInt8])] = []
    while let file = heartlog_page_file(files.count)?.pointee {
      files.append(
        (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count))))
    }
    return files
  }()

  private static func file(_ name: String) -> [UInt8] {
    guard let file = files.first(where: { $0.name == name }) else {
      preconditionFailure("page.c lacks \(name)")
    }
    return file.bytes
  }

  /// The policy of the served page: scripts, styles and requests of its own server only.
  static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  /// The page as one file: the policy names its style and its script by their hashes, so nothing else is applied or run.
  static func file(data: String) -> [UInt8] {
    func hash(_ bytes: [UInt8]) -> String { "'sha256-\(Base64.text(SHA256Hasher.digest(of: bytes).bytes))'" }
    let policy =
      "default-src 'none'; script-src \(hash(script)); style-src \(hash(style)); img-src data:; base-uri 'none'; form-action 'none'"
    let style = "<style>" + String(decoding: style, as: UTF8.self) + "</style>"
    let script = "<script>" + String(decoding: script, as: UTF8.self) + "</script>"
    let parts = [
      (link, "<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\">\n" + style),
      (scriptLink, ""),
      (
        "</body>",
        "<script type=\"application/json\" id=\"heartlog-data\">\(data)</script>\n\(script)\n</body>"
      ),
    ]
    var text = String(decoding: html, as: UTF8.self)
    for (mark, replacement) in parts {
      let pieces = text.split(separator: mark, maxSplits: 1, omittingEmptySubsequences: false)
      precondition(pieces.count == 2, "index.html lacks \(mark)")
      text = pieces[0] + replacement + pieces[1]
    }
    return Array(text.utf8)
  }

  private static let link = "<link rel=\"stylesheet\" href=\"/page.css\">"
  private static let scriptLink = "<script src=\"/page.js\" defer></script>"
}
