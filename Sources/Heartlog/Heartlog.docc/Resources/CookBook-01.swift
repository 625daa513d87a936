import Foundation
import Heartlog

/// A recipe, as the app has it.
nonisolated struct Recipe: Codable, Identifiable, Sendable {
  let id: String
  let title: String
}
