import Foundation

/// A paper of the trace as an app declares it: what `Favorites<Paper>` reads and writes.
struct Paper: Codable, Identifiable, Sendable {
  let id: String
  let title: String
  let authors: String
  let categories: String
  let date: Date
}
