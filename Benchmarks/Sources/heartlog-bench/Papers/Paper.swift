import Foundation
import Heartlog

/// A paper of the trace as an app declares it: what `Favorites<Paper>` reads and writes.
struct Paper: Codable, Identifiable, Sendable {
  let id: String
  let title: String
  let authors: String
  let categories: String
  let date: Date

  /// The bytes of its texts: whoever counts them has read them.
  var textBytes: Int { title.utf8.count + authors.utf8.count + categories.utf8.count }
}

/// A paper of the trace, as an app holds it and as fields.
struct PaperOnTrace {
  let paper: Paper
  /// What `Favorites<Paper>` writes of it.
  let fields: [Field]
  let favoritedDate: Milliseconds

  /// - Parameter step: adds a new item.
  init(_ step: Trace.Step) throws {
    guard case .add(let fields) = step.deed else { throw Failure("the trace adds no paper here") }
    func text(_ name: String) throws -> String {
      guard case .string(let text)? = fields.first(where: { $0.name == name })?.value else {
        throw Failure("a paper of the trace has no \(name)")
      }
      return text
    }
    paper = Paper(
      id: step.id, title: try text("title"), authors: try text("authors"), categories: try text("categories"),
      date: try Date(try text("date"), strategy: .iso8601))
    self.fields = fields
    favoritedDate = step.time
  }
}
