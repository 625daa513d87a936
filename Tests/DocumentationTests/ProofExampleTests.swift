import Heartlog
import Testing

@Suite("The examples of what happened to an item, and of proving it")
struct ProofExampleTests {
  nonisolated struct Recipe: FavoriteItem {
    static let library = "recipes"

    let id: String
  }

  @Test("an item's history, a proof of it, and a file that is none")
  func example() throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.toggle("ribollita")
    try recipes.toggle("ribollita")

    let history = try recipes.history(of: "ribollita")
    for change in history { print(change.date, change.event.action, change.origin ?? "") }
    let file = try store.proof(of: history[0].id).bytes

    let proof = try Proof(file)
    let isOfThisPhone = proof.isSigned(by: "3f9a12c0d4e85b6791ac0f2b37de4c58")
    print(proof.change?.event as Any, isOfThisPhone, proof.witnesses)

    #expect(history.map(\.event.action.isFavorite) == [true, false])
    #expect(proof.change == history[0] && !isOfThisPhone && proof.witnesses.isEmpty)
    #expect(proof.isSigned(by: store.replica.description))
    let error = #expect(throws: HeartlogError.self) { try Proof(Array(file.dropLast())) }
    #expect(error?.code == .invalid)
  }
}
