import Foundation
import Heartlog

/// A recipe, as the app has it.
struct Recipe: Codable, Identifiable, Sendable {
  let id: String
  let title: String
}
